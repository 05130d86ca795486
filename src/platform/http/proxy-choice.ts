import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { isLoopback } from '../../core/text/url.ts';

/**
 * The proxy for this URL, or undefined for a direct connection. `HTTPS_PROXY` or `HTTP_PROXY` by the URL's scheme, else
 * `ALL_PROXY`; upper case before lower case. `NO_PROXY` lists exceptions: `*`, a host (its sub-domains too), with or
 * without a port. Loopback is an exception by itself unless `NO_PROXY` holds `<-loopback>`; the metadata server of a cloud
 * machine always is one.
 * Throws AppError `config`, without quoting the value, if the variable does not name an http(s) proxy.
 */
export function proxyFor(url: URL, env: Env): URL | undefined {
  const scheme = url.protocol === 'https:' ? 'HTTPS' : 'HTTP';
  const name = [`${scheme}_PROXY`, 'ALL_PROXY']
    .flatMap((key) => [key, key.toLowerCase()])
    .find((key) => env[key]?.trim());
  if (name === undefined) return undefined;
  const exceptions = (env.NO_PROXY ?? env.no_proxy ?? '').split(/[\s,]+/).filter((entry) => entry !== '');
  if (isMetadataServer(url.hostname)) return undefined;
  if (isHere(url.hostname) && !exceptions.includes('<-loopback>')) return undefined;
  if (exceptions.some((entry) => isException(url, entry.toLowerCase()))) return undefined;
  return parseProxy(name, env[name]?.trim() ?? '');
}

/** Whether a proxy would look for it on the wrong machine: its own. Wider than what a credential may go to in plain text. */
function isHere(hostname: string): boolean {
  const host = hostname.replace(/\.$/, '');
  return isLoopback(host) || host.endsWith('.localhost');
}

/** It gives tokens to whoever asks from this machine; a proxy would ask for its own, or see ours. */
function isMetadataServer(hostname: string): boolean {
  return bareHost(hostname) === 'metadata.google.internal' || /^169\.254(?:\.\d{1,3}){2}$/.test(hostname);
}

function isException(url: URL, entry: string): boolean {
  if (entry === '*') return true;
  const { host, port } = splitPort(entry);
  if (port !== undefined && port !== (url.port || (url.protocol === 'https:' ? '443' : '80'))) return false;
  const suffix = bareHost(host).replace(/^\*?\./, '');
  const target = bareHost(url.hostname);
  return suffix !== '' && (target === suffix || target.endsWith(`.${suffix}`));
}

function splitPort(entry: string): { readonly host: string; readonly port?: string } {
  const match = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(entry);
  return match?.[1] === undefined || match[2] === undefined ? { host: entry } : { host: match[1], port: match[2] };
}

function bareHost(hostname: string): string {
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
