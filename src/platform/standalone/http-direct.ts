import type { sendDirect as sendDirectNode } from '../http-direct.ts';
import { peerOf } from '../http-failure.ts';
import { type Connection, connect, type Target } from './connection.ts';
import { openCall } from './http-call.ts';
import { requestBytes } from './http-request.ts';

/** The same promise, on the sockets of the runtime. */
export const sendDirect: typeof sendDirectNode = async (dispatch, addresses) => {
  const { url } = dispatch.request;
  const peer = peerOf(url);
  let connection: Connection | undefined;
  const call = openCall({
    dispatch,
    bytes: requestBytes(dispatch.request),
    peer: () => peer,
    connection: () => connection,
  });
  const hosts = addresses?.map(({ address }) => address);
  connection = connect(targetOf(url, hosts), call.events);
  return call.answer;
};

/** Where a URL leads to, by its host or by these addresses of it. */
export function targetOf({ protocol, hostname, port }: URL, hosts?: readonly string[]): Target {
  const name = hostname.replace(/^\[|\]$/g, '');
  const isTls = protocol === 'https:';
  return { hosts: hosts ?? [name], port: Number(port) || (isTls ? 443 : 80), ...(isTls ? { secureName: name } : {}) };
}
