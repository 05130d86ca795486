import {
  type ErrorResponse,
  type HttpServer,
  listen,
  type RequestHead,
  type ServedReply,
  type ServedRequest,
  toTextResponse,
} from '../../../platform/http/server.ts';
import { sha256 } from '../../../platform/runtime/native.ts';
import { MAX_MESSAGE_BYTES, parseMessage } from '../../wire/message.ts';
import { createProtocolServer } from '../protocol/server.ts';
import type { Sdk } from '../sdk.ts';
import type { SdkHttp } from '../sdk-http.ts';
import type { Service } from '../tool.ts';
import { createHttpSessions } from './http-sessions.ts';

interface HttpOptions {
  readonly port: number;
  readonly token: string;
  readonly trace: (line: string) => void;
}

const PATH = '/mcp';

/** Serves any number of clients on 127.0.0.1. Throws AppError `usage` if the port is taken. */
export async function openHttpService(
  sdk: Sdk & SdkHttp,
  service: Service,
  { port, token, trace }: HttpOptions,
): Promise<HttpServer> {
  const onerror = (error: Error): void => trace(`mcp: ${error.message}`);
  const modern = sdk.createMcpHandler(() => createProtocolServer(sdk, service), {
    legacy: 'reject',
    maxRequestBodySize: MAX_MESSAGE_BYTES,
    onerror,
  });
  const sessions = createHttpSessions(sdk, service);
  const answer = async (request: ServedRequest, signal: AbortSignal): Promise<Response> => {
    const body = request.method === 'POST' ? parseMessage(request.body) : undefined;
    if (body !== undefined && 'response' in body) return Response.json(body.response, { status: 400 });
    const webRequest = toWebRequest(request, signal);
    const isLegacy = await sdk.isLegacyRequest(webRequest, body?.message);
    return isLegacy
      ? sessions.respond(webRequest, body?.message)
      : modern.fetch(webRequest, { parsedBody: body?.message });
  };
  const server = await listen({
    port,
    maxBodyBytes: MAX_MESSAGE_BYTES,
    admit: createGuard(token),
    handler: async (request, reply) => streamResponse(await answer(request, reply.signal), reply),
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

function toWebRequest({ method, path, query, headers }: ServedRequest, signal: AbortSignal): Request {
  const list = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const target = query.size === 0 ? path : `${path}?${query}`;
  return new Request(`http://127.0.0.1${target}`, {
    method,
    headers: list,
    signal,
  });
}

async function streamResponse(response: Response, reply: ServedReply): Promise<void> {
  const headers = Object.fromEntries(response.headers);
  if (response.body === null) return reply.send(response.status, headers, '');
  reply.begin(response.status, headers);
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  const cancel = (): void => void reader.cancel().catch(() => {});
  if (reply.signal.aborted) cancel();
  reply.signal.addEventListener('abort', cancel, { once: true });
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    await reply.write(decoder.decode(value, { stream: true }));
  }
  reply.end();
}

/** Admits only those who have the token. Undefined admits the request. The body is read only after that. */
function createGuard(token: string): (head: RequestHead) => ErrorResponse | undefined {
  // Comparing digests reveals nothing about how much of the token was right.
  const wanted = sha256(token);
  return ({ method, path, headers }) => {
    if (sha256(findBearer(headers.authorization)) !== wanted) {
      return toTextResponse(401, 'send the token of this server: Authorization: Bearer …', {
        'www-authenticate': 'Bearer',
      });
    }
    if (path !== PATH) return toTextResponse(404, `the only address here is ${PATH}`);
    if (!['POST', 'GET', 'DELETE'].includes(method))
      return toTextResponse(405, 'use POST', { allow: 'POST, GET, DELETE' });
    if (method === 'POST' && !isJsonType(headers['content-type'])) return toTextResponse(415, 'send application/json');
    return undefined;
  };
}

/** The name of the scheme is case-insensitive. */
function findBearer(authorization = ''): string {
  return /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
}

function isJsonType(type: string | undefined): boolean {
  return /^application\/json\s*(?:;|$)/i.test(type ?? '');
}
