import { createServer, type IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import type { TestContext } from 'vitest';
import { isObject } from '../../src/core/json.ts';
import { requestObjection, type WirePart } from './gemini-rules.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into it as they like
type Json = any;

/** `body` is parsed JSON, or the raw text if it is not JSON. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly body: Json;
  /** The parts of the last content. */
  readonly parts: readonly Json[];
  /** The last text of the last content. */
  readonly prompt: string;
  /** What the tools answered in the last content. */
  readonly results: readonly Json[];
  /** The names of the tools that are offered. */
  readonly tools: readonly string[];
}

/** One scripted answer. It owns the response: it may write, wait on a gate, or close the connection. What it throws fails the test. */
export type Scripted = (response: ServerResponse, request: SeenRequest) => Promise<void> | void;

export interface FakeGemini {
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  readonly sockets: readonly Socket[];
  /** The same below TLS. */
  readonly rawSockets: readonly Socket[];
  /** Resolves with the first connection, for TLS after its handshake. */
  readonly connected: Promise<unknown>;
  /** Parts that may come back, and must come back as they are: all that this test was sent, except for plain text. */
  readonly issued: WirePart[];
  /** Why requests were refused. The test fails if there is one left. */
  readonly refusals: string[];
}

export interface GeminiOptions {
  /** What a request may be refused for without failing the test, e.g. because an answer of the script itself breaks the rules. */
  readonly allows?: RegExp;
  readonly tls?: TlsOptions;
}

/** All fake Geminis of a test are one service: what one of them has issued is known to the others. */
const ISSUED = new WeakMap<object, WirePart[]>();

/**
 * A real HTTP server on 127.0.0.1 that gives one scripted answer per request, or the same to all of them if the script is one function.
 * It refuses every request that the API would refuse. At its end, the test fails if a request was refused or not expected, or a scripted
 * answer was not used.
 */
export async function fakeGemini(
  t: Pick<TestContext, 'onTestFinished'>,
  script: readonly Scripted[] | Scripted,
  { allows, tls }: GeminiOptions = {},
): Promise<FakeGemini> {
  const requests: SeenRequest[] = [];
  const refusals: string[] = [];
  const sockets: Socket[] = [];
  const rawSockets: Socket[] = [];
  const issued = ISSUED.get(t) ?? [];
  ISSUED.set(t, issued);
  const refuse = (response: ServerResponse, message: string): void => {
    refusals.push(`request ${requests.length}: ${message}`);
    if (response.headersSent) response.destroy();
    else respond(response, 400, { error: { code: 400, message, status: 'INVALID_ARGUMENT' } });
  };
  const answer = async (incoming: IncomingMessage, response: IssuingResponse<IncomingMessage>): Promise<void> => {
    response.issued = issued;
    response.on('error', () => {});
    const request = await readRequest(incoming);
    const scripted = typeof script === 'function' ? script : script[requests.length];
    requests.push(request);
    const why = findObjection(request, issued);
    if (why !== undefined && !allows?.test(why)) return refuse(response, why);
    if (scripted === undefined) return refuse(response, `unexpected: ${request.method} ${request.path}`);
    try {
      await scripted(response, request);
    } catch (thrown) {
      refuse(response, String(thrown));
    }
  };
  const kind = { ServerResponse: IssuingResponse };
  const server = tls === undefined ? createServer(kind, answer) : createTlsServer({ ...kind, ...tls }, answer);
  const connection = tls === undefined ? 'connection' : 'secureConnection';
  server.on(connection, (socket: Socket) => sockets.push(socket.on('error', () => {})));
  server.on('connection', (socket: Socket) => rawSockets.push(socket));
  server.on('tlsClientError', () => {});
  const connected = new Promise((resolve) => void server.once(connection, resolve));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    if (typeof script !== 'function' && requests.length < script.length)
      refusals.push(`${script.length - requests.length} scripted answers were not used`);
    if (refusals.length > 0) throw new Error(refusals.join('\n'));
  });
  const host = tls === undefined ? 'http://127.0.0.1' : 'https://localhost';
  const { port } = server.address() as AddressInfo;
  return { url: `${host}:${port}`, requests, sockets, rawSockets, connected, issued, refusals };
}

async function readRequest(incoming: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  let body: Json = text;
  try {
    body = JSON.parse(text);
  } catch {
    // Not JSON: kept as text.
  }
  const asked = body.request ?? body;
  const parts: readonly Json[] = asked.contents?.at?.(-1)?.parts ?? [];
  return {
    ...{ method: incoming.method ?? '', path: incoming.url ?? '', headers: incoming.headers, text, body, parts },
    prompt: parts.findLast((part) => typeof part.text === 'string')?.text ?? '',
    results: parts.flatMap(({ functionResponse }) => (functionResponse ? [functionResponse.response] : [])),
    tools: (asked.tools ?? []).flatMap((tool: Json) => tool.functionDeclarations ?? []).map(({ name }: Json) => name),
  };
}

