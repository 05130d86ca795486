import { AppError } from '../../core/error.ts';
import type { Clock, Env, HttpResponse, HttpTimers, SendHttp, Trace } from '../../core/io.ts';
import { isLoopback } from '../../core/text/url.ts';
import type { Address } from './agent.ts';
import { openDirectClient } from './direct.ts';
import type { RequestContext } from './exchange.ts';

interface HttpOptions {
  readonly timers: HttpTimers;
  readonly env: Env;
  readonly trace?: Trace;
  readonly clock: Pick<Clock, 'now'>;
  /** The only addresses to connect to, unless a proxy does; undefined: what the host resolves to. May throw. */
  readonly addresses?: (url: URL, signal: AbortSignal) => Promise<readonly Address[] | undefined>;
}

interface HttpClient {
  /** Does not follow redirects. The connection is in use until the body is read or closed. */
  readonly send: SendHttp;
  /** Opens a connection for the next request there, unless a proxy applies. Ignores failures. */
  preconnect(url: URL): void;
  /** Closes all connections. Idle ones do not keep the process alive, so a run that ends may leave them open. */
  close(): void;
}

/** Uses Node's own clients; undici, which is loaded on first use, if a proxy applies. */
export function createHttpClient({ timers, env, trace, clock, addresses }: HttpOptions): HttpClient {
  const direct = openDirectClient({ clock });
  return {
    async send(request, signal) {
      signal.throwIfAborted();
      const proxy = findProxy(request.url, env);
      const waits = request.timers === undefined ? timers : { ...timers, ...request.timers };
      const plain: RequestContext = { request, signal, timers: waits };
      const context = trace === undefined ? plain : traceRequest(plain, { trace, clock }, proxy);
      const only = addresses === undefined ? undefined : await addresses(request.url, signal);
      return decompressResponse(await (proxy ? sendProxied(context, proxy) : direct.send(context, only)));
    },
    preconnect(url) {
      if (findProxy(url, env) === undefined) direct.preconnect(url);
    },
    close: direct.close,
  };
}

function traceRequest(
  context: RequestContext,
  { trace, clock }: { readonly trace: Trace; readonly clock: Pick<Clock, 'now'> },
  proxy: URL | undefined,
): RequestContext {
  const { method, url, body, isSecret } = context.request;
  const start = clock.now();
  const where = `${method} ${url.host}${isSecret ? '/…' : url.pathname}`;
  trace(`${where}, ${Buffer.byteLength(body ?? '')} bytes${proxy ? `, through proxy ${proxy.host}` : ''}`);
  return {
    ...context,
    onSentAgain: () => trace(`${where}: the kept connection was dead, sent again on a new one`),
    onHeaders: (status) => trace(`${where}: ${status} after ${clock.now() - start} ms`),
    onClose: (bytes) => trace(`${where}: closed, ${bytes} bytes in ${clock.now() - start} ms`),
  };
}

async function sendProxied(context: RequestContext, proxy: URL): Promise<HttpResponse> {
  const { sendThroughProxy } = await import('./proxy.ts');
  context.signal.throwIfAborted();
  return sendThroughProxy(context, proxy);
}

export async function decompressResponse(response: HttpResponse): Promise<HttpResponse> {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return response;
  const { decompress } = await import('./decompress.ts');
  return { ...response, body: await decompress(response.body, encoding) };
}

/**
 * The proxy for this URL; undefined for a direct connection. `HTTPS_PROXY` or `HTTP_PROXY` by the URL's scheme, else
 * `ALL_PROXY`; upper case before lower case. `NO_PROXY` lists exceptions: `*`, a host (and its sub-domains), with or
 * without a port. Loopback is excepted unless `NO_PROXY` holds `<-loopback>`; a cloud metadata server always is. Throws
 * AppError `config`, without quoting the value, if the variable does not name an http(s) proxy.
 */
export function findProxy(url: URL, env: Env): URL | undefined {
  const scheme = url.protocol === 'https:' ? 'HTTPS' : 'HTTP';
  const name = [`${scheme}_PROXY`, 'ALL_PROXY']
    .flatMap((key) => [key, key.toLowerCase()])
    .find((key) => env[key]?.trim());
  if (name === undefined) return undefined;
  const exceptions = (env.NO_PROXY ?? env.no_proxy ?? '').split(/[\s,]+/).filter((entry) => entry !== '');
  if (isMetadataServer(url.hostname)) return undefined;
  if (isLocal(url.hostname) && !exceptions.includes('<-loopback>')) return undefined;
  if (exceptions.some((entry) => isException(url, entry.toLowerCase()))) return undefined;
  return parseProxy(name, env[name]?.trim() ?? '');
}

/** Names that a proxy would resolve to its own machine. Wider than `isLoopback`, which is about credentials. */
function isLocal(hostname: string): boolean {
  const host = hostname.replace(/\.$/, '');
  return isLoopback(host) || host.endsWith('.localhost');
}

/** A metadata server issues tokens to any caller on this machine; a proxy would get its own, or see ours. */
function isMetadataServer(hostname: string): boolean {
  return toBareHost(hostname) === 'metadata.google.internal' || /^169\.254(?:\.\d{1,3}){2}$/.test(hostname);
}

function isException(url: URL, entry: string): boolean {
  if (entry === '*') return true;
  const { host, port } = splitPort(entry);
  if (port !== undefined && port !== (url.port || (url.protocol === 'https:' ? '443' : '80'))) return false;
  const suffix = toBareHost(host).replace(/^\*?\./, '');
  const target = toBareHost(url.hostname);
  return suffix !== '' && (target === suffix || target.endsWith(`.${suffix}`));
}

function splitPort(entry: string): { readonly host: string; readonly port?: string } {
  const match = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(entry);
  return match?.[1] === undefined || match[2] === undefined ? { host: entry } : { host: match[1], port: match[2] };
}

function toBareHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}

function parseProxy(name: string, value: string): URL {
  const text = /^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const proxy = URL.canParse(text) ? new URL(text) : undefined;
  if (proxy?.hostname && (proxy.protocol === 'http:' || proxy.protocol === 'https:')) return proxy;
  throw new AppError('config', `${name} does not name an http or https proxy`, {
    hint: `Example: ${name}=http://proxy.example:3128`,
  });
}
