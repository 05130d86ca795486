import { type HttpServer, listen, type ServedReply, type ServedRequest } from '../../../platform/http/server.ts';
import { MAX_BYTES } from '../../wire/lines.ts';
import { readMessage } from '../../wire/message--message.ts';
import { protocolServer } from '../protocol/server.ts';
import type { Sdk } from '../sdk.ts';
import type { SdkHttp } from '../sdk-http.ts';
import type { Service } from '../tool.ts';
import { guard } from './guard.ts';
import { httpSessions } from './http-sessions.ts';

export interface HttpOptions {
  /** 0: a free one. */
  readonly port: number;
  /** What every request must carry. */
  readonly token: string;
  readonly trace: (line: string) => void;
}

const PATH = '/mcp';

/** Serves any number of clients on 127.0.0.1, each with a protocol of its own. Throws AppError `usage` if the port is taken. */
export async function httpService(
  sdk: Sdk & SdkHttp,
  service: Service,
  { port, token, trace }: HttpOptions,
): Promise<HttpServer> {
  const onerror = (error: Error): void => trace(`mcp: ${error.message}`);
  const modern = sdk.createMcpHandler(() => protocolServer(sdk, service), {
    legacy: 'reject',
    maxRequestBodySize: MAX_BYTES,
    onerror,
  });
  const sessions = httpSessions(sdk, service);
  const answer = async (request: ServedRequest, signal: AbortSignal): Promise<Response> => {
    const body = request.method === 'POST' ? readMessage(request.body) : undefined;
    if (body !== undefined && 'answer' in body) return Response.json(body.answer, { status: 400 });
    const asked = webRequest(request, signal);
    const isLegacy = await sdk.isLegacyRequest(asked, body?.message);
    return isLegacy ? sessions.answer(asked, body?.message) : modern.fetch(asked, { parsedBody: body?.message });
  };
  const server = await listen({
    port,
    maxBodyBytes: MAX_BYTES,
    admit: guard({ path: PATH, token }),
    handler: async (request, reply) => pump(await answer(request, reply.signal), reply),
  });
  return {
    url: `${server.url}${PATH}`,
    async close() {
      await sessions.close();
      await modern.close();
      await server.close();
    },
  };
}

/** Its body travels beside it, parsed. */
function webRequest({ method, path, query, headers }: ServedRequest, signal: AbortSignal): Request {
  const list = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const asked = query.size === 0 ? path : `${path}?${query}`;
  return new Request(`http://127.0.0.1${asked}`, {
    method,
    headers: list.map(([name, value]) => [name, value]),
    signal,
  });
}

/** Hands an answer on as it comes; a client that leaves ends it. */
async function pump(response: Response, reply: ServedReply): Promise<void> {
  const headers = Object.fromEntries(response.headers);
  if (response.body === null) return reply.send(response.status, headers, '');
  reply.begin(response.status, headers);
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  const leave = (): void => void reader.cancel().catch(() => {});
  if (reply.signal.aborted) leave();
  reply.signal.addEventListener('abort', leave, { once: true });
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    await reply.write(decoder.decode(value, { stream: true }));
  }
  reply.end();
}
