import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'vitest';
import { isObject } from '../../src/core/json.ts';

/** `body` is parsed JSON, or the raw text if it is not JSON. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they like
  readonly body: any;
}

/** One scripted answer. It owns the response: it may write, wait on a gate, or close the connection. */
export type Scripted = (response: ServerResponse, request: SeenRequest) => Promise<void> | void;

export interface FakeGemini {
  readonly url: string;
  readonly requests: readonly SeenRequest[];
}

/**
 * A real HTTP server on 127.0.0.1 that gives one scripted answer per request. At its end, the test fails if a request was not expected or a
 * scripted answer was not used.
 */
export async function fakeGemini(t: TestContext, script: readonly Scripted[]): Promise<FakeGemini> {
  const requests: SeenRequest[] = [];
  const faults: string[] = [];
  const server = createServer(async (incoming, response) => {
    const request = await readRequest(incoming);
    const scripted = script[requests.length];
    requests.push(request);
    if (scripted === undefined) {
      faults.push(`unexpected request ${requests.length}: ${request.method} ${request.path}`);
      response.writeHead(500).end();
      return;
    }
    await scripted(response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    if (requests.length < script.length)
      faults.push(`${script.length - requests.length} scripted answers were not used`);
    if (faults.length > 0) throw new Error(faults.join('\n'));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, requests };
}

async function readRequest(incoming: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // Not JSON: kept as text.
  }
  return { method: incoming.method ?? '', path: incoming.url ?? '', headers: incoming.headers, body };
}

const USAGE = { promptTokenCount: 5, candidatesTokenCount: 12, totalTokenCount: 17 };

export function chunk(parts: readonly object[], extra: object = {}): object {
  return { candidates: [{ content: { role: 'model', parts } }], modelVersion: 'gemini-2.5-flash', ...extra };
}

export function finish(reason = 'STOP', parts: readonly object[] = []): object {
  return {
    candidates: [{ content: { role: 'model', parts }, finishReason: reason }],
    usageMetadata: USAGE,
    modelVersion: 'gemini-2.5-flash',
  };
}

/** One event for each text or part, then STOP. */
export function reply(...parts: readonly (string | object)[]): Scripted {
  return events([...parts.map((part) => chunk([isObject(part) ? part : { text: part }])), finish()]);
}

export function events(list: readonly object[]): Scripted {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of list) response.write(sse(event));
    response.end();
  };
}

export function sse(event: object): string {
  return `data: ${JSON.stringify(event)}\r\n\r\n`;
}

export function failure(code: number, status: string, message = 'no', details: readonly object[] = []): Scripted {
  return (response) => {
    response.writeHead(code, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { code, message, status, details } }));
  };
}
