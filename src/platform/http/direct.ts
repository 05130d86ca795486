import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { HttpRequest, HttpResponse } from '../../core/io.ts';
import { systemClock, yieldToIo } from '../runtime/clock.ts';
import {
  type Address,
  type ConnectionOptions,
  type Connections,
  openConnections,
  type Place,
  toPlace,
} from './agent.ts';
import { openExchange, type RequestContext, SLICE_BYTES, toBytes } from './exchange.ts';
import { toPeer } from './failure.ts';

export function openDirectClient({ clock = systemClock, maxIdleMs = 60_000 }: Partial<ConnectionOptions> = {}) {
  const opened = new Map<string, Connections>();
  const chooseConnections = ({ protocol }: URL): Connections => {
    const connections = opened.get(protocol) ?? openConnections(protocol === 'https:', { clock, maxIdleMs });
    opened.set(protocol, connections);
    return connections;
  };
  return {
    async send(context: RequestContext, addresses?: readonly Address[]): Promise<HttpResponse> {
      const { request, signal } = context;
      const connections = chooseConnections(request.url);
      const place = toPlace(request.url, addresses);
      if (mayReuse(request)) {
        connections.closeOverdue(place);
        // Lets a server's hang-up be noticed, and an exchange that has ended release its connection.
        if (connections.hasOpen(place)) await yieldToIo();
        signal.throwIfAborted();
      }
      return sendOn(connections, context, place);
    },
    preconnect: (url: URL) => chooseConnections(url).openAhead(toPlace(url, undefined)),
    close() {
      for (const connections of opened.values()) connections.close();
    },
  };
}

function sendOn(connections: Connections, context: RequestContext, place: Place): Promise<HttpResponse> {
  const { request } = context;
  const isRepeatable = mayRepeat(request);
  const options = toRequestOptions(request, place, mayReuse(request) ? connections.kept : connections.single);
  let current: ClientRequest | undefined;
  let response: IncomingMessage | undefined;
  let isClosed = false;
  const exchange = openExchange(context, {
    peer: () => toPeer(request.url),
    pause: () => response?.pause(),
    resume: () => response?.resume(),
    destroy() {
      isClosed = true;
      current?.destroy();
    },
  });

  const attempt = (isLast: boolean): void => {
    const http = options.protocol === 'https:' ? 'node:https' : 'node:http';
    const made = process.getBuiltinModule(http).request(options);
    current = made;
    let isReused = false;
    let lastPacket: Buffer | undefined;
    let failure: unknown;
    const notePacket = (packet: Buffer): void => {
      lastPacket = packet;
    };
    made.on('socket', (socket) => {
      isReused = connections.isReused(made, socket);
      socket.on('data', notePacket);
      if (connections.isOpen(socket)) exchange.onConnected();
      else socket.once(options.protocol === 'https:' ? 'secureConnect' : 'connect', exchange.onConnected);
    });
    made.on('response', (incoming) => {
      response = incoming;
      const refusal = checkHead(incoming);
      if (refusal === undefined) receive(incoming);
      else exchange.fail(refusal);
    });
    // gmn never asks for an upgrade.
    made.on('upgrade', (_, socket) => {
      socket.destroy();
      exchange.fail(parseError('HPE_INVALID_STATUS'));
    });
    made.on('error', (error) => {
      failure ??= error;
      if (response !== undefined || isClosed) return;
      if (isLast || !isReused || lastPacket !== undefined) return exchange.fail(error);
      connections.closeIdle(place);
      context.onSentAgain?.();
      exchange.onReconnecting();
      attempt(true);
    });
    const receive = (incoming: IncomingMessage): void => {
      const { socket } = incoming;
      let lastChunk: Buffer | undefined;
      exchange.headers(incoming.statusCode ?? 0, incoming.headers);
      incoming.on('data', (chunk: Buffer) => {
        lastChunk = chunk;
        exchange.data(chunk);
      });
      incoming.on('end', () => {
        socket.off('data', notePacket);
        // Node's parser drops the beginning of another response; the rest would be read as part of the next one.
        if (!endsWithResponse(lastPacket, lastChunk)) socket.destroy();
        if (failure === undefined) exchange.end();
        else exchange.fail(failure);
        // Unless the body is about to finish, the server responded before it had read everything.
        if (!made.writableFinished) void yieldToIo().then(() => made.writableFinished || made.destroy());
      });
      // 'close' follows, and reports it.
      incoming.on('error', (error) => (failure ??= error));
      incoming.on('close', () => {
        if (incoming.readableEnded) return;
        // What a paused reader has not taken from a cut connection.
        for (let rest: unknown = incoming.read(); rest instanceof Uint8Array; rest = incoming.read())
          exchange.data(rest);
        exchange.fail(failure);
      });
    };
    writeBody(made, request.body, exchange.progress);
  };

  attempt(!isRepeatable);
  return exchange.answer;
}

