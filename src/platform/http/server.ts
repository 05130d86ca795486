import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { AppError } from '../../core/error.ts';
import { isLoopback } from '../../core/text/url.ts';

const BODY_LIMIT_BYTES = 64_000_000;
const TOO_LARGE = Symbol('body over the limit');

export interface RequestHead {
  readonly method: string;
  /** Without the query, not decoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

export interface ServedRequest extends RequestHead {
  readonly body: string;
}

/** Sent without reading the request body. */
export interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ServedReply {
  /** Aborts once the client is gone or the server closes; also after a complete response. */
  readonly signal: AbortSignal;
  send(status: number, headers: Readonly<Record<string, string>>, body: string): void;
  begin(status: number, headers: Readonly<Record<string, string>>): void;
  /** Resolves when there is room for more; rejects with the signal's reason once the client is gone. */
  write(chunk: string | Uint8Array): Promise<void>;
  end(): void;
  /** Sends what was written so far, then drops the connection without a proper end. */
  cut(): void;
}

/** A rejection becomes a 500, or a dropped connection if the response had begun. */
export type ServeHandler = (request: ServedRequest, reply: ServedReply) => Promise<void>;

/** `body` throws if the client hangs up. A rejection is treated as for `ServeHandler`. */
export type StreamHandler = (body: AsyncIterable<Uint8Array>, reply: ServedReply) => Promise<void>;

export interface HttpServer {
  /** `http://127.0.0.1:<port>`, without a trailing slash. */
  readonly url: string;
  /** Resolves when the port is free again; drops open connections. */
  close(): Promise<void>;
}

interface ListenOptions {
  readonly port: number;
  readonly handler: ServeHandler;
  /** Called before the body is read; returns a response to reject the request. */
  readonly admit?: (head: RequestHead) => ErrorResponse | undefined;
  readonly maxBodyBytes?: number;
  /** May take a request whose body is read as it arrives, however long it is. Undefined: `handler` gets it whole. */
  readonly stream?: (head: RequestHead) => StreamHandler | undefined;
}

/**
 * Plain http on 127.0.0.1 only, for programs of this machine; port 0 picks a free one. Throws AppError `usage` if the port
 * is not available.
 */
export async function listen(options: ListenOptions): Promise<HttpServer> {
  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing, options).catch(() => outgoing.destroy());
  });
  await bind(server, options.port);
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function bind(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'is already in use' : `cannot be used (${cause.code ?? cause.message})`;
      const hint = 'Choose another port, or leave it out to get a free one.';
      reject(new AppError('usage', `port ${port} ${why}`, { cause, hint }));
    });
    server.listen(port, '127.0.0.1', resolve);
  });
}

async function serve(incoming: IncomingMessage, outgoing: ServerResponse, options: ListenOptions): Promise<void> {
  const gone = new AbortController();
  outgoing.on('close', () => gone.abort());
  // 'close' follows and handles it.
  outgoing.on('error', () => undefined);
  const reply = createReply(outgoing, gone.signal);
  const head = toRequestHead(incoming);
  const refusal = refuseForeign(head) ?? options.admit?.(head);
  if (refusal !== undefined) {
    reply.send(refusal.status, { connection: 'close', ...refusal.headers }, refusal.body);
    return;
  }
  const stream = options.stream?.(head);
  const body = stream ? '' : await readBody(incoming, options.maxBodyBytes ?? BODY_LIMIT_BYTES);
  if (body === TOO_LARGE) {
    reply.send(413, { connection: 'close', 'content-type': 'text/plain' }, 'The request body is too large.\n');
    return;
  }
  try {
    await (stream ? stream(incoming, reply) : options.handler({ ...head, body }, reply));
  } catch (thrown) {
    if (gone.signal.aborted) return;
    if (outgoing.headersSent) outgoing.destroy();
    else reply.send(500, { 'content-type': 'text/plain' }, `${thrown instanceof Error ? thrown.message : 'failed'}\n`);
  }
}

/** Rejects web pages: one whose name was rebound to 127.0.0.1 (Host), and one of another site (Origin). */
function refuseForeign({ headers }: RequestHead): ErrorResponse | undefined {
  const { host = '', origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers;
  // Only a name and a port: anything else could be parsed in another way elsewhere.
  const [, name = ''] = /^([\w.-]+|\[[\da-f:]+\])(?::\d{1,5})?$/i.exec(host) ?? [];
  if (!isLoopback(name.toLowerCase()))
    return toTextResponse(403, 'this server answers only to the names of this machine');
  // A page that only loads something sends no Origin; who signs in comes back from another site, too.
  const isLoaded = site === 'cross-site' && mode !== 'navigate';
  if (isLoaded || (origin !== undefined && !isOwnOrigin(origin)))
    return toTextResponse(403, 'requests of web pages are not accepted');
  return undefined;
}

function isOwnOrigin(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, hostname } = new URL(origin);
  return (protocol === 'http:' || protocol === 'https:') && isLoopback(hostname);
}

export function toTextResponse(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): ErrorResponse {
  return { status, headers: { 'content-type': 'text/plain', ...headers }, body: `${message}\n` };
}

function toRequestHead({ method = 'GET', url = '/', headers: given }: IncomingMessage): RequestHead {
  // Appended, not resolved: a path that begins with two slashes would name another host.
  const { pathname, searchParams } = new URL(`http://127.0.0.1${url.startsWith('/') ? url : '/'}`);
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(given)) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  return { method, path: pathname, query: searchParams, headers };
}

/** Always reads to the end: leaving early would close the connection before the response is sent. */
async function readBody(incoming: IncomingMessage, maxBytes: number): Promise<string | typeof TOO_LARGE> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    size += chunk.length;
    if (size > maxBytes) chunks.length = 0;
    else chunks.push(chunk);
  }
  return size > maxBytes ? TOO_LARGE : Buffer.concat(chunks).toString('utf8');
}

function createReply(outgoing: ServerResponse, signal: AbortSignal): ServedReply {
  return {
    signal,
    send(status, headers, body) {
      outgoing.writeHead(status, {
        ...headers,
        'content-length': Buffer.byteLength(body),
      });
      outgoing.end(body);
    },
    begin(status, headers) {
      outgoing.writeHead(status, headers);
      outgoing.flushHeaders();
    },
    async write(chunk) {
      signal.throwIfAborted();
      if (outgoing.write(chunk)) return;
      await once(outgoing, 'drain', { signal }).catch(() => {
        throw signal.reason;
      });
    },
    end: () => outgoing.end(),
    // Node collects what is written in one tick, and from version 26 hands it to the socket only then.
    cut: () => process.nextTick(() => outgoing.socket?.destroySoon()),
  };
}
