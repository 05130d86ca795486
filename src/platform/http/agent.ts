import type { Agent, ClientRequest, ClientRequestArgs } from 'node:http';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { Clock } from '../../core/io.ts';

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** Where a connection goes: part of the options of `http.request`, and the key by which agents find a kept connection. */
export interface Place {
  /** With TLS, what the certificate must be for. */
  readonly host: string;
  /** A string, because Node treats the number 0 as absent. */
  readonly port: string;
  /** Empty for an address: TLS asks for names only. */
  readonly servername: string;
  readonly lookup?: LookupFunction;
  /** The addresses of `lookup`, so that a connection to other addresses is not reused. */
  readonly pinned?: string;
}

/** To one of `addresses` only, if they are given, whatever the host name resolves to. */
export function toPlace(url: URL, addresses: readonly Address[] | undefined): Place {
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const place = { host, port, servername: isIP(host) ? '' : host };
  if (addresses === undefined) return place;
  const pinned = addresses.map(({ address }) => address).sort();
  return { ...place, lookup: createLookup(addresses), pinned: pinned.join() };
}

function createLookup(addresses: readonly Address[]): LookupFunction {
  return (_host, { all }, give) => {
    const [first] = addresses;
    if (first === undefined) give(new Error('no address'), '');
    else if (all) give(null, [...addresses]);
    else give(null, first.address, first.family);
  };
}

export interface Connections {
  readonly kept: Agent;
  readonly single: Agent;
  /** Opens a connection for the next request, unless there is one. It does not keep the process alive. */
  openAhead(place: Place): void;
  /** Whether there is an open connection to this place; the server may just have closed it, or sent something. */
  hasOpen(place: Place): boolean;
  closeIdle(place: Place): void;
  /** Closes connections that were idle too long by the clock: timers stand still while a laptop sleeps. */
  closeOverdue(place: Place): void;
  /** Whether this request got a connection that was open for a while, and may be dead. */
  isReused(request: ClientRequest, socket: Socket): boolean;
  isOpen(socket: Socket): boolean;
  close(): void;
}

export interface ConnectionOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** A server may ask for less: `Keep-Alive: timeout=`. */
  readonly maxIdleMs: number;
}

/** How often an unused early connection is reopened: enough for ten minutes of waiting for the user. */
const MAX_RECONNECTS = 9;

/** An early connection that is younger than this is as good as a new one. */
const FRESH_MS = 1000;

const OPTIONS = {
  // Overrides NODE_TLS_REJECT_UNAUTHORIZED.
  rejectUnauthorized: true,
  // Sessions are cached in this file, for both agents.
  maxCachedSessions: 0,
};

const MAX_SESSIONS = 100;

