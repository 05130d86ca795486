import type { HttpResponse } from '../../../core/io.ts';
import { type Call, openCall, targetOf } from '../../http/direct.ts';
import type { Dispatch } from '../../http/exchange.ts';
import { basicToken, type Peer, peerOf, proxyPeer, proxyRefusal } from '../../http/failure.ts';
import { answerReader, requestBytes, tunnelBytes } from '../../http/http1.ts';
import type { sendThroughProxy as sendThroughProxyNode } from '../../http/proxy.ts';
import { type Connection, connect } from './connection.ts';

/** Same contract as on Node, on Bun's sockets. */
export const sendThroughProxy: typeof sendThroughProxyNode = async (dispatch, proxy) =>
  dispatch.request.url.protocol === 'https:' ? sendThroughTunnel(dispatch, proxy) : sendToProxy(dispatch, proxy);

function sendToProxy(dispatch: Dispatch, proxy: URL): Promise<HttpResponse> {
  const { request } = dispatch;
  const { url } = request;
  let connection: Connection | undefined;
  let isThrough = false;
  const call = openCall({
    dispatch,
    bytes: requestBytes(request, `${url.origin}${url.pathname}${url.search}`, authorization(proxy)),
    peer: () => peerBehind(proxy, url, isThrough),
    connection: () => connection,
    refused: (status) => (status === 407 ? proxyRefusal(proxy, status) : undefined),
  });
  const open = (): void => {
    isThrough = true;
    call.events.open();
  };
  connection = connect(targetOf(proxy), { ...call.events, open });
  return call.answer;
}

function sendThroughTunnel(dispatch: Dispatch, proxy: URL): Promise<HttpResponse> {
  const { request } = dispatch;
  const { url } = request;
  let connection: Connection | undefined;
  let isThrough = false;
  const call = openCall({
    dispatch,
    bytes: requestBytes(request),
    peer: () => peerBehind(proxy, url, isThrough),
    connection: () => connection,
  });
  const reader = tunnelReader(call, (status) => {
    isThrough = status === 200;
    if (isThrough) connection?.secure(url.hostname.replace(/^\[|\]$/g, ''), call.events);
    else call.fail(proxyRefusal(proxy, status));
  });
  connection = connect(targetOf(proxy), {
    open: () => void connection?.write(tunnelBytes(url, authorization(proxy))),
    data(chunk) {
      // The server sent data before the handshake: that is not TLS.
      if (reader.push(chunk).length > 0 && isThrough) call.fail(Object.assign(new Error('no TLS'), { code: 'EPROTO' }));
    },
    room: () => {},
    closed: reader.closed,
  });
  return call.answer;
}

/** Reads the proxy's response to CONNECT. */
function tunnelReader(call: Call, answered: (status: number) => void): ReturnType<typeof answerReader> {
  let isAnswered = false;
  return answerReader(
    {
      headers(status) {
        isAnswered = true;
        answered(status);
      },
      data: () => {},
      end: () => {},
      fail: (error) => isAnswered || call.fail(error),
    },
    { isTunnel: true },
  );
}

function authorization(proxy: URL): Readonly<Record<string, string>> {
  return proxy.username === '' ? {} : { 'proxy-authorization': basicToken(proxy) };
}

/** Until the server is reached, every failure is the proxy's. */
function peerBehind(proxy: URL, url: URL, isThrough: boolean): Peer {
  const peer = proxyPeer(proxy);
  return isThrough ? { ...peer, name: `${peerOf(url).name} through proxy ${proxy.host}` } : peer;
}
