import type { Clock } from '../../core/io.ts';
import { isObject, type JsonObject, parseJson } from '../../core/json.ts';
import type { Fetch } from './fetch.ts';
import { saveTokens } from './oauth-provider.ts';
import type { SignInStore } from './oauth-store.ts';
import { parseObject } from './remote-values.ts';

/**
 * The same way to send, but of two processes that would refresh the same token only one does: many servers take a refresh token
 * once, and the loser would have to sign in again. The other gets what the first was given.
 */
export function oneRefreshAtATime(send: Fetch, store: SignInStore, clock: Pick<Clock, 'now'>): Fetch {
  return (input, init) => {
    const spent = refreshTokenIn(init);
    if (spent === undefined) return send(input, init);
    return store.exclusively(init?.signal ?? new AbortController().signal, async () => {
      const { tokens, expiresAt } = store.read();
      const isFresh = tokens !== undefined && tokens.refresh_token !== spent && (expiresAt ?? Infinity) > clock.now();
      if (isFresh) return Response.json(tokens);
      const response = await send(input, init);
      const text = await response.text();
      const given = parseJson(text);
      // Kept before the lock is let go; the SDK will do it a second time.
      if (response.ok && isObject(given)) await saveTokens(store, clock, stamped(parseObject(given), tokens));
      return new Response(text, { status: response.status, headers: response.headers });
    });
  };
}

function refreshTokenIn(init: RequestInit | undefined): string | undefined {
  const { body } = init ?? {};
  const form =
    body instanceof URLSearchParams || typeof body === 'string' ? new URLSearchParams(String(body)) : undefined;
  return form?.get('grant_type') === 'refresh_token' ? (form.get('refresh_token') ?? undefined) : undefined;
}

/** The SDK's mark of who gave them. */
function stamped(given: JsonObject, before: JsonObject | undefined): JsonObject {
  return typeof before?.issuer === 'string' ? { ...given, issuer: before.issuer } : given;
}
