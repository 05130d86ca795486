import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'vitest';

export interface RowServer {
  readonly url: string;
  /** The text of each prompt, in the order of arrival. */
  readonly prompts: readonly string[];
  readonly bodies: readonly string[];
  connections(): number;
}

/** Answers with this text, or takes over the response. */
type Answer = (
  prompt: string,
  count: number,
  response: ServerResponse,
) => string | undefined | Promise<string | undefined>;

/** A model that is quick to answer, for many rows: one event per answer. */
export async function rowServer(t: TestContext, answer: Answer = (prompt) => `re: ${prompt}`): Promise<RowServer> {
  const prompts: string[] = [];
  const bodies: string[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', async () => {
      const { contents } = JSON.parse(body);
      const prompt: string = contents.at(-1).parts.at(-1).text;
      prompts.push(prompt);
      bodies.push(body);
      const text = await answer(prompt, prompts.length, response);
      if (text === undefined) return;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${JSON.stringify(toReply(text))}\r\n\r\n`);
    });
  });
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, prompts, bodies, connections: () => connections };
}

function toReply(text: string): object {
  return {
    candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 },
    modelVersion: 'gemini-2.5-flash',
  };
}

export function refuse(response: ServerResponse, status: number, error: object): undefined {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { code: status, ...error } }));
  return undefined;
}
