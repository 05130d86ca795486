import { AppError } from '../core/error.ts';
import type { HttpRequest, SendHttp } from '../core/io.ts';
import type { ServedReply } from '../platform/http/server.ts';
import { errorResponse } from './google-error.ts';
import { type DemoServer, type ServiceOptions, startService } from './listen.ts';
import { receiveWhole, type WholeRequest, withOwnAddress } from './replay.ts';
import { sendError, toStreamFormat } from './send.ts';

export interface ProxyOptions extends ServiceOptions {
  /** Where requests go, with the client's own credentials. */
  readonly upstream: URL;
  readonly send: SendHttp;
}

/** Passes all requests on, from 127.0.0.1. Throws AppError `usage` if the port is not available. */
export function startProxy(options: ProxyOptions): Promise<DemoServer> {
  return startService(
    receiveWhole((request, reply) => forward(request, reply, options)),
    options,
  );
}

/** Of one connection, or replaced by those of the other. */
const OWN_HEADERS =
  /^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|content-length|accept-encoding)$/;

const METHODS: readonly string[] = ['GET', 'POST', 'PATCH', 'DELETE'] satisfies readonly HttpRequest['method'][];

/** Models may think for minutes before they answer. */
const TIMERS = { headersMs: 1_200_000, idleMs: 1_200_000 };

export async function forward(
  request: WholeRequest,
  reply: ServedReply,
  { upstream, send, log }: Pick<ProxyOptions, 'upstream' | 'send' | 'log'>,
): Promise<void> {
  const { method, path, query, headers, body } = request;
  if (!isMethod(method)) {
    return sendError(reply, errorResponse(405, 'UNIMPLEMENTED', `The proxy passes no ${method} on.`));
  }
  const url = new URL(upstream);
  url.pathname = `${upstream.pathname.replace(/\/$/, '')}${path}`;
  url.search = query.toString();
  let hasBegun = false;
  try {
    const sent = body.length === 0 ? undefined : body;
    const response = await send(
      { method, url, headers: passHeaders(headers), body: sent, timers: TIMERS },
      reply.signal,
    );
    hasBegun = true;
    // The body has been decompressed.
    const { 'content-encoding': _, ...answered } = passHeaders(response.headers);
    reply.begin(response.status, withOwnAddress(answered, request));
    for await (const piece of response.body) await reply.write(piece);
    reply.end();
  } catch (thrown) {
    if (reply.signal.aborted) return;
    const { message } = AppError.from(thrown);
    log?.(`${method} ${path}: ${message}`);
    if (hasBegun || !(thrown instanceof AppError)) throw thrown;
    sendError(
      reply,
      errorResponse(502, 'UNAVAILABLE', `The service could not be asked: ${message}`),
      toStreamFormat(request),
    );
  }
}

function isMethod(method: string): method is HttpRequest['method'] {
  return METHODS.includes(method);
}

function passHeaders(headers: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const entries = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined || OWN_HEADERS.test(name.toLowerCase()) ? [] : [[name, value]],
  );
  return Object.fromEntries(entries);
}
