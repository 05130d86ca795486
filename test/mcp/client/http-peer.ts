import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import type { TestContext } from 'vitest';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Handle = (request: Received, response: ServerResponse) => void | Promise<void>;

/** Listens on loopback and records its requests. Closed with the test, even with open connections. */
export async function httpPeer(t: TestContext, handle: Handle) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = '', url: path = '', headers } = request;
    const asked = { method, path, headers, body: Buffer.concat(chunks).toString() };
    received.push(asked);
    await handle(asked, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

/** The same on every transport. */
export function answerTo(body: string): object | undefined {
  const { id, method, params } = JSON.parse(body);
  if (id === undefined) return undefined;
  const results: Readonly<Record<string, () => object>> = {
    initialize: () => ({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'remote', version: '1' },
    }),
    'tools/list': () => ({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }),
    'tools/call': () => ({ content: [{ type: 'text', text: `remote ${params.arguments.message}` }] }),
  };
  const result = Object.hasOwn(results, method) ? results[method]?.() : undefined;
  return result === undefined
    ? { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } }
    : { jsonrpc: '2.0', id, result };
}

/** Streamable HTTP before 2026-07-28, with a session. */
export function streamable(style: 'json' | 'events'): Handle {
  return ({ method, body }, response) => {
    if (method === 'DELETE') return void response.writeHead(200).end();
    if (method !== 'POST') return void response.writeHead(405).end();
    const answer = answerTo(body);
    if (answer === undefined) return void response.writeHead(202).end();
    const type = style === 'json' ? 'application/json' : 'text/event-stream';
    response.writeHead(200, { 'content-type': type, 'mcp-session-id': 'session-1' });
    const text = JSON.stringify(answer);
    response.end(style === 'json' ? text : `event: message\ndata: ${text}\n\n`);
  };
}

/** The older HTTP+SSE transport. Any other request gets 404. */
export function eventPair(endpoint = '/post'): Handle {
  let stream: ServerResponse | undefined;
  return ({ method, path, body }, response) => {
    if (method === 'GET') {
      stream = response;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return void response.write(`event: endpoint\ndata: ${endpoint}\n\n`);
    }
    if (path !== '/post') return void response.writeHead(404).end();
    response.writeHead(202).end();
    const answer = answerTo(body);
    if (answer !== undefined) stream?.write(`event: message\ndata: ${JSON.stringify(answer)}\n\n`);
  };
}

/** The SDK's own server, for both protocol generations or only the newer one. */
export function bothEras(legacy: 'stateless' | 'reject' = 'stateless'): Handle {
  const factory = () => {
    const server = new McpServer({ name: 'modern', version: '2' }, { instructions: 'Modern.' });
    const inputSchema = fromJsonSchema<{ message: string }>({
      type: 'object',
      properties: { message: { type: 'string' } },
    });
    server.registerTool('echo', { inputSchema }, async ({ message }) => ({
      content: [{ type: 'text', text: message }],
    }));
    return server;
  };
  const handler = createMcpHandler(factory, { legacy });
  return async ({ method, path, headers, body }, response) => {
    const init = method === 'GET' ? {} : { body };
    const plain = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    const answer = await handler.fetch(new Request(`http://127.0.0.1${path}`, { method, headers: plain, ...init }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  };
}
