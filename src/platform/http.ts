import type { ClientRequest, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { HttpRequest, HttpResponse, HttpTimers, SendHttp } from '../core/http.ts';
import type { Clock, Env, Trace } from '../core/io.ts';
import { type Dispatch, LONG_BODY_BYTES, openExchange, slices } from './http-exchange.ts';
import { peerOf } from './http-failure.ts';
import { proxyFor } from './proxy-choice.ts';

export interface HttpOptions {
  readonly timers: HttpTimers;
  /** Only the proxy variables are read. */
  readonly env: Env;
  /** Absent: nobody reads along, and no line is made. */
  readonly trace?: Trace | undefined;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * The client of this process: `node:http` or `node:https`, or undici if a proxy applies, each loaded with its first use.
 * Redirects are returned like any answer. Read the body or leave it early: until then its connection stays open.
 */
export function sendHttp({ timers, env, trace, clock }: HttpOptions): SendHttp {
  return async (request, signal) => {
    signal.throwIfAborted();
    const proxy = proxyFor(request.url, env);
    const dispatch: Dispatch = { request, signal, timers, ...(trace && traced(request, { proxy, trace, clock })) };
    return decode(await (proxy ? sendProxied(dispatch, proxy) : sendDirect(dispatch)));
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
  const { sendThroughProxy } = await import('./http-proxy.ts');
  dispatch.signal.throwIfAborted();
  return sendThroughProxy(dispatch, proxy);
}

async function decode(response: HttpResponse): Promise<HttpResponse> {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return response;
  const { decompressed } = await import('./decompress.ts');
  return { ...response, body: await decompressed(response.body, encoding) };
}

async function sendDirect(dispatch: Dispatch): Promise<HttpResponse> {
  const { request, signal } = dispatch;
  const isTls = request.url.protocol === 'https:';
  const { request: open } = isTls ? await import('node:https') : await import('node:http');
  signal.throwIfAborted();
  const body = Buffer.from(request.body ?? '');
  const headers = { ...request.headers, ...(request.body === undefined ? {} : { 'content-length': body.length }) };
  // No agent: a one-shot makes one request, and an idle connection would only delay the end of the process.
  const outgoing = open(request.url, { method: request.method, headers, agent: false });
  let incoming: IncomingMessage | undefined;
  const peer = peerOf(request.url);
  const exchange = openExchange(dispatch, {
    peer: () => peer,
    pause: () => incoming?.pause(),
    resume: () => incoming?.resume(),
    destroy: () => outgoing.destroy(),
  });
  outgoing.on('socket', (socket) => socket.once(isTls ? 'secureConnect' : 'connect', exchange.connected));
  // After the headers the message reports what fails; a write that fails then (413) must not hide the answer.
  outgoing.on('error', (error) => incoming ?? exchange.fail(error));
  outgoing.on('close', () => incoming ?? exchange.fail(undefined));
  outgoing.on('response', (message) => {
    incoming = message;
    exchange.headers(message.statusCode ?? 0, message.headers);
    receive(message, exchange);
  });
  upload(outgoing, body, exchange.progress);
  return exchange.answer;
}

function receive(message: IncomingMessage, exchange: ReturnType<typeof openExchange>): void {
  message.on('data', exchange.data);
  message.on('end', exchange.end);
  message.on('error', exchange.fail);
  message.on('close', () => message.complete || exchange.fail(undefined));
  // A cut connection destroys the message with all it had buffered; this listener runs just before that.
  message.socket.prependListener('close', () => {
    while (message.read() !== null);
  });
}

function upload(outgoing: ClientRequest, body: Buffer, progress: () => void): void {
  if (body.length <= LONG_BODY_BYTES) outgoing.end(body);
  else Readable.from(slices(body, progress)).pipe(outgoing);
}
