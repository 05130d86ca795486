import type { HttpResponse } from '../../../core/io.ts';
import type { RequestContext } from '../../http/exchange.ts';
import { formatBasicAuth, type Peer, proxyError, toPeer, toProxyPeer } from '../../http/failure.ts';
import type { sendThroughProxy as sendThroughProxyNode } from '../../http/proxy.ts';
import { type Connection, connect } from './connection.ts';
import { type OutgoingRequest, openRequest, toTarget } from './direct.ts';
import { encodeConnect, encodeRequest, responseReader } from './http1.ts';

export const sendThroughProxy: typeof sendThroughProxyNode = async (context, proxy) =>
  context.request.url.protocol === 'https:' ? sendThroughTunnel(context, proxy) : sendToProxy(context, proxy);

function sendToProxy(context: RequestContext, proxy: URL): Promise<HttpResponse> {
  const { request } = context;
  const { url } = request;
  let connection: Connection | undefined;
  let isThrough = false;
  const call = openRequest({
    context,
    bytes: encodeRequest(request, `${url.origin}${url.pathname}${url.search}`, toProxyHeaders(proxy)),
    peer: () => toProxiedPeer(proxy, url, isThrough),
    connection: () => connection,
    refused: (status) => (status === 407 ? proxyError(proxy, status) : undefined),
  });
  const open = (): void => {
    isThrough = true;
    call.events.open();
  };
  connection = connect(toTarget(proxy), { ...call.events, open });
  return call.answer;
}

function sendThroughTunnel(context: RequestContext, proxy: URL): Promise<HttpResponse> {
  const { request } = context;
  const { url } = request;
  let connection: Connection | undefined;
  let isThrough = false;
  const call = openRequest({
    context,
    bytes: encodeRequest(request),
    peer: () => toProxiedPeer(proxy, url, isThrough),
    connection: () => connection,
  });
  const reader = tunnelReader(call, (status) => {
    isThrough = status === 200;
    if (isThrough) connection?.secure(url.hostname.replace(/^\[|\]$/g, ''), call.events);
    else call.fail(proxyError(proxy, status));
  });
  connection = connect(toTarget(proxy), {
    open: () => void connection?.write(encodeConnect(url, toProxyHeaders(proxy))),
    data(chunk) {
      // The server sent data before the handshake: that is not TLS.
      if (reader.push(chunk).length > 0 && isThrough) call.fail(Object.assign(new Error('no TLS'), { code: 'EPROTO' }));
    },
    room: () => {},
    closed: reader.closed,
  });
  return call.answer;
}

function tunnelReader(call: OutgoingRequest, onAnswer: (status: number) => void): ReturnType<typeof responseReader> {
  let isAnswered = false;
  return responseReader(
    {
      headers(status) {
        isAnswered = true;
        onAnswer(status);
      },
      data: () => {},
      end: () => {},
      fail: (error) => isAnswered || call.fail(error),
    },
    { isTunnel: true },
  );
}

function toProxyHeaders(proxy: URL): Readonly<Record<string, string>> {
  return proxy.username === '' ? {} : { 'proxy-authorization': formatBasicAuth(proxy) };
}

/** Until the server is reached, every failure is the proxy's. */
function toProxiedPeer(proxy: URL, url: URL, isThrough: boolean): Peer {
  const peer = toProxyPeer(proxy);
  return isThrough ? { ...peer, name: `${toPeer(url).name} through proxy ${proxy.host}` } : peer;
}
