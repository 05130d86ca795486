import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type AuthStatusOptions, run as status } from '../../../src/commands/auth/status.ts';
import type { Env } from '../../../src/core/io.ts';
import { testApp } from '../../auth/support/app.ts';
import { home } from '../../auth/support/home.ts';

type T = Parameters<typeof home>[0];
const NO_CLOUD = { METADATA_SERVER_DETECTION: 'none' };
const VERTEX = { GOOGLE_GENAI_USE_VERTEXAI: 'true', ...NO_CLOUD };
const SITE = { GOOGLE_CLOUD_PROJECT: 'p', GOOGLE_CLOUD_LOCATION: 'us-central1' };
const USER = { type: 'authorized_user', client_id: 'i', client_secret: 's', refresh_token: 'r' };

/** The first rows of the table: what would be used, and what is said of it. */
async function first(t: T, env: Env, { keyFile, ...options }: AuthStatusOptions & { readonly keyFile?: object } = {}) {
  const place = home(t);
  rmSync(place.credentials);
  const file = join(place.root, 'adc.json');
  if (keyFile) writeFileSync(file, JSON.stringify(keyFile));
  const named = keyFile ? { GOOGLE_APPLICATION_CREDENTIALS: file } : {};
  const { app, written } = testApp(place, { ...env, ...named });
  const exitCode = await status(options, app);
  const lines = written.out.replaceAll(place.root, '~').split('\n');
  return {
    exitCode,
    lines: lines.slice(
      0,
      lines.findIndex((line) => line.startsWith('–')),
    ),
    out: written.out,
  };
}

const FILE = 'GOOGLE_APPLICATION_CREDENTIALS (~/adc.json)';

test('Vertex AI without a project and a location is not usable', async (t) => {
  const { exitCode, lines } = await first(t, VERTEX, { keyFile: USER });
  expect([exitCode, lines[0]]).toEqual([4, expect.stringMatching(/^✗ vertex-ai /)]);
  expect(lines[1]).toContain('GOOGLE_CLOUD_PROJECT');
  expect((await first(t, { ...VERTEX, ...SITE }, { keyFile: USER })).exitCode).toBe(0);
});

test('application default credentials that are nowhere are not usable', async (t) => {
  expect(await first(t, { ...VERTEX, ...SITE })).toMatchObject({
    exitCode: 2,
    lines: [
      '✗ vertex-ai       application default credentials (metadata server)',
      '    authentication failed: no application default credentials found',
      '    → Run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS',
    ],
  });
  const cloud = { ...SITE, GOOGLE_GENAI_USE_VERTEXAI: 'true', GCE_METADATA_HOST: '127.0.0.1:1' };
  expect((await first(t, cloud)).exitCode).toBe(0);
});

test('a service account without its key is not usable', async (t) => {
  const { exitCode, lines } = await first(t, { ...VERTEX, ...SITE }, { keyFile: { type: 'service_account' } });
  expect([exitCode, lines[0]]).toEqual([
    2,
    `✗ vertex-ai       authentication failed: ${FILE} is incomplete: client_email is missing or wrong`,
  ]);
});

test.for<[string, Env, string]>([
  [
    'a key',
    { GEMINI_API_KEY: 'AIza-test-key-0123456789', GOOGLE_GEMINI_BASE_URL: 'http://example.com' },
    'GOOGLE_GEMINI_BASE_URL',
  ],
  ['Vertex', { GOOGLE_API_KEY: 'AIza-test-key-0123456789', GOOGLE_VERTEX_BASE_URL: 'x' }, 'GOOGLE_VERTEX_BASE_URL'],
])('an address that a run refuses makes %s unusable, with the exit code of the run', async ([, env, name], t) => {
  const { exitCode, lines } = await first(t, env);
  expect([exitCode, lines[0]?.[0], lines[1]]).toEqual([4, '✗', expect.stringContaining(`    ${name} `)]);
});

test.for([
  ['AIza-test-key-0123456789', '  a standard key, a kind that Google is retiring'],
  ['AQ.test-key-0123456789', '  an auth key'],
  ['test-key-0123456789', ''],
] as const)('the kind of %s is named', async ([key, kind], t) => {
  const { exitCode, lines } = await first(t, { GEMINI_API_KEY: key });
  expect([exitCode, lines[0]]).toEqual([0, `✓ gemini-api-key  GEMINI_API_KEY${kind}`]);
});

test('an access token with a line break in it is not usable, and not shown', async (t) => {
  const env = { GOOGLE_GENAI_USE_GCA: 'true', GOOGLE_CLOUD_ACCESS_TOKEN: 'ya29.can\nary' };
  expect(await first(t, env)).toMatchObject({
    exitCode: 2,
    lines: [
      '✗ oauth-personal  authentication failed: GOOGLE_CLOUD_ACCESS_TOKEN contains characters that no token has',
      '    → Set it to the token alone, e.g. to what this prints: gcloud auth print-access-token',
    ],
    out: expect.not.stringContaining('ya29'),
  });
});

test('a gateway without an address still gets its table', async (t) => {
  const { exitCode, lines, out } = await first(t, {}, { auth: 'gateway' });
  expect([exitCode, lines]).toEqual([
    4,
    [
      '✗ gemini-api-key  the auth type gateway needs GOOGLE_GEMINI_BASE_URL',
      '    → Set it in the environment to the address of the gateway.',
    ],
  ]);
  expect(out).toContain('– oauth-personal  not signed in');
});
