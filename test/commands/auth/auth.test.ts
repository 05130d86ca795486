import { chmodSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run as logout } from '../../../src/commands/auth/logout.ts';
import { type AuthStatusOptions, type Probe, run as status } from '../../../src/commands/auth/status.ts';
import type { Env } from '../../../src/core/io.ts';
import { NOW, testApp } from '../../auth/support/app.ts';
import { CANARIES, filesIn, type Home, home, oauthDocument } from '../../auth/support/home.ts';
import { posixTest } from '../../support/posix.ts';

const MINUTE_MS = 60_000;

async function statusOf(place: Home, env: Env, options: AuthStatusOptions = {}, probe?: Probe) {
  const { app, written } = testApp(place, env);
  const exitCode = await status(options, app, probe);
  for (const secret of Object.values(CANARIES)) expect(written.out + written.err).not.toContain(secret);
  return { exitCode, ...written };
}

const SIGNED_IN = {
  '.gemini/oauth_creds.json': oauthDocument({ expiry_date: NOW + 42 * MINUTE_MS }),
  '.gemini/google_accounts.json': '{"active":"user@gmail.com","old":[]}',
};

test('auth status shows what would be used first, then what else there is', async (t) => {
  const place = home(t, SIGNED_IN);
  expect(await statusOf(place, {})).toEqual({
    exitCode: 0,
    err: '',
    out: `✓ oauth-personal  ~/.gemini/oauth_creds.json  user@gmail.com  token valid 42 min
– GEMINI_API_KEY  not set
– stored key      none (gmn auth set-key)
– Vertex AI       GOOGLE_CLOUD_PROJECT not set
`,
  });
  expect((await statusOf(place, { GEMINI_API_KEY: 'test-key-0123456789' })).out).toBe(
    `✓ gemini-api-key  GEMINI_API_KEY
– stored key      none (gmn auth set-key)
– oauth-personal  ~/.gemini/oauth_creds.json  user@gmail.com
– Vertex AI       GOOGLE_CLOUD_PROJECT not set
`,
  );
});

test('auth status ends with 2 and names the way out when nothing can be used', async (t) => {
  const place = home(t);
  rmSync(place.credentials);
  expect(await statusOf(place, {})).toEqual({
    exitCode: 2,
    err: '',
    out: `✗ none            no Gemini credentials found
    → Set GEMINI_API_KEY, sign in with: gemini, or try: gmn --demo "hello"
– GEMINI_API_KEY  not set
– stored key      none (gmn auth set-key)
– oauth-personal  not signed in
– Vertex AI       GOOGLE_CLOUD_PROJECT not set
`,
  });
});

test('an expired token is usable if it can be renewed', async (t) => {
  const old = { expiry_date: NOW - MINUTE_MS };
  const renewable = home(t, { '.gemini/oauth_creds.json': oauthDocument(old) });
  expect(await statusOf(renewable, {})).toMatchObject({
    exitCode: 0,
    out: expect.stringContaining('token expired  refreshed at the next use'),
  });
  const final = home(t, { '.gemini/oauth_creds.json': oauthDocument({ ...old, refresh_token: undefined }) });
  expect(await statusOf(final, {})).toMatchObject({ exitCode: 2, out: expect.stringMatching(/^✗ oauth-personal/) });
});

test('auth status --json says the same to programs', async (t) => {
  const { exitCode, out } = await statusOf(home(t, SIGNED_IN), {}, { json: true });
  expect([exitCode, JSON.parse(out)]).toEqual([
    0,
    {
      usable: true,
      credential: {
        type: 'oauth-personal',
        source: '~/.gemini/oauth_creds.json',
        account: expect.stringMatching(/^[0-9a-f]{16}$/),
        email: 'user@gmail.com',
        expiresAt: '2026-11-16T00:42:00.000Z',
        renewable: true,
      },
      sources: [
        {
          name: 'oauth-personal',
          state: 'used',
          details: ['~/.gemini/oauth_creds.json', 'user@gmail.com', 'token valid 42 min'],
        },
        { name: 'GEMINI_API_KEY', state: 'absent', details: ['not set'] },
        { name: 'stored key', state: 'absent', details: ['none (gmn auth set-key)'] },
        { name: 'Vertex AI', state: 'absent', details: ['GOOGLE_CLOUD_PROJECT not set'] },
      ],
    },
  ]);
});

test('what the servers say of a credential stands below it and decides the exit code', async (t) => {
  const probe: Probe = async () => [
    { ok: false, text: 'Google said no.', hints: ['use an API key: gmn auth set-key'] },
  ];
  const { exitCode, out } = await statusOf(home(t, SIGNED_IN), {}, { online: true }, probe);
  expect(exitCode).toBe(2);
  expect(out.split('\n').slice(0, 3)).toEqual([
    '✗ oauth-personal  ~/.gemini/oauth_creds.json  user@gmail.com  token valid 42 min',
    '    Google said no.',
    '    → use an API key: gmn auth set-key',
  ]);
});

test('what the servers say of a credential takes the place of what was expected of it', async (t) => {
  const old = oauthDocument({ expiry_date: NOW - MINUTE_MS, refresh_token: undefined });
  const place = home(t, { '.gemini/oauth_creds.json': old });
  const probe: Probe = async () => [{ ok: true, text: 'It is served.' }];
  const { exitCode, out } = await statusOf(place, {}, { online: true }, probe);
  expect(exitCode).toBe(0);
  expect(out).toMatch(/^✓ oauth-personal {2}.*\n {4}It is served\.\n–/);
});

test('auth status changes nothing', async (t) => {
  const place = home(t, SIGNED_IN);
  const before = filesIn(place.root);
  await statusOf(place, {});
  expect(filesIn(place.root)).toEqual(before);
});

posixTest('a credential file that others may read is warned about', async (t) => {
  const place = home(t, SIGNED_IN);
  chmodSync(place.credentials, 0o644);
  expect((await statusOf(place, {})).err).toContain(`chmod 600 ${place.credentials}`);
});

test("auth logout forgets what gmn stored, and none of the official CLI's files", async (t) => {
  const place = home(t, {
    ...SIGNED_IN,
    '.gmn/key.json': '{"version":1,"place":"file","key":"AIza-test-key-0123456789"}',
    '.gmn/key.json.corrupt-20260101T000000Z': 'AIza-old',
    '.gmn/tokens/0123456789abcdef.json': '{}',
    '.gmn/oauth-client.json': '{}',
    '.gmn/config.json': '{}',
  });
  const before = filesIn(place.gemini);
  const { app, written } = testApp(place, {});
  expect(await logout({}, app)).toBe(0);
  expect(written.out).toBe(`Forgot the stored API key, the cached access tokens, the official CLI's OAuth client.
The official CLI's files in ${place.gemini} were not touched.
`);
  expect([filesIn(place.gemini), Object.keys(filesIn(place.gmn))]).toEqual([before, ['config.json']]);
  const again = testApp(place, {});
  await logout({ json: true }, again.app);
  expect(JSON.parse(again.written.out)).toEqual({ forgotten: { apiKey: false, tokens: 0, oauthClient: false } });
  expect(readdirSync(place.gmn).sort()).toEqual(['config.json', 'tokens']);
  expect(readFileSync(join(place.gmn, 'config.json'), 'utf8')).toBe('{}');
});
