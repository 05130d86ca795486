import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { connectServer } from './connect.ts';
import type { NamedServer, RemoteDefinition } from './definition.ts';
import { openSignInStore } from './oauth/store.ts';
import type { ClientContext } from './types.ts';

/** Read from the store; the server is not asked. */
export interface SignInStatus {
  readonly isSignedIn: boolean;
  /** In milliseconds since the epoch. If `isRefreshable`, the access token is refreshed automatically. */
  readonly expiresAt?: number;
  readonly isRefreshable: boolean;
}

/** Skips the browser if an earlier sign-in is still valid. False: the server needs none. Throws as `Connect` does. */
export async function signIn(server: NamedServer, context: ClientContext, signal: AbortSignal): Promise<boolean> {
  const definition = requireRemote(server);
  const connection = await connectServer(server, context, signal);
  await connection.close();
  return readSignInStatus(definition, context).isSignedIn;
}

export async function signOut(server: NamedServer, context: Pick<ClientContext, 'homes' | 'clock'>): Promise<boolean> {
  return openSignInStore(requireRemote(server).url, context).remove();
}

export function readSignInStatus(
  { url }: RemoteDefinition,
  context: Pick<ClientContext, 'homes' | 'clock'>,
): SignInStatus {
  const { tokens, expiresAt } = openSignInStore(url, context).read();
  return {
    isSignedIn: tokens !== undefined,
    isRefreshable: tokens?.refresh_token !== undefined,
    expiresAt,
  };
}

function requireRemote({ name, definition }: NamedServer): RemoteDefinition {
  if (definition.kind !== 'stdio') return definition;
  throw new AppError(
    'usage',
    `MCP server ${sanitize(name)} is a program on this machine: there is nothing to sign in to`,
    {
      hint: 'Put its credentials into "env" of its entry in the settings.',
    },
  );
}
