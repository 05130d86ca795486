import type { HttpResponse } from '../../../core/io.ts';
import type { Address } from '../../http/agent.ts';
import type { openDirectClient as openDirectClientNode } from '../../http/direct.ts';
import { openExchange, type RequestContext } from '../../http/exchange.ts';
import { type Peer, toPeer } from '../../http/failure.ts';
import { type Connection, type ConnectionEvents, connect, type Target } from './connection.ts';
import { encodeRequest, responseReader } from './http1.ts';

/** Same contract as on Node, on Bun's sockets, but every request has a connection of its own. */
export const openDirectClient: typeof openDirectClientNode = () => ({
  send: sendDirect,
  preconnect: () => {},
  close: () => {},
});

async function sendDirect(context: RequestContext, addresses?: readonly Address[]): Promise<HttpResponse> {
  const { url } = context.request;
  const peer = toPeer(url);
  let connection: Connection | undefined;
  const call = openRequest({
    context,
    bytes: encodeRequest(context.request),
    peer: () => peer,
    connection: () => connection,
  });
  connection = connect({ ...toTarget(url), addresses }, call.events);
  return call.answer;
}

export function toTarget({ protocol, hostname, port }: URL): Target {
  const isTls = protocol === 'https:';
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return { host, port: Number(port || (isTls ? 443 : 80)), isTls };
}

export interface OutgoingRequest {
  readonly answer: Promise<HttpResponse>;
  readonly events: ConnectionEvents;
  fail(error: unknown): void;
}

interface OutgoingOptions {
  readonly context: RequestContext;
  readonly bytes: Buffer;
  readonly peer: () => Peer;
  readonly connection: () => Connection | undefined;
  readonly refused?: (status: number) => Error | undefined;
}

export function openRequest({ context, bytes, peer, connection, refused }: OutgoingOptions): OutgoingRequest {
  const exchange = openExchange(context, {
    peer,
    pause: () => connection()?.pause(),
    resume: () => connection()?.resume(),
    destroy: () => connection()?.close(),
  });
  const reader = responseReader({
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
  const bodyBytes = Buffer.byteLength(context.request.body ?? '');
  let rest = bytes;
  const send = (): void => {
    if (rest.length === 0) return;
    rest = rest.subarray(connection()?.write(rest) ?? 0);
    exchange.progress(Math.max(0, bodyBytes - rest.length));
  };
  return {
    answer: exchange.answer,
    fail: exchange.fail,
    events: {
      open() {
        exchange.onConnected();
        send();
      },
      data: reader.push,
      room: send,
      closed: reader.closed,
    },
  };
}
