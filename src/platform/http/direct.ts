import type { HttpResponse } from '../../core/http.ts';
import { openCall } from './call.ts';
import { type Address, type Connection, connect, type Target } from './connection.ts';
import type { Dispatch } from './exchange.ts';
import { peerOf } from './failure.ts';
import { requestBytes } from './http1.ts';

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
