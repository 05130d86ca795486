import type { Address } from '../../http/agent.ts';

/** Nothing comes after `closed`, and nothing at all after `close` was called. */
export interface ConnectionEvents {
  /** Ready for writing; with TLS, after the certificate was verified. */
  open(): void;
  data(chunk: Buffer): void;
  room(): void;
  closed(error: unknown): void;
}

export interface Target {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** Connect to one of these only, whatever the host name resolves to. */
  readonly addresses?: readonly Address[];
}

/** A connection on Bun's own sockets, which load much faster than its `node:net`. */
export interface Connection {
  write(bytes: Uint8Array): number;
  pause(): void;
  resume(): void;
  close(): void;
  /** Starts TLS for this name or address. Everything from now on goes to these events, `open` first. */
  secure(name: string, events: ConnectionEvents): void;
}

/** The used part of https://bun.com/docs/runtime/networking/tcp */
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

interface SocketState {
  socket: NativeSocket | undefined;
  events: ConnectionEvents;
  isOver: boolean;
}

/** Tries several addresses one after the other. Failures go to `events.closed`. */
export function connect({ host, port, isTls, addresses }: Target, events: ConnectionEvents): Connection {
  const state: SocketState = { socket: undefined, events, isOver: false };
  const tls = isTls ? { tls: toTlsOptions(host) } : {};
  const attempt = ([hostname = '', ...others]: readonly string[]): void => {
    let isReported = false;
    // Bun reports a failure twice, to the handler and to the promise.
    const tryNext = (error: unknown): void => {
      if (isReported || state.isOver) return;
      isReported = true;
      if (others.length > 0) attempt(others);
      else closeWithError(state, error);
    };
    const socket = {
      ...createHandler(state, events, isTls),
      connectError: (_: unknown, error: unknown) => tryNext(error),
    };
    Bun.connect({ hostname, port, ...tls, socket }).catch(tryNext);
  };
  attempt(addresses?.map(({ address }) => address) ?? [host]);
  return {
    write: (bytes) => state.socket?.write(bytes) ?? 0,
    pause: () => state.socket?.pause(),
    resume: () => state.socket?.resume(),
    close: () => close(state),
    secure(name, secured) {
      state.events = secured;
      state.socket = state.socket?.upgradeTLS({
        tls: toTlsOptions(name),
        socket: createHandler(state, secured, true),
      })[1];
    },
  };
}

function toTlsOptions(name: string): TlsOptions {
  return { rejectUnauthorized: true, serverName: name };
}

function close(state: SocketState): void {
  state.isOver = true;
  state.socket?.end();
}

function closeWithError(state: SocketState, error: unknown): void {
  if (state.isOver) return;
  close(state);
  state.events.closed(error);
}

/** Events are ignored once `events` are no longer the connection's. */
function createHandler(state: SocketState, events: ConnectionEvents, isTls: boolean): SocketHandler {
  const isCurrent = (): boolean => !state.isOver && state.events === events;
  const end = (error: unknown): void => {
    if (isCurrent()) closeWithError(state, error);
  };
  let isOpen = false;
  const open = (): void => {
    isOpen = true;
    if (isCurrent()) events.open();
  };
  const handler: SocketHandler = {
    open(socket) {
      state.socket = socket;
      if (state.isOver) socket.end();
      else if (!isTls) open();
    },
    data(_, chunk) {
      if (isCurrent()) events.data(chunk);
    },
    drain() {
      if (isCurrent()) events.room();
    },
    end() {
      // Before it is open, the handshake has failed, and an error follows that says why.
      if (isOpen) end(undefined);
    },
    close: (_, error) => end(error),
    error: (_, error) => end(error),
  };
  if (isTls) handler.handshake = (_, isGood, error) => (isGood ? open() : end(error ?? new Error('no TLS')));
  return handler;
}
