import { AppError } from '../../../core/error.ts';
import type { Env } from '../../../core/io.ts';
import type { Address } from '../../../platform/http/agent.ts';
import { classifyNetwork, resolveAddresses, resolveHost } from '../../../platform/http/pinned.ts';
import { findProxy } from '../../../platform/http/send.ts';

export type Reach = ReturnType<typeof createReach>;

interface ReachOptions {
  readonly env: Env;
  readonly resolve?: (host: string) => Promise<readonly Address[]>;
}

/**
 * Which addresses a server may send gmn and the browser to: its OAuth metadata names URLs of its own choice. One on the public internet may lead only there; one on this machine or in a private network also to its own
 * network. Otherwise it could make gmn request what only this machine can reach.
 */
export function createReach(serverUrl: string, { env, resolve = resolveHost }: ReachOptions) {
  const server = new URL(serverUrl);
  let own: Promise<string | undefined> | undefined;
  const findAddresses = async (url: URL, signal: AbortSignal): Promise<readonly Address[] | undefined> => {
    const isProxied = findProxy(url, env) !== undefined;
    // A proxy resolves names itself; a literal IP address is still checked.
    const known = isProxied ? async () => [] : resolve;
    return resolveAddresses(url, known, signal);
  };
  const findOwnNetwork = async (signal: AbortSignal): Promise<string | undefined> => {
    const networks = new Set((await findAddresses(server, signal))?.map(({ address }) => classifyNetwork(address)));
    return networks.size === 1 ? [...networks][0] : undefined;
  };
  return {
    /**
     * The only addresses to connect to for a URL; undefined for the server itself, or behind a proxy, which resolves
     * names itself. Throws AppError `mcp` if one of them is in a network that the server is not in.
     */
    async addresses(url: URL, signal: AbortSignal): Promise<readonly Address[] | undefined> {
      if (url.origin === server.origin) return undefined;
      const addresses = (await findAddresses(url, signal)) ?? [];
      const closed = addresses.filter(({ address }) => classifyNetwork(address) !== 'public');
      const [first] = closed;
      if (first !== undefined) {
        own ??= findOwnNetwork(signal);
        const network = await own;
        const outside = closed.find(({ address }) => classifyNetwork(address) !== network);
        if (outside !== undefined) throw outOfReachError(url, outside.address);
      }
      return addresses.length === 0 ? undefined : addresses;
    },
  };
}

function outOfReachError(url: URL, address: string): AppError {
  const where = url.hostname.includes(address) ? url.hostname : `${url.hostname} (${address})`;
  return new AppError(
    'mcp',
    `its sign-in leads to ${where}, which is not on the open internet, nor where the server is`,
    {
      hint: 'Such a server must not lead gmn there. If it is yours, give it an address in the same network.',
    },
  );
}
