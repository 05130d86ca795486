import type { Clock } from '../../../core/io.ts';
import { isObject, toJsonObject, tryParseJson } from '../../../core/json.ts';
import { checkEndpoint } from '../../../core/text/url.ts';
import type { RemoteDefinition } from '../definition.ts';
import type { Fetch } from '../fetch.ts';
import type { SdkAuthProvider } from '../sdk.ts';
import type { ClientContext, SignInPrompt } from '../types.ts';
import { type Callback, openCallback } from './callback.ts';
import { createOAuthProvider, saveTokens, signInRequiredError } from './provider.ts';
import type { Reach } from './reach.ts';
import { openSignInStore, type SignInStore } from './store.ts';

interface Authorization {
  readonly provider: SdkAuthProvider;
  readonly fetch: Fetch;
  finish: (query: URLSearchParams) => Promise<void>;
  /** The number of completed sign-ins: a request rejected before the latest is worth another try. */
  readonly signIns: () => number;
  readonly secrets: () => readonly string[];
  close(): Promise<void>;
}

/** Uses the tokens of an earlier sign-in, or has the person sign in. Undefined if neither is possible. */
export async function openAuthorization(
  definition: RemoteDefinition,
  context: ClientContext,
  { fetch, reach }: { readonly fetch: Fetch; readonly reach: Reach },
): Promise<Authorization | undefined> {
  const { signIn: prompt, clock } = context;
  if (!mayUseOAuth(definition)) return undefined;
  const store = openSignInStore(definition.url, context);
  const { tokens, redirectUrl: earlier } = store.read();
  if (prompt === undefined && tokens === undefined) return undefined;
  const fixed = definition.oauth?.redirectUri;
  const callback =
    prompt === undefined ? undefined : await openCallback(fixed ?? earlier, { isFixed: fixed !== undefined });
  let signIns = 0;
  const authorize = async (url: URL, state: string): Promise<void> => {
    if (prompt === undefined || callback === undefined) throw signInRequiredError();
    // The browser goes there too, so the address must be within reach.
    await reach.addresses(url, prompt.signal);
    const query = await waitForSignIn(url, state, callback, prompt);
    await authorization.finish(query);
    signIns += 1;
  };
  const provider = createOAuthProvider({
    definition,
    store,
    clock,
    redirectUrl: callback?.redirectUrl ?? earlier ?? 'http://127.0.0.1/callback',
    authorize,
    mayRegister: prompt !== undefined,
  });
  const authorization: Authorization = {
    provider,
    fetch: serializeRefresh(fetch, store, clock, provider.issuer),
    finish: () => Promise.reject(signInRequiredError()),
    signIns: () => signIns,
    secrets: () => Object.values(store.read().tokens ?? {}).filter((value) => typeof value === 'string'),
    close: async () => callback?.close(),
  };
  return authorization;
}

/** No token is sent over plain HTTP, and an authorization header that the user wrote is left alone. */
function mayUseOAuth({ url, headers, oauth }: RemoteDefinition): boolean {
  if (oauth?.isEnabled === false) return false;
  if (oauth === undefined && Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')) return false;
  try {
    checkEndpoint(url, 'url');
    return true;
  } catch {
    return false;
  }
}

async function waitForSignIn(
  url: URL,
  state: string,
  callback: Callback,
  prompt: SignInPrompt,
): Promise<URLSearchParams> {
  const resume = prompt.pause?.();
  const finished = new AbortController();
  const signal = AbortSignal.any([prompt.signal, finished.signal]);
  try {
    const waiting = callback.wait(state, signal).finally(() => finished.abort());
    const [query] = await Promise.all([waiting, showSignInUrl(url, callback, { ...prompt, signal })]);
    return query;
  } finally {
    finished.abort();
    resume?.();
  }
}

async function showSignInUrl(url: URL, callback: Callback, { show, paste, signal }: SignInPrompt): Promise<void> {
  await show(url.href);
  for (let isRefused = false; ; isRefused = true) {
    const address = await paste?.({ isRefused }, signal);
    if (address === undefined || callback.accept(address)) return;
  }
}

/** Only one process refreshes: many servers accept a refresh token once. The others get the tokens it got. */
function serializeRefresh(
  send: Fetch,
  store: SignInStore,
  clock: Pick<Clock, 'now'>,
  issuer: () => string | undefined,
): Fetch {
  return (input, init) => {
    const refreshToken = findRefreshToken(init);
    const current = issuer();
    if (refreshToken === undefined || current === undefined) return send(input, init);
    return store.withLock(init?.signal ?? new AbortController().signal, async (change) => {
      const { tokens, expiresAt } = store.read(current);
      const isFresh =
        tokens !== undefined && tokens.refresh_token !== refreshToken && (expiresAt ?? Infinity) > clock.now();
      if (isFresh) return Response.json(tokens);
      const response = await send(input, init);
      const text = await response.text();
      const received = tryParseJson(text);
      // Save before the lock is released. A response without a refresh token leaves the old one valid.
      if (response.ok && isObject(received))
        await saveTokens({ change, clock }, current, { refresh_token: refreshToken, ...toJsonObject(received) });
      return new Response(text, { status: response.status, headers: response.headers });
    });
  };
}

function findRefreshToken(init: RequestInit | undefined): string | undefined {
  const { body } = init ?? {};
  const form =
    body instanceof URLSearchParams || typeof body === 'string' ? new URLSearchParams(String(body)) : undefined;
  return form?.get('grant_type') === 'refresh_token' ? (form.get('refresh_token') ?? undefined) : undefined;
}
