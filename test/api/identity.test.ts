import { expect, test } from 'vitest';
import { createIdentity } from '../../src/api/backend.ts';
import type { Credential } from '../../src/core/credential.ts';

const SIGNAL = new AbortController().signal;

function credential(changes: Partial<Credential> = {}): Credential {
  const headers = async () => ({ authorization: 'Bearer token-1' });
  return { type: 'oauth-personal', source: 'a file', account: 'abc', headers, ...changes };
}

test('every secret that was ever sent is known for one, also after a refresh', async () => {
  let count = 1;
  const who = createIdentity(
    credential({
      headers: async () => ({ authorization: `Bearer a-token-${count}` }),
      refresh: async () => {
        count += 1;
      },
    }),
    'bearer',
  );
  expect(who.canRefresh).toBe(true);
  expect(await who.headers({ signal: SIGNAL, refresh: false })).toEqual({ authorization: 'Bearer a-token-1' });
  expect(await who.headers({ signal: SIGNAL, refresh: true })).toEqual({ authorization: 'Bearer a-token-2' });
  expect([...who.secrets]).toEqual(['a-token-1', 'a-token-2']);
});

test('an empty key is no secret', async () => {
  const who = createIdentity(credential({ headers: async () => ({ 'x-goog-api-key': '' }) }), 'key');
  await who.headers({ signal: SIGNAL, refresh: false });
  expect([...who.secrets]).toEqual([]);
});

test('the quota project goes with a token, not with a key, and not over the credential’s own', async () => {
  const ask = (who: ReturnType<typeof createIdentity>) => who.headers({ signal: SIGNAL, refresh: false });
  expect(await ask(createIdentity(credential(), 'bearer', 'q'))).toMatchObject({ 'x-goog-user-project': 'q' });
  expect(await ask(createIdentity(credential(), 'key', 'q'))).not.toHaveProperty('x-goog-user-project');
  const own = credential({ headers: async () => ({ authorization: 'Bearer t', 'x-goog-user-project': 'own' }) });
  expect(await ask(createIdentity(own, 'bearer', 'q'))).toMatchObject({ 'x-goog-user-project': 'own' });
});

test('a token that no header can carry is refused without being shown', async () => {
  const who = createIdentity(credential({ headers: async () => ({ authorization: 'Bearer se\ncret' }) }), 'bearer');
  const failed = await who.headers({ signal: SIGNAL, refresh: false }).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    fault: 'auth',
    message: 'authentication failed: a file contains characters that cannot be sent',
  });
  expect(String(failed)).not.toContain('cret');
});

test.for([
  [credential(), 'bearer', 'Please re-authenticate using: gemini'],
  [
    credential({ source: 'GOOGLE_CLOUD_ACCESS_TOKEN' }),
    'bearer',
    'Set GOOGLE_CLOUD_ACCESS_TOKEN to a token that is still valid.',
  ],
  [
    credential({ type: 'vertex-ai' }),
    'bearer',
    'Run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS',
  ],
  [credential({ type: 'vertex-ai', source: 'GOOGLE_API_KEY' }), 'key', 'Set GOOGLE_API_KEY to a valid key.'],
  [
    credential({ type: 'gemini-api-key', source: '~/.gmn/key.json' }),
    'key',
    'Store a valid key: gmn auth set-key (https://aistudio.google.com/apikey)',
  ],
] as const)('what helps when it is refused depends on where it came from: %#', ([who, carrier, hint]) => {
  expect(createIdentity(who, carrier).authHint).toBe(hint);
});
