import { lookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import { raceWithAbort } from '../../core/async.ts';
import { AppError } from '../../core/error.ts';
import type { HttpTimers, SendHttp } from '../../core/io.ts';
import type { Address } from './agent.ts';
import { openDirectClient } from './direct.ts';
import { networkError, toPeer } from './failure.ts';
import { decompressResponse } from './send.ts';

interface PinnedOptions {
  /** One disallowed address among those of a host rejects the host. */
  readonly isAllowedAddress: (address: string) => boolean;
  readonly timers: HttpTimers;
  readonly resolve?: (host: string) => Promise<readonly Address[]>;
}

/**
 * A client for untrusted URLs, GET only: resolves the host once, checks all addresses, and connects to one of those
 * only, so that a second DNS answer cannot redirect it. No proxy, no redirects, no credentials except the given
 * headers. Throws AppError `api`, also for a disallowed address.
 */
export function createPinnedClient({ isAllowedAddress, timers, resolve = resolveHost }: PinnedOptions): SendHttp {
  const direct = openDirectClient();
  return async (request, signal) => {
    const addresses = await resolveAddresses(request.url, resolve, signal);
    signal.throwIfAborted();
    const refused = addresses.find(({ address }) => !isAllowedAddress(address));
    if (refused !== undefined) throw addressError(request.url, refused.address);
    const { url, headers } = request;
    return decompressResponse(
      await direct.send({ request: { method: 'GET', url, headers }, signal, timers }, addresses),
    );
  };
}

export function resolveHost(host: string): Promise<readonly Address[]> {
  return lookup(host, { all: true, verbatim: true });
}

/** A host that is an address is not resolved: that very address is checked. Throws AppError `api`. */
export async function resolveAddresses(
  url: URL,
  resolve: (host: string) => Promise<readonly Address[]>,
  signal: AbortSignal,
): Promise<readonly Address[]> {
  signal.throwIfAborted();
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  try {
    return await raceWithAbort(resolve(host), signal);
  } catch (thrown) {
    signal.throwIfAborted();
    throw networkError(thrown, 'connect', toPeer(url));
  }
}

function addressError(url: URL, address: string): AppError {
  const what = url.hostname.includes(address) ? '' : ` (${address})`;
  return new AppError('api', `${url.hostname}${what} is not an address of the open internet`, {
    hint: 'Only public web servers can be fetched.',
  });
}

/** Special IPv4 ranges: https://www.iana.org/assignments/iana-ipv4-special-registry */
const SPECIAL_IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
];

/** Inside 2000::/3, the only block that is routed: https://www.iana.org/assignments/iana-ipv6-special-registry */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

/**
 * Whether an address is on the public internet: not this machine, a private network, link-local, a cloud metadata
 * service, nor one that embeds such an IPv4 address. False for anything that is not an address.
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !toBlockList('ipv4', SPECIAL_IPV4).check(address, 'ipv4');
  if (!isIPv6(address) || address.includes('%')) return false;
  const embedded = findEmbeddedIpv4(address);
  if (embedded !== undefined) return isPublicAddress(embedded);
  return (
    toBlockList('ipv6', ['2000::/3']).check(address, 'ipv6') &&
    !toBlockList('ipv6', SPECIAL_IPV6).check(address, 'ipv6')
  );
}

/** https://www.rfc-editor.org/rfc/rfc1918, rfc6598 and rfc4193. */
const PRIVATE_IPV4 = ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16'];

/** `special` is every other address that is not public, such as link-local and multicast. */
export function classifyNetwork(address: string): 'public' | 'loopback' | 'private' | 'special' {
  if (isPublicAddress(address)) return 'public';
  if (isIPv4(address)) {
    if (toBlockList('ipv4', ['127.0.0.0/8']).check(address, 'ipv4')) return 'loopback';
    return toBlockList('ipv4', PRIVATE_IPV4).check(address, 'ipv4') ? 'private' : 'special';
  }
  if (!isIPv6(address) || address.includes('%')) return 'special';
  if (toBlockList('ipv6', ['::1/128']).check(address, 'ipv6')) return 'loopback';
  return toBlockList('ipv6', ['fc00::/7']).check(address, 'ipv6') ? 'private' : 'special';
}

/** Networks without IPv4 reach it through 64:ff9b::/96, so the embedded address decides. */
function findEmbeddedIpv4(address: string): string | undefined {
  if (!toBlockList('ipv6', ['64:ff9b::/96']).check(address, 'ipv6')) return undefined;
  // The URL parser normalizes the address: at most two groups after the last `::`.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')[1]?.split(':') ?? [];
  const [high = 0, low = 0] = [0, 0, ...groups].slice(-2).map((group) => Number.parseInt(String(group), 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

function toBlockList(family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}
