import type { LookupFunction, Socket } from 'node:net';

/** What happens on a connection. Nothing comes after `closed`, and nothing at all after `close` was called. */
export interface ConnectionEvents {
  /** It stands; one with TLS, once the certificate was found good. Nothing may be written before. */
  open(): void;
  data(chunk: Buffer): void;
  /** After a write that did not take all: there is room again. */
  room(): void;
  /** `error` is undefined if the other side just had no more to say. */
  closed(error: unknown): void;
}

/** One address of a host. */
export interface Address {
  readonly address: string;
  readonly family: number;
}

export interface Target {
  /** A name or an address. With TLS, what the certificate must be for. */
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** Of the host: one of these is connected to and no other, whatever its name resolves to. */
  readonly addresses?: readonly Address[] | undefined;
}

/** One connection, for bytes both ways. */
export interface Connection {
  /** How many of these bytes were taken. */
  write(bytes: Uint8Array): number;
  pause(): void;
  resume(): void;
  /** Closes it at once; may be called at any time, and more than once. */
  close(): void;
}

/** What one write takes: of a long upload it shall be seen how it goes on. */
const SLICE_BYTES = 64 * 1024;

/** Opens a connection on `node:net` or `node:tls`, each loaded with its first use. What fails on it is told to `events.closed`. */
export function connect(target: Target, events: ConnectionEvents): Connection {
  const socket = target.isTls ? secureSocket(target) : plainSocket(target);
  let isOpen = false;
  let isOver = false;
  let failure: unknown;
  const over = (error: unknown): void => {
    if (isOver) return;
    isOver = true;
    socket.destroy();
    events.closed(error);
  };
  const data = (chunk: Buffer): void => {
    if (!isOver) events.data(chunk);
  };
  socket.on(target.isTls ? 'secureConnect' : 'connect', () => {
    isOpen = true;
    if (!isOver) events.open();
  });
  socket.on('data', data);
  // An answer may end while an upload still hangs, which `close` would wait for. Before it is open, why it ended is told next.
  socket.on('end', () => isOpen && over(failure));
  socket.on('error', (error) => {
    failure ??= error;
    // Bytes that somebody changed on their way are told, but close nothing by themselves.
    socket.destroy();
  });
  socket.on('close', () => {
    // A connection that is cut keeps to itself what a reader who paused has not taken.
    for (let rest: unknown = socket.read(); Buffer.isBuffer(rest); rest = socket.read()) data(rest);
    over(failure);
  });
  return {
    write(bytes) {
      if (bytes.length <= SLICE_BYTES) socket.write(bytes);
      // First what has come is read: an answer (413) whose server has hung up would be lost with a write that fails.
      else
        socket.write(bytes.subarray(0, SLICE_BYTES), (error) => error || setImmediate(() => isOver || events.room()));
      return Math.min(bytes.length, SLICE_BYTES);
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close() {
      isOver = true;
      socket.destroy();
    },
  };
}

function plainSocket({ host, port, addresses }: Target): Socket {
  const { connect: open } = process.getBuiltinModule('node:net');
  return open({ host, port, noDelay: true, ...lookupAmong(addresses) });
}

function secureSocket({ host, port, addresses }: Target): Socket {
  const { isIP } = process.getBuiltinModule('node:net');
  const { connect: open } = process.getBuiltinModule('node:tls');
  // There is no such thing as the name of an address; the certificate must be for `host` all the same.
  const name = isIP(host) ? {} : { servername: host };
  const socket = open({
    host,
    port,
    ...name,
    ...lookupAmong(addresses),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
  });
  // Else the request would wait until the other side has confirmed the end of the handshake.
  return socket.setNoDelay(true);
}

/** Stands in for the resolver, and knows only these. */
function lookupAmong(addresses: readonly Address[] | undefined): { lookup?: LookupFunction } {
  if (addresses === undefined) return {};
  return {
    lookup(_host, { all }, give) {
      const [first] = addresses;
      if (first === undefined) give(new Error('no address'), '');
      else if (all) give(null, [...addresses]);
      else give(null, first.address, first.family);
    },
  };
}
