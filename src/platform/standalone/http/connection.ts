import type {
  ConnectionEvents,
  connect as connectNode,
  Connection as PlainConnection,
  Target,
} from '../../http/connection.ts';

/** A connection on the runtime's own sockets, which cost a fraction of what its copy of `node:net` costs a start. */
export interface Connection extends PlainConnection {
  /** Speaks TLS from now on, with nobody whose certificate is not for this name or address; what happens is told to these events, `open` first. */
  secure(name: string, events: ConnectionEvents): void;
}

/** https://bun.com/docs/runtime/networking/tcp, as far as it is used here. */
interface NativeSocket {
  write(bytes: Uint8Array): number;
  pause(): void;
  resume(): void;
  end(): void;
  upgradeTLS(options: { readonly tls: TlsOptions; readonly socket: SocketHandler }): readonly [unknown, NativeSocket];
}

interface SocketHandler {
  open(socket: NativeSocket): void;
  handshake?(socket: NativeSocket, isGood: boolean, error: unknown): void;
  data(socket: NativeSocket, chunk: Buffer): void;
  drain(socket: NativeSocket): void;
  end(socket: NativeSocket): void;
  close(socket: NativeSocket, error: unknown): void;
  error(socket: NativeSocket, error: unknown): void;
  connectError?(socket: NativeSocket, error: unknown): void;
}

interface TlsOptions {
  readonly rejectUnauthorized: true;
  readonly serverName?: string;
}

declare const Bun: {
  connect(options: {
    readonly hostname: string;
    readonly port: number;
    readonly tls?: TlsOptions;
    readonly socket: SocketHandler;
  }): Promise<unknown>;
};

/** A connection in whatever state it is; `events` are those of the one who has it now. */
interface Line {
  socket: NativeSocket | undefined;
  events: ConnectionEvents;
  isOver: boolean;
}

/** The same promise; of several addresses, one after the other is tried. */
export const connect = (({ host, port, isTls, addresses }: Target, events: ConnectionEvents): Connection => {
  const line: Line = { socket: undefined, events, isOver: false };
  const tls = isTls ? { tls: tlsFor(host) } : {};
  const attempt = ([hostname = '', ...others]: readonly string[]): void => {
    let isTold = false;
    // A failure is told twice, to the handler and to the promise.
    const failed = (error: unknown): void => {
      if (isTold || line.isOver) return;
      isTold = true;
      if (others.length > 0) attempt(others);
      else lose(line, error);
    };
    const socket = {
      ...handlerOf(line, events, isTls),
      connectError: (_: unknown, error: unknown) => failed(error),
    };
    Bun.connect({ hostname, port, ...tls, socket }).catch(failed);
  };
  attempt(addresses?.map(({ address }) => address) ?? [host]);
  return {
    write: (bytes) => line.socket?.write(bytes) ?? 0,
    pause: () => line.socket?.pause(),
    resume: () => line.socket?.resume(),
    close: () => close(line),
    secure(name, secured) {
      line.events = secured;
      line.socket = line.socket?.upgradeTLS({ tls: tlsFor(name), socket: handlerOf(line, secured, true) })[1];
    },
  };
}) satisfies typeof connectNode;

/** The certificate is checked against `serverName`. */
function tlsFor(name: string): TlsOptions {
  return { rejectUnauthorized: true, serverName: name };
}

function close(line: Line): void {
  line.isOver = true;
  line.socket?.end();
}

function lose(line: Line, error: unknown): void {
  if (line.isOver) return;
  close(line);
  line.events.closed(error);
}

/** What the runtime calls, for as long as `events` are those of the line. */
function handlerOf(line: Line, events: ConnectionEvents, isTls: boolean): SocketHandler {
  const isCurrent = (): boolean => !line.isOver && line.events === events;
  const end = (error: unknown): void => {
    if (isCurrent()) lose(line, error);
  };
  let isOpen = false;
  const open = (): void => {
    isOpen = true;
    if (isCurrent()) events.open();
  };
  return {
    open(socket) {
      line.socket = socket;
      if (line.isOver) socket.end();
      else if (!isTls) open();
    },
    ...(isTls && { handshake: (_, isGood, error) => (isGood ? open() : end(error ?? new Error('no TLS'))) }),
    data(_, chunk) {
      if (isCurrent()) events.data(chunk);
    },
    drain() {
      if (isCurrent()) events.room();
    },
    end() {
      // Before that a handshake has failed, and why is told next.
      if (isOpen) end(undefined);
    },
    close: (_, error) => end(error),
    error: (_, error) => end(error),
  };
}
