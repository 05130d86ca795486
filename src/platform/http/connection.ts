import type { LookupFunction, Socket } from 'node:net';

/** Nothing comes after `closed`, and nothing at all after `close` was called. */
export interface ConnectionEvents {
  /** Ready for writing; with TLS, after the certificate was verified. */
  open(): void;
  data(chunk: Buffer): void;
  /** There is room again after a write that did not take everything. */
  room(): void;
  /** `error` is undefined if the other side closed normally. */
  closed(error: unknown): void;
}

export interface Address {
  readonly address: string;
  readonly family: number;
}

export interface Target {
  /** A name or an address. With TLS, what the certificate must be for. */
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** Connect to one of these only, whatever the host name resolves to. */
  readonly addresses?: readonly Address[] | undefined;
}

export interface Connection {
  /** Returns how many of these bytes were taken. */
  write(bytes: Uint8Array): number;
  pause(): void;
  resume(): void;
  /** Closes it at once; may be called at any time, and more than once. */
  close(): void;
}

/** Long uploads are written in slices, so that their progress restarts the timeout. */
const SLICE_BYTES = 64 * 1024;

/** Opens a connection on `node:net` or `node:tls`, each loaded on first use. Failures go to `events.closed`. */
export function connect(target: Target, events: ConnectionEvents): Connection {
  const socket = target.isTls ? secureSocket(target) : plainSocket(target);
  let isOpen = false;
  let isOver = false;
  let failure: unknown;
  const finish = (error: unknown): void => {
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
  // The response may end while an upload still hangs, and `close` would wait for that. Before the connection is open,
  // an error follows that says why.
  socket.on('end', () => isOpen && finish(failure));
  socket.on('error', (error) => {
    failure ??= error;
    // A TLS record that fails authentication emits an error but does not close the socket.
    socket.destroy();
  });
  socket.on('close', () => {
    // A cut connection still holds what a paused reader has not taken.
    for (let rest: unknown = socket.read(); Buffer.isBuffer(rest); rest = socket.read()) data(rest);
    finish(failure);
  });
  return {
    write(bytes) {
      if (bytes.length <= SLICE_BYTES) socket.write(bytes);
      // Read before writing on: a server that responds early (413) and hangs up would be lost to a failed write.
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
  return open({ host, port, noDelay: true, ...pinnedLookup(addresses) });
}

function secureSocket({ host, port, addresses }: Target): Socket {
  const { isIP } = process.getBuiltinModule('node:net');
  const { connect: open } = process.getBuiltinModule('node:tls');
  // SNI has no IP addresses; the certificate must match `host` all the same.
  const name = isIP(host) ? {} : { servername: host };
  const socket = open({
    host,
    port,
    ...name,
    ...pinnedLookup(addresses),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
  });
  // Otherwise the request would wait for the acknowledgement of the handshake's last packet.
  return socket.setNoDelay(true);
}

function pinnedLookup(addresses: readonly Address[] | undefined): { lookup?: LookupFunction } {
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
