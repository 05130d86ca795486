import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { AppError } from '../../core/error.ts';
import type { HttpResponse, HttpTimers, SendHttp } from '../../core/http.ts';
import type { Address } from './connection.ts';
import { decompressed } from './decompress.ts';
import { sendDirect } from './direct.ts';
import { networkFailure, peerOf } from './failure.ts';

export interface PinnedOptions {
  /** Whether to connect to this IP address. One address of a host that is not allowed refuses the host. */
  readonly isAllowedAddress: (address: string) => boolean;
  readonly timers: HttpTimers;
  /** All addresses of a host; the system's resolver unless given. */
  readonly resolve?: (host: string) => Promise<readonly Address[]>;
}

/**
 * A client for URLs nobody vouches for, GET only: the host is resolved once, its addresses are judged, and the connection
 * goes to one of those and no other, whatever the name resolves to by then. No proxy, no redirects, no credentials but
 * the headers given. Throws AppError `api`, also for an address that is not allowed.
 */
export function sendPinned({ isAllowedAddress, timers, resolve = systemResolve }: PinnedOptions): SendHttp {
  return async (request, signal) => {
    const addresses = await addressesOf(request.url, resolve, signal);
    signal.throwIfAborted();
    const refused = addresses.find(({ address }) => !isAllowedAddress(address));
    if (refused !== undefined) throw notAllowed(request.url, refused.address);
    const { url, headers } = request;
    return decoded(await sendDirect({ request: { method: 'GET', url, headers }, signal, timers }, addresses));
  };
}

/** All addresses of a host, by the system's resolver. */
export function systemResolve(host: string): Promise<readonly Address[]> {
  return lookup(host, { all: true, verbatim: true });
}

/**
 * The addresses of a URL's host. Throws AppError `api` if there are none, and the signal's reason.
 * Node asks no resolver about a host that is an address, so the judged list must hold that very address.
 */
export async function addressesOf(
  url: URL,
  resolve: (host: string) => Promise<readonly Address[]>,
  signal: AbortSignal,
): Promise<readonly Address[]> {
  signal.throwIfAborted();
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([resolve(host), aborted]);
  } catch (thrown) {
    signal.throwIfAborted();
    throw networkFailure(thrown, 'connect', peerOf(url));
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function notAllowed(url: URL, address: string): AppError {
  const what = url.hostname.includes(address) ? '' : ` (${address})`;
  return new AppError('api', `${url.hostname}${what} is not an address of the open internet`, {
    hint: 'Only public web servers can be fetched.',
  });
}

async function decoded(response: HttpResponse): Promise<HttpResponse> {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return response;
  return { ...response, body: await decompressed(response.body, encoding) };
}