/** Of a model call. The other services take what they are sent. */
function findObjection({ path, text, body }: SeenRequest, issued: readonly WirePart[]): string | undefined {
  if (!/:(?:streamG|g)enerateContent/.test(path)) return undefined;
  const [, model] = /\/models\/([^/:]+):/.exec(path) ?? [];
  if (!path.startsWith('/v1internal:')) return requestObjection(text, issued, model);
  const { session_id: _, ...request } = body.request ?? {};
  return requestObjection(JSON.stringify(request), issued);
}

/** Remembers the parts that a client has to send back as they are: all but plain text. */
class IssuingResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
  issued: WirePart[] = [];
  readonly #decoder = new TextDecoder();
  #pending: string[] = [];

  // biome-ignore lint/suspicious/noExplicitAny: the signatures of Node's own method
  override write(...args: any): boolean {
    this.#take(args[0]);
    // @ts-expect-error: as above
    return super.write(...args);
  }

  // biome-ignore lint/suspicious/noExplicitAny: the signatures of Node's own method
  override end(...args: any): this {
    this.#take(args[0]);
    return super.end(...args);
  }

  #take(data: unknown): void {
    if (typeof data !== 'string' && !(data instanceof Uint8Array)) return;
    const text = typeof data === 'string' ? data : this.#decoder.decode(data, { stream: true });
    this.#pending.push(text);
    if (!/\n\r?\n/.test(text)) return;
    const events = this.#pending.join('').split(/\r?\n\r?\n/);
    this.#pending = [events.pop() ?? ''];
    for (const event of events) this.issued.push(...readParts(event));
  }
}

function readParts(event: string): readonly WirePart[] {
  try {
    const data = JSON.parse(event.replace(/^[\s\S]*?data: ?/, ''));
    const parts: readonly WirePart[] = (data.response ?? data).candidates[0].content.parts;
    return parts.filter((part) => Object.keys(part).some((key) => key !== 'text' && key !== 'thought'));
  } catch {
    return [];
  }
}

const USAGE = { promptTokenCount: 5, candidatesTokenCount: 12, totalTokenCount: 17 };

export function chunk(parts: readonly object[], extra: object = {}): object {
  return { candidates: [{ content: { role: 'model', parts } }], modelVersion: 'gemini-2.5-flash', ...extra };
}

export function finish(reason = 'STOP', parts: readonly object[] = [], usageMetadata: object = USAGE): object {
  return {
    candidates: [{ content: { role: 'model', parts }, finishReason: reason }],
    usageMetadata,
    modelVersion: 'gemini-2.5-flash',
  };
}

/** A part that calls a tool. */
export function call(
  name: string,
  args: object = {},
  { id, ...signed }: { readonly id?: string; readonly thoughtSignature?: string } = {},
): WirePart {
  return { functionCall: { ...(id !== undefined && { id }), name, args }, ...signed };
}

/** One event for each text or part, then STOP. */
export function reply(...parts: readonly (string | object)[]): Scripted {
  return events([...parts.map((part) => chunk([isObject(part) ? part : { text: part }])), finish()]);
}

/** Answers any number of prompts: with a short text, as a script, or not at all. */
export function answerEach(
  answer: (prompt: string, count: number) => string | Scripted | undefined | Promise<string | undefined>,
): Scripted {
  let count = 0;
  return async (response, request) => {
    count += 1;
    const given = await answer(request.prompt, count);
    const usage = { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 };
    const scripted = typeof given === 'string' ? events([finish('STOP', [{ text: given }], usage)]) : given;
    await scripted?.(response, request);
  };
}

export function events(list: readonly object[]): Scripted {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of list) response.write(sse(event));
    response.end();
  };
}

export const END = Symbol('a proper end');
export const CUT = Symbol('the connection breaks');

type StreamStep = object | string | Promise<unknown> | (() => unknown) | typeof END | typeof CUT;

/**
 * A stream in steps: a text is a piece of the answer, an object an event; a promise is waited for, and a function called, when all
 * before it has left. Without END or CUT the stream stays open.
 */
export function stream(...steps: readonly StreamStep[]): Scripted {
  return async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    for (const step of steps) {
      if (step === END) response.end();
      else if (step === CUT) response.destroy();
      else if (typeof step === 'function') await step();
      else if (step instanceof Promise) await step;
      else await send(response, sse(typeof step === 'string' ? chunk([{ text: step }]) : (step as object)));
    }
  };
}

/** The same event until the client leaves: more than any pipe holds. */
export function endless(event: object, first: Scripted = stream()): Scripted {
  return async (response, request) => {
    await first(response, request);
    const pump = (): void => {
      while (!response.destroyed && response.write(sse(event)));
    };
    response.on('drain', pump);
    pump();
  };
}

/** Resolves when the text has left, or nobody is there to take it. */
function send(response: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve) => void response.write(text, () => resolve()));
}

export function sse(event: object): string {
  return `data: ${JSON.stringify(event)}\r\n\r\n`;
}

export function failure(code: number, status: string, message = 'no', details: readonly object[] = []): Scripted {
  return json({ error: { code, message, status, details } }, code);
}

export function json(body: object, status = 200): Scripted {
  return (response) => respond(response, status, body);
}

function respond(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
