import type { Clock } from '../../../core/io.ts';
import { isObject, parseJson } from '../../../core/json.ts';
import type { Fetch } from '../fetch.ts';
import { parseObject } from '../parse.ts';
import { saveTokens } from './provider.ts';
import type { SignInStore } from './store.ts';

/**
 * The same way to send, but of two processes that would refresh the same token only one does: many servers take a refresh token
 * once, and the loser would have to sign in again. The other gets what the first was given, by the same issuer.
 */
export function oneRefreshAtATime(send: Fetch, { store, clock, issuer }: RefreshOptions): Fetch {
  return (input, init) => {
    const spent = refreshTokenIn(init);
    const asked = issuer();
    if (spent === undefined || asked === undefined) return send(input, init);
    return store.exclusively(init?.signal ?? new AbortController().signal, async (change) => {
      const { tokens, expiresAt } = store.read(asked);
      const isFresh = tokens !== undefined && tokens.refresh_token !== spent && (expiresAt ?? Infinity) > clock.now();
      if (isFresh) return Response.json(tokens);
      const response = await send(input, init);
      const text = await response.text();
      const given = parseJson(text);
      // Kept before the lock is let go. Who does not repeat the refresh token lets it stay.
      if (response.ok && isObject(given))
        await saveTokens({ change, clock }, asked, { refresh_token: spent, ...parseObject(given) });
      return new Response(text, { status: response.status, headers: response.headers });
    });
  };
}

interface RefreshOptions {
  readonly store: SignInStore;
  readonly clock: Pick<Clock, 'now'>;
  /** Who is asked. */
  readonly issuer: () => string | undefined;
}

function refreshTokenIn(init: RequestInit | undefined): string | undefined {
  const { body } = init ?? {};
  const form =
    body instanceof URLSearchParams || typeof body === 'string' ? new URLSearchParams(String(body)) : undefined;
  return form?.get('grant_type') === 'refresh_token' ? (form.get('refresh_token') ?? undefined) : undefined;
}
