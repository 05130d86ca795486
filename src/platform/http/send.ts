import type { HttpRequest, HttpResponse, HttpTimers, SendHttp } from '../../core/http.ts';
import type { Clock, Env, Trace } from '../../core/io.ts';
import type { Address } from './connection.ts';
import { sendDirect } from './direct.ts';
import type { Dispatch } from './exchange.ts';
import { proxyFor } from './proxy-choice.ts';

export interface HttpOptions {
  readonly timers: HttpTimers;
  /** Only the proxy variables are read. */
  readonly env: Env;
  /** Absent: nobody reads along, and no line is made. */
  readonly trace?: Trace | undefined;
  readonly clock: Pick<Clock, 'now'>;
  /** The only addresses to connect to, unless a proxy does; undefined: what the host resolves to. May throw. */
  readonly addresses?: (url: URL, signal: AbortSignal) => Promise<readonly Address[] | undefined>;
}

/**
 * The client of this process: our own on sockets, or undici, loaded with its first use, if a proxy applies.
 * Redirects are returned like any answer. Read the body or leave it early: until then its connection stays open.
 */
export function sendHttp({ timers, env, trace, clock, addresses }: HttpOptions): SendHttp {
  return async (request, signal) => {
    signal.throwIfAborted();
    const proxy = proxyFor(request.url, env);
    const dispatch: Dispatch = { request, signal, timers, ...(trace && traced(request, { proxy, trace, clock })) };
    const only = addresses === undefined ? undefined : await addresses(request.url, signal);
    return decode(await (proxy ? sendProxied(dispatch, proxy) : sendDirect(dispatch, only)));
  };
}

interface Reading {
  readonly proxy: URL | undefined;
  readonly trace: Trace;
  readonly clock: Pick<Clock, 'now'>;
}

/** Tells of a request at once, and of its answer and end through what it returns. */
function traced({ method, url, body }: HttpRequest, { proxy, trace, clock }: Reading): Partial<Dispatch> {
  const start = clock.now();
  const where = `${method} ${url.host}${url.pathname}`;
  trace(`${where}, ${Buffer.byteLength(body ?? '')} bytes${proxy ? `, through proxy ${proxy.host}` : ''}`);
  return {
    onHeaders: (status) => trace(`${where}: ${status} after ${clock.now() - start} ms`),
    onClose: (bytes) => trace(`${where}: closed, ${bytes} bytes in ${clock.now() - start} ms`),
  };
}

async function sendProxied(dispatch: Dispatch, proxy: URL): Promise<HttpResponse> {
  const { sendThroughProxy } = await import('./proxy.ts');
  dispatch.signal.throwIfAborted();
  return sendThroughProxy(dispatch, proxy);
}

async function decode(response: HttpResponse): Promise<HttpResponse> {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return response;
  const { decompressed } = await import('./decompress.ts');
  return { ...response, body: await decompressed(response.body, encoding) };
}