function mayRepeat({ method, isRepeatable = method === 'GET' }: HttpRequest): boolean {
  return isRepeatable;
}

function mayReuse(request: HttpRequest): boolean {
  return request.mayReuse ?? mayRepeat(request);
}

/** Message framing is set here; callers must not override it. */
const FRAMING_HEADERS: readonly string[] = ['connection', 'content-length', 'transfer-encoding'];

function toRequestOptions(
  { method, url, headers, body }: HttpRequest,
  place: Place,
  agent: Connections['kept'],
): RequestOptions {
  const given = Object.entries(headers).filter(([name]) => !FRAMING_HEADERS.includes(name.toLowerCase()));
  // Servers require a length for POST, even without a body (411).
  const length = body === undefined && method !== 'POST' ? {} : { 'content-length': Buffer.byteLength(body ?? '') };
  // Throws TypeError before anything is opened: a line break in a value would add a header.
  const { validateHeaderName, validateHeaderValue } = process.getBuiltinModule('node:http');
  for (const [name, value] of given) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
  const host = given.some(([name]) => name.toLowerCase() === 'host') ? {} : { Host: url.host };
  return {
    ...place,
    protocol: url.protocol,
    method,
    path: `${url.pathname}${url.search}`,
    headers: { ...Object.fromEntries(given), ...length, ...host },
    agent,
    // Overrides NODE_OPTIONS.
    insecureHTTPParser: false,
    maxHeaderSize: 16 * 1024,
  };
}

/** Rejects what Node's parser accepts and gmn does not; undefined if the head is valid. */
function checkHead({ statusCode = 0, httpVersionMajor, headers }: IncomingMessage): Error | undefined {
  if (httpVersionMajor !== 1) return parseError('HPE_INVALID_CONSTANT');
  if (statusCode < 200) return parseError('HPE_INVALID_STATUS');
  const coding = headers['transfer-encoding'];
  return coding === undefined || coding.toLowerCase() === 'chunked'
    ? undefined
    : parseError('HPE_INVALID_TRANSFER_ENCODING');
}

const END_OF_HEAD = Buffer.from('\r\n\r\n');

/** Whether a packet ends where the response does: with its last chunk, or the empty line after a head or trailers. */
function endsWithResponse(packet: Buffer = END_OF_HEAD, chunk: Buffer = END_OF_HEAD): boolean {
  return [chunk, END_OF_HEAD].some((end) => packet.subarray(-end.length).equals(end));
}

function parseError(code: string): Error {
  return Object.assign(new Error('this is not HTTP'), { code });
}

function writeBody(request: ClientRequest, body: HttpRequest['body'], progress: (bytes: number) => void): void {
  if (body === undefined || body.length <= SLICE_BYTES) return void request.end(body);
  const bytes = toBytes(body);
  const writeFrom = (start: number): void => {
    if (request.destroyed) return;
    if (start >= bytes.length) return void request.end();
    request.write(bytes.subarray(start, start + SLICE_BYTES), (error) => {
      // Read before the next write: otherwise a failed write hides the response of a server that hangs up early (413).
      if (!error) setImmediate(next, start + SLICE_BYTES);
    });
  };
  const next = (start: number): void => {
    progress(Math.min(start, bytes.length));
    writeFrom(start);
  };
  writeFrom(0);
}