/** Kept and early connections on Node's agents. `node:https` is loaded for TLS, else only `node:http`. */
export function openConnections(isTls: boolean, { clock, maxIdleMs }: ConnectionOptions): Connections {
  const NodeAgent: typeof Agent = process.getBuiltinModule(isTls ? 'node:https' : 'node:http').Agent;
  const agentOptions = { ...OPTIONS, timeout: maxIdleMs };
  const open = new WeakSet<Socket>();
  const idleSince = new WeakMap<Socket, number>();
  const early = createEarlySockets();
  const takenOld = new WeakSet<Socket>();
  const isOpen = (socket: Socket | undefined): boolean => socket !== undefined && open.has(socket);
  const measureIdle = (socket: Socket): number => clock.now() - (idleSince.get(socket) ?? 0);
  const sessions = new Map<string, Buffer>();

  class SharingAgent extends NodeAgent {
    override getName(options?: ClientRequestArgs & Partial<Place>): string {
      return `${super.getName(options)}:${options?.pinned ?? ''}`;
    }

    override createConnection(options: object): Socket {
      const socket = this === kept ? early.take(this.getName(options)) : undefined;
      if (socket !== undefined && open.has(socket) && measureIdle(socket) >= FRESH_MS) takenOld.add(socket);
      return socket ?? this.connect(options);
    }

    connect(options: object): Socket {
      const name = this.getName(options);
      const tls = { ...options, ALPNProtocols: ['http/1.1'], session: sessions.get(name) };
      const socket = super.createConnection(isTls ? tls : options) as Socket;
      idleSince.set(socket, clock.now());
      // Otherwise the request would wait for the acknowledgement of the handshake's last packet.
      socket.setNoDelay(true);
      socket.once(isTls ? 'secureConnect' : 'connect', () => {
        open.add(socket);
        idleSince.set(socket, clock.now());
      });
      if (isTls) {
        socket.on('session', (given: Buffer) => keepSession(sessions, name, given));
        socket.once('close', (hadError) => hadError && sessions.delete(name));
      }
      return socket;
    }

    override keepSocketAlive(socket: Socket): boolean {
      idleSince.set(socket, clock.now());
      // What a server sends unasked must not become the response to the next request.
      socket.on('data', destroySocket);
      return Boolean(super.keepSocketAlive(socket));
    }

    override reuseSocket(socket: Socket, request: ClientRequest): void {
      socket.off('data', destroySocket);
      super.reuseSocket(socket, request);
    }
  }

  const kept = new SharingAgent({ ...agentOptions, keepAlive: true });
  let single: SharingAgent | undefined;
  /** The options as Node's agents merge them; some are part of a connection's name. */
  const withOptions = (place: Place): ClientRequestArgs & Place => ({ ...agentOptions, ...place });
  const toName = (place: Place): string => kept.getName(withOptions(place));
  const listIdle = (place: Place): readonly Socket[] => kept.freeSockets[toName(place)] ?? [];
  const isKept = (name: string): boolean => kept.freeSockets[name] !== undefined || kept.sockets[name] !== undefined;

  const openEarly = (place: Place, reconnects: number): void => {
    const options = withOptions(place);
    const name = kept.getName(options);
    if (early.find(name) !== undefined || isKept(name)) return;
    const reconnect = reconnects > 0 ? () => openEarly(place, reconnects - 1) : () => {};
    early.add(name, kept.connect(options), reconnect);
  };

  return {
    kept,
    get single() {
      single ??= new SharingAgent(agentOptions);
      return single;
    },
    openAhead: (place) => openEarly(place, MAX_RECONNECTS),
    hasOpen: (place) => isKept(toName(place)) || isOpen(early.find(toName(place))),
    closeIdle(place) {
      for (const socket of listIdle(place)) socket.destroy();
      early.take(toName(place))?.destroy();
    },
    closeOverdue(place) {
      for (const socket of [...listIdle(place), early.find(toName(place))]) {
        if (socket && measureIdle(socket) > (socket.timeout ?? maxIdleMs)) socket.destroy();
      }
    },
    isReused: ({ reusedSocket }, socket) => reusedSocket || takenOld.has(socket),
    isOpen,
    close() {
      early.close();
      kept.destroy();
      single?.destroy();
    },
  };
}

function createEarlySockets() {
  const held = new Map<string, { readonly socket: Socket; readonly expire: () => void }>();
  const find = (name: string): Socket | undefined => {
    const socket = held.get(name)?.socket;
    // These are set before 'close' is emitted.
    return socket?.destroyed || socket?.readableEnded || socket?.readableLength ? undefined : socket;
  };
  return {
    /** Until it is taken or closed. `onExpired`: it was idle for too long. */
    add(name: string, socket: Socket, onExpired: () => void) {
      const expire = (): void => {
        socket.destroy();
        onExpired();
      };
      const forget = (): void => {
        if (held.get(name)?.socket === socket) held.delete(name);
      };
      held.set(name, { socket, expire });
      // The request then opens a connection of its own, and reports what is wrong.
      socket.on('error', forget).on('close', forget).on('timeout', expire).unref();
      // For example a 408 to a silent connection, which must not become the response to the request.
      socket.on('data', destroySocket);
    },
    find,
    take(name: string): Socket | undefined {
      const entry = held.get(name);
      if (entry === undefined || find(name) === undefined) return undefined;
      held.delete(name);
      return entry.socket.off('timeout', entry.expire).off('data', destroySocket).ref();
    },
    close() {
      for (const { socket } of held.values()) socket.destroy();
    },
  };
}

function keepSession(sessions: Map<string, Buffer>, name: string, session: Buffer): void {
  sessions.delete(name);
  sessions.set(name, session);
  const [oldest] = sessions.keys();
  if (sessions.size > MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest);
}

function destroySocket(this: Socket): void {
  this.destroy();
}
