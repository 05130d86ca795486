import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import { type buildConnector, Client, type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { HttpRequest, HttpResponse } from '../../core/io.ts';
import { openExchange, type RequestContext, SLICE_BYTES, toBytes } from './exchange.ts';
import { formatBasicAuth, proxyError, toPeer, toProxyPeer } from './failure.ts';

const NO_TIMERS = { headersTimeout: 0, bodyTimeout: 0 };
const NO_CONNECT_TIMER = { timeout: 0 };

/** https through a tunnel, http as a request to the proxy. Its errors never show its credentials. */
export async function sendThroughProxy(context: RequestContext, proxy: URL): Promise<HttpResponse> {
  const { request } = context;
  let isThrough = false;
  let controller: Dispatcher.DispatchController | undefined;
  const agent = request.url.protocol === 'https:' ? tunnelAgent(proxy, onTunnel) : new Client(proxy.origin, CLIENT);
  const exchange = openExchange(context, {
    // Until the server is reached, every failure is the proxy's.
    peer: () =>
      isThrough
        ? { ...toProxyPeer(proxy), name: `${toPeer(request.url).name} through proxy ${proxy.host}` }
        : toProxyPeer(proxy),
    pause: () => controller?.pause(),
    resume: () => controller?.resume(),
    destroy: () => agent.destroy(null, () => {}),
  });

  function onTunnel(outcome: number | Error): void {
    isThrough = outcome === 200;
    if (outcome !== 200) exchange.fail(typeof outcome === 'number' ? proxyError(proxy, outcome) : outcome);
  }

  agent.dispatch(toDispatchOptions(request, proxy, exchange.progress), {
    onRequestStart(started) {
      controller = started;
      isThrough = true;
      exchange.onConnected();
    },
    onResponseStart(_, status, headers) {
      if (status === 407) exchange.fail(proxyError(proxy, status));
      else if (status >= 200) exchange.headers(status, headers);
    },
    onResponseData: (_, chunk) => exchange.data(chunk),
    onResponseEnd() {
      exchange.end();
      agent.destroy(null, () => {});
    },
    onResponseError: (_, error) => exchange.fail(error),
  });
  return exchange.answer;
}

const CLIENT = { connect: NO_CONNECT_TIMER };

function toDispatchOptions(
  request: HttpRequest,
  proxy: URL,
  progress: (bytes: number) => void,
): Dispatcher.DispatchOptions {
  const { url, method } = request;
  const isTunnel = url.protocol === 'https:';
  const body = request.body === undefined ? null : toBytes(request.body);
  const headers: Record<string, string> = { ...request.headers };
  if (body) headers['content-length'] = String(body.length);
  if (!isTunnel) {
    headers.host = url.host;
    if (proxy.username !== '') headers['proxy-authorization'] = formatBasicAuth(proxy);
  }
  return {
    origin: isTunnel ? url.origin : proxy.origin,
    path: isTunnel ? `${url.pathname}${url.search}` : `${url.origin}${url.pathname}${url.search}`,
    method,
    headers,
    body: body && body.length > SLICE_BYTES ? Readable.from(sliceBody(body, progress)) : body,
    ...NO_TIMERS,
  };
}

function* sliceBody(body: Buffer, progress: (bytes: number) => void): Generator<Uint8Array> {
  for (let start = 0; start < body.length; start += SLICE_BYTES) {
    progress(start);
    yield body.subarray(start, start + SLICE_BYTES);
  }
}

function tunnelAgent(proxy: URL, report: (outcome: number | Error) => void): ProxyAgent {
  const watch: Dispatcher.DispatcherComposeInterceptor = (send) => (options, handler) =>
    send(options, {
      onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
      onRequestUpgrade(controller, status, headers, socket) {
        report(status);
        handler.onRequestUpgrade?.(controller, status, headers, socket);
      },
      onResponseError(controller, error) {
        // Otherwise undici would connect again and again to a proxy that hangs up.
        report(error);
        handler.onResponseError?.(controller, error);
      },
    });
  return new ProxyAgent({
    uri: proxy.origin,
    token: proxy.username === '' ? undefined : formatBasicAuth(proxy),
    proxyTls: NO_CONNECT_TIMER,
    requestTls: NO_CONNECT_TIMER,
    clientFactory: (origin, { connect }: { readonly connect?: buildConnector.connector }) =>
      new Pool(origin, { ...NO_TIMERS, connect: connect && omitIpServerName(connect) }).compose(watch),
  });
}

/** TLS server names cannot be IP addresses: undici sets them anyway, and Node warns on stderr (DEP0123). */
function omitIpServerName(connect: buildConnector.connector): buildConnector.connector {
  return ({ servername, ...options }, callback) => {
    const isName = servername && !isIP(servername.replace(/^\[|\]$/g, ''));
    connect(isName ? { ...options, servername } : options, callback);
  };
}
