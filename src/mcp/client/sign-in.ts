import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { connectServer } from './connect.ts';
import type { NamedServer, RemoteDefinition } from './definition.ts';
import { openSignInStore } from './oauth/store.ts';
import type { ClientContext, SignInPrompt } from './types.ts';

/** The stored state of a sign-in; the server is not asked. */
export interface SignInStatus {
  readonly isSignedIn: boolean;
  /**
   * When the access token expires, in milliseconds since the epoch; if `isRefreshable`, it is refreshed automatically.
   */
  readonly expiresAt?: number;
  readonly isRefreshable: boolean;
}

interface SignInContext extends ClientContext {
  readonly signIn: SignInPrompt;
}

/**
 * Has the person sign in unless an earlier sign-in is still valid, and connects to verify it. `false`: the server needs
 * no sign-in. Throws AppError `usage` for a stdio server, and as `connect` does.
 */
export async function signIn(server: NamedServer, context: SignInContext, signal: AbortSignal): Promise<boolean> {
  const definition = requireRemote(server);
  const connection = await connectServer(server, context, signal);
  await connection.close();
  return readSignInStatus(definition, context).isSignedIn;
}

/** Removes the tokens and the client registration. False if there were none. Throws AppError. */
export async function signOut(server: NamedServer, context: Pick<ClientContext, 'homes' | 'clock'>): Promise<boolean> {
  return openSignInStore(requireRemote(server).url, context).remove();
}

/** Throws AppError `config` if the file cannot be read. */
export function readSignInStatus(
  { url }: RemoteDefinition,
  context: Pick<ClientContext, 'homes' | 'clock'>,
): SignInStatus {
  const { tokens, expiresAt } = openSignInStore(url, context).read();
  return {
    isSignedIn: tokens !== undefined,
    isRefreshable: tokens?.refresh_token !== undefined,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

function requireRemote({ name, definition }: NamedServer): RemoteDefinition {
  if (definition.kind !== 'stdio') return definition;
  throw new AppError(
    'usage',
    `MCP server ${sanitize(name)} is a program on this machine: there is nothing to sign in to`,
    {
      hint: 'What it needs goes into its "env" in the settings.',
    },
  );
}
