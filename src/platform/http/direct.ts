import type { HttpResponse } from '../../core/io.ts';
import { type Address, type Connection, type ConnectionEvents, connect, type Target } from './connection.ts';
import { type Dispatch, openExchange } from './exchange.ts';
import { type Peer, peerOf } from './failure.ts';
import { answerReader, requestBytes } from './http1.ts';

/**
 * Sends one request on a connection of its own. With `addresses`, to one of these and no other, whatever the name of the
 * host resolves to.
 */
export async function sendDirect(dispatch: Dispatch, addresses?: readonly Address[]): Promise<HttpResponse> {
  const { url } = dispatch.request;
  const peer = peerOf(url);
  let connection: Connection | undefined;
  const call = openCall({
    dispatch,
    bytes: requestBytes(dispatch.request),
    peer: () => peer,
    connection: () => connection,
  });
  connection = connect({ ...targetOf(url), addresses }, call.events);
  return call.answer;
}

/** Where a URL leads to. */
export function targetOf({ protocol, hostname, port }: URL): Target {
  const isTls = protocol === 'https:';
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return { host, port: Number(port || (isTls ? 443 : 80)), isTls };
}

/** A request whose connection is yet to be made. */
export interface Call {
  readonly answer: Promise<HttpResponse>;
  /** For the connection the request is sent on, as soon as that is open. */
  readonly events: ConnectionEvents;
  /** Ends the call with AppError `api`, or with the AppError given. */
  fail(error: unknown): void;
}

interface CallOptions {
  readonly dispatch: Dispatch;
  /** What goes out. */
  readonly bytes: Buffer;
  /** Who is at the other end by now. */
  readonly peer: () => Peer;
  /** Asked when there is something to do with it. */
  readonly connection: () => Connection | undefined;
  /** An AppError if an answer with this status is none. */
  readonly refused?: (status: number) => Error | undefined;
}

/** Sends bytes and reads the answer, with the promises of every exchange: timers, abort signal, plain words for failures. */
export function openCall({ dispatch, bytes, peer, connection, refused }: CallOptions): Call {
  const exchange = openExchange(dispatch, {
    peer,
    pause: () => connection()?.pause(),
    resume: () => connection()?.resume(),
    destroy: () => connection()?.close(),
  });
  const reader = answerReader({
    headers(status, headers) {
      const refusal = refused?.(status);
      if (refusal === undefined) exchange.headers(status, headers);
      else exchange.fail(refusal);
    },
    data: exchange.data,
    end() {
      exchange.end();
      connection()?.close();
    },
    fail: exchange.fail,
  });
  let rest = bytes;
  const send = (): void => {
    if (rest.length > 0) rest = rest.subarray(connection()?.write(rest) ?? 0);
  };
  return {
    answer: exchange.answer,
    fail: exchange.fail,
    events: {
      open() {
        exchange.connected();
        send();
      },
      data: reader.push,
      room() {
        exchange.progress();
        send();
      },
      closed: reader.closed,
    },
  };
}
