import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Duplex } from 'node:stream';
import { isPublicAddress, resolveHost } from '../http/pinned.ts';
import { formatHostRules, type HostRule, isAllowedHost, tryParseTarget } from './host-rules.ts';

export interface HostProxyOptions {
  /** A unix socket in a directory that only this user can enter; or a port of the loopback, 0 for a free one. */
  readonly listensOn: string | 0;
  readonly rules: readonly HostRule[];
  readonly isAllowedAddress?: (address: string) => boolean;
  readonly resolve?: typeof resolveHost;
}

export interface HostProxy {
  /** 0 if it listens on a unix socket. */
  readonly port: number;
  /** What was refused since this was last asked, as `host:port`. Untrusted text. */
  takeRefused(): readonly string[];
  close(): Promise<void>;
}

const CONNECT_MS = 30_000;
const MAX_CONNECTIONS = 256;
const MAX_REMEMBERED = 20;

/** Of one hop only: https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1 */
const HOP_HEADERS = ['connection', 'proxy-connection', 'proxy-authorization', 'keep-alive', 'te', 'upgrade'];

/**
 * An HTTP proxy that reaches the hosts of some rules only. The name is checked first; it is resolved once, and the connection goes to an
 * address that was checked: never to this machine, a private network, or the metadata service of a cloud.
 */
export async function openHostProxy(options: HostProxyOptions): Promise<HostProxy> {
  const { listensOn } = options;
  const refused = new Set<string>();
  const sockets = new Set<Duplex>();
  const follow = (stream: Duplex): void => {
    sockets.add(stream);
    stream.on('error', () => stream.destroy());
    stream.once('close', () => sockets.delete(stream));
  };
  const open = createOpener(options, refused);

  const tunnel = async (request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> => {
    follow(client);
    try {
      const target = tryParseTarget(request.url ?? '');
      if (target?.port === undefined) throw new Refusal(400, 'CONNECT needs host:port');
      const upstream = await open(target.name, target.port);
      follow(upstream);
      if (client.destroyed) return void upstream.destroy();
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      client.pipe(upstream).pipe(client);
      upstream.once('close', () => client.destroy());
      client.once('close', () => upstream.destroy());
    } catch (thrown) {
      const { status, message } = toRefusal(thrown);
      client.end(`HTTP/1.1 ${status} Refused\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n${message}\n`);
    }
  };

  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const url = tryParseUrl(request.url ?? '');
      const target = url && tryParseTarget(url.host);
      if (url?.protocol !== 'http:' || target === undefined)
        throw new Refusal(400, 'this is a proxy: name a whole address');
      const upstream = await open(target.name, target.port ?? 80);
      follow(upstream);
      const headers = Object.entries(request.headers).filter(([name]) => !HOP_HEADERS.includes(name));
      const sent = sendRequest({
        ...{ method: request.method, path: `${url.pathname}${url.search}`, createConnection: () => upstream },
        // The host that was checked, whatever the header says.
        headers: { ...Object.fromEntries(headers), host: url.host, connection: 'close' },
      });
      sent.once('response', (answer) => {
        response.writeHead(answer.statusCode ?? 502, omitHopHeaders(answer));
        answer.pipe(response);
      });
      sent.once('error', () => response.destroy());
      response.once('close', () => sent.destroy());
      request.pipe(sent);
    } catch (thrown) {
      const { status, message } = toRefusal(thrown);
      response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${message}\n`);
    }
  };

  const server = createServer((request, response) => void forward(request, response));
  server.on('connect', (request, client, head) => void tunnel(request, client, head));
  server.on('connection', follow);
  server.on('clientError', (_, client) => client.destroy());
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolveListen, reject) => {
    server.once('error', reject);
    if (listensOn === 0) server.listen(0, '127.0.0.1', resolveListen);
    else server.listen(listensOn, resolveListen);
  });
  // It must not keep a run alive that is over.
  server.unref();
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    takeRefused() {
      const taken = [...refused];
      refused.clear();
      return taken;
    },
    async close() {
      for (const each of sockets) each.destroy();
      await new Promise<void>((closed) => void server.close(() => closed()));
    },
  };
}

/** Connects to a host that the rules allow. The function throws a Refusal. */
function createOpener(options: HostProxyOptions, refused: Set<string>) {
  const { rules, isAllowedAddress = isForeignAddress, resolve = resolveHost } = options;
  const refuse = (target: string, why: string): Refusal => {
    if (refused.size < MAX_REMEMBERED) refused.add(target);
    return new Refusal(403, `the sandbox refuses ${target}: ${why}`);
  };
  return async (name: string, port: number): Promise<Socket> => {
    const target = `${name.includes(':') ? `[${name}]` : name}:${port}`;
    if (!isAllowedHost(rules, name, port)) throw refuse(target, `--sandbox-net allows ${formatHostRules(rules)}`);
    const addresses =
      isIP(name) === 0
        ? await resolve(name).catch(() => {
            throw new Refusal(502, `${name} cannot be resolved`);
          })
        : [{ address: name, family: isIP(name) }];
    const allowed = addresses.filter(({ address }) => isAllowedAddress(address));
    if (allowed.length === 0) throw refuse(target, 'its address is not one of the open internet');
    for (const { address } of allowed) {
      const opened = await tryConnect(address, port);
      if (opened !== undefined) return opened;
    }
    throw new Refusal(502, `${target} cannot be reached`);
  };
}

/** On the public internet, and not this machine. */
export function isForeignAddress(address: string): boolean {
  if (!isPublicAddress(address) || METADATA.includes(address)) return false;
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return !own.some((each) => each.address === address);
}

/** A service of a cloud for its machines that has a public address; all others are link-local or private. */
const METADATA = ['168.63.129.16'];

class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

function toRefusal(thrown: unknown): Refusal {
  return thrown instanceof Refusal ? thrown : new Refusal(502, 'the connection failed');
}

function tryConnect(address: string, port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, allowHalfOpen: true });
    const fail = (): void => {
      socket.destroy();
      resolve(undefined);
    };
    socket.setTimeout(CONNECT_MS, fail);
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.setTimeout(0);
      socket.off('error', fail);
      resolve(socket);
    });
  });
}

function omitHopHeaders({ rawHeaders }: IncomingMessage): string[] {
  const kept: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!HOP_HEADERS.includes(name.toLowerCase())) kept.push(name, rawHeaders[index + 1] ?? '');
  }
  return [...kept, 'connection', 'close'];
}

function tryParseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
