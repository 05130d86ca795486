import type { ClientRequest, IncomingMessage } from 'node:http';
import type { LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import type { HttpResponse } from '../core/http.ts';
import { type Dispatch, LONG_BODY_BYTES, openExchange, slices } from './http-exchange.ts';
import { peerOf } from './http-failure.ts';

/** One address of a host. */
export interface Address {
  readonly address: string;
  readonly family: number;
}

/**
 * Sends one request through `node:http` or `node:https`, each loaded with its first use, on a connection of its own. With
 * `addresses`, to one of these and no other, whatever the name of the host resolves to.
 */
export async function sendDirect(dispatch: Dispatch, addresses?: readonly Address[]): Promise<HttpResponse> {
  const { request, signal } = dispatch;
  const isTls = request.url.protocol === 'https:';
  const { request: open } = isTls ? await import('node:https') : await import('node:http');
  signal.throwIfAborted();
  const body = Buffer.from(request.body ?? '');
  const headers = { ...request.headers, ...(request.body === undefined ? {} : { 'content-length': body.length }) };
  // No agent: a one-shot makes one request, and an idle connection would only delay the end of the process.
  const lookup = addresses && { lookup: among(addresses) };
  const outgoing = open(request.url, { method: request.method, headers, agent: false, ...lookup });
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

/** Stands in for the resolver, and knows only these. */
function among(addresses: readonly Address[]): LookupFunction {
  return (_host, { all }, give) => {
    const [first] = addresses;
    if (all) give(null, [...addresses]);
    else if (first) give(null, first.address, first.family);
    else give(new Error('no address'), '');
  };
}
