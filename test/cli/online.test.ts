import { expect, test } from 'vitest';
import {
  account,
  accountResponse,
  CANARY,
  codeAssistResponse,
  denied,
  signedIn,
  signInFile,
} from '../support/account.ts';
import { failure, fakeGemini, json, reply } from '../support/gemini.ts';
import { systemMode } from '../support/posix.ts';

const KEY = { GEMINI_API_KEY: 'a-key-0123456789' };
const ANSWERS = ['generateContent', 'countTokens'];

test('models --refresh asks for every page, and models shows what was listed', async (t) => {
  const google = await fakeGemini(t, [
    json({
      models: [
        {
          name: 'models/gemini-2.5-pro',
          inputTokenLimit: 10,
          outputTokenLimit: 20,
          supportedGenerationMethods: ANSWERS,
        },
        { name: 'models/embedding-1', supportedGenerationMethods: ['embedContent'] },
      ],
      nextPageToken: 'a b',
    }),
    json({ models: [{ name: 'models/gemini-99-flash', supportedGenerationMethods: ANSWERS, thinking: true }, {}, 7] }),
  ]);
  const me = account(t, google, { env: KEY });
  const { stdout, exitCode } = await me.run(['models', '--refresh', '--json']);
  expect(google.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /v1beta/models?pageSize=1000',
    'GET /v1beta/models?pageSize=1000&pageToken=a%20b',
  ]);
  const { models, listed } = JSON.parse(stdout);
  expect([exitCode, listed]).toMatchObject([0, { backend: 'gemini-api', source: 'GEMINI_API_KEY' }]);
  expect(models).toMatchObject([
    { id: 'gemini-2.5-pro', inputLimit: 10, outputLimit: 20 },
    { id: 'gemini-99-flash', thinks: true, backends: ['gemini-api'] },
  ]);
  const all = JSON.parse((await me.run(['models', '--all', '--json'])).stdout);
  expect(all.models.find(({ id }: { id: string }) => id === 'gemini-2.5-flash')).toMatchObject({ isListed: false });
  const later = await me.run(['models']);
  expect(later.stdout).toMatch(/^gemini-99-flash +unknown +yes/m);
  expect(later.stdout).not.toMatch(/^gemini-2\.5-flash/m);
  expect((await me.run(['models', '--all'])).stdout).toMatch(/^gemini-2\.5-flash +not listed/m);
  expect(later.stdout).toMatch(/\nListed by gemini-api for GEMINI_API_KEY, .+\n$/);
  expect(me.mode('.gmn/listed-models.json')).toBe(systemMode(0o600));
});

test.for(['', '{', '{"backend":"other"}', '{"backend":"vertex","source":"x","account":"a","time":1,"models":[]}'])(
  'models passes over a list that is %j',
  async (text, t) => {
    const me = account(t, await fakeGemini(t, []), { env: KEY, home: { '.gmn/listed-models.json': text } });
    const { stdout, exitCode } = await me.run(['models']);
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^gemini-2\.5-flash +retiring/m)]);
    expect(stdout).not.toContain('Listed by');
  },
);

test('models --refresh asks Vertex for its publisher models, and Code Assist for its quota', async (t) => {
  const google = await fakeGemini(t, [
    json({
      publisherModels: [
        { name: 'publishers/google/models/gemini-3.5-flash' },
        { name: 'publishers/google/models/imagen-4' },
        { name: 'publishers/google/models/gemini-embedding-001' },
      ],
    }),
    accountResponse('p-1'),
    json({ buckets: [{ modelId: 'gemini-2.5-pro' }, { modelId: 'gemini-2.5-pro' }, { modelId: 'gemini-3-flash' }] }),
  ]);
  const me = signedIn(t, google, { env: { GOOGLE_API_KEY: 'express-key-0123' } });
  const ids = (stdout: string): readonly string[] =>
    JSON.parse(stdout)
      .models.filter(({ isListed }: { isListed: boolean }) => isListed)
      .map(({ id }: { id: string }) => id);
  expect(ids((await me.run(['models', '--refresh', '--json'])).stdout)).toEqual(['gemini-3.5-flash']);
  const assist = await me.run(['models', '--refresh', '--json', '--auth', 'oauth-personal']);
  expect(ids(assist.stdout)).toEqual(['gemini-2.5-pro', 'gemini-3-flash']);
  expect(google.requests.map(({ path }) => path)).toEqual([
    '/v1beta1/publishers/google/models?pageSize=100',
    '/v1internal:loadCodeAssist',
    '/v1internal:retrieveUserQuota',
  ]);
  expect(google.requests[2]?.body).toEqual({ project: 'p-1' });
});

test('models shows those of the backend that a prompt would go to, and all with --all or without a credential', async (t) => {
  const google = await fakeGemini(t, []);
  const ids = (stdout: string): readonly string[] => JSON.parse(stdout).models.map(({ id }: { id: string }) => id);
  const withKey = account(t, google, { env: KEY });
  const listed = JSON.parse((await withKey.run(['models', '--json'])).stdout);
  expect(listed.backend).toBe('gemini-api');
  expect(ids(JSON.stringify(listed))).toContain('gemma-4-31b-it');
  expect(ids(JSON.stringify(listed))).not.toContain('gemini-3-flash');
  const text = (await withKey.run(['models'])).stdout;
  expect(text).toMatch(/^gemini-3\.8-flash-tts +stable .*makes speech$/m);
  expect(text).toContain('\nModels of gemini-api (GEMINI_API_KEY); of all backends: gmn models --all\n');
  const assist = signedIn(t, google, {});
  const assisted = ids((await assist.run(['models', '--json'])).stdout);
  expect(assisted).toContain('gemini-3-flash');
  expect(assisted).not.toContain('gemma-4-31b-it');
  const everything = ids((await assist.run(['models', '--all', '--json'])).stdout);
  expect(everything).toEqual(expect.arrayContaining(['gemini-3-flash', 'gemma-4-31b-it', 'gemini-3.1-flash-image']));
  expect(ids((await account(t, google, { env: {} }).run(['models', '--json'])).stdout)).toEqual(everything);
  expect(google.requests).toEqual([]);
});

test.for([
  [['--auth', 'bogus'], {}, 2, '--auth names an unknown type: bogus'],
  [['--auth', 'vertex-ai'], {}, 4, 'GOOGLE_CLOUD_PROJECT'],
  [['--all'], { GOOGLE_GEMINI_BASE_URL: 'http://evil.example' }, 4, 'GOOGLE_GEMINI_BASE_URL'],
  [[], { GEMINI_API_KEY: 'kéy' }, 2, 'characters that no API key has'],
] as const)('models %j with %j fails as a prompt would', async ([flags, env, code, words], t) => {
  const me = account(t, await fakeGemini(t, []), { env: KEY });
  const { stdout, stderr, exitCode } = await me.run(['models', ...flags], env);
  expect([exitCode, stdout, stderr]).toEqual([code, '', expect.stringContaining(words)]);
});

test('models fails on settings that do not parse', async (t) => {
  const me = account(t, await fakeGemini(t, []), { env: KEY, home: { '.gemini/settings.json': '{"model":' } });
  const { stdout, stderr, exitCode } = await me.run(['models']);
  expect([exitCode, stdout, stderr]).toEqual([4, '', expect.stringContaining('settings.json')]);
});

test.for([[[]], [['--auth', 'gemini-api-key']], [['--auth', 'oauth-personal']]])(
  'models %j says that it shows all because there is no credential',
  async ([flags = []], t) => {
    const nobody = account(t, await fakeGemini(t, []), { env: {} });
    const { stdout, stderr, exitCode } = await nobody.run(['models', ...flags]);
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^gemma-4-31b-it /m);
    expect(stdout).toMatch(/\nAll models, since there is no credential; see: gmn auth status\n$/);
    expect((await nobody.run(['models', '--all'])).stdout).not.toContain('no credential');
  },
);

test('models passes over the list of another account', async (t) => {
  const google = await fakeGemini(t, [json({ models: [{ name: 'models/gemini-98' }] })]);
  const me = signedIn(t, google, { env: KEY });
  await me.run(['models', '--refresh']);
  expect((await me.run(['models'])).stdout).toContain('gemini-98');
  const other = (await me.run(['models', '--auth', 'oauth-personal'])).stdout;
  expect(other).toContain('gemini-3-flash');
  expect(other).not.toMatch(/gemini-98|Listed by/);
});

test('models passes over the list of another key in the same variable', async (t) => {
  const google = await fakeGemini(t, [json({ models: [{ name: 'models/gemini-98' }] })]);
  const me = account(t, google, { env: KEY });
  await me.run(['models', '--refresh']);
  const other = (await me.run(['models'], { GEMINI_API_KEY: 'another-key-012345' })).stdout;
  expect(other).toMatch(/^gemini-2\.5-flash +retiring/m);
  expect(other).not.toMatch(/gemini-98|Listed by/);
  expect((await me.run(['models'])).stdout).toMatch(/gemini-98[\s\S]*Listed by/);
  expect(me.files()['.gmn/listed-models.json']).not.toContain(KEY.GEMINI_API_KEY);
});

test('models shows the default that would answer', async (t) => {
  const google = await fakeGemini(t, [failure(404, 'NOT_FOUND'), reply('a')]);
  const me = account(t, google, { env: KEY });
  expect((await me.run(['models'])).stdout).toContain(
    '\nDefault: gemini-2.5-flash, being retired; where it is gone, flash answers\n',
  );
  await me.run(['hi']);
  expect((await me.run(['models'])).stdout).toContain(
    '\nDefault: gemini-flash-latest, since gemini-2.5-flash is gone for this account\n',
  );
  expect(JSON.parse((await me.run(['models', '--json'])).stdout).default).toBe('gemini-flash-latest');
  const other = await me.run(['models', '--json'], { GEMINI_API_KEY: 'another-key-012345' });
  expect(JSON.parse(other.stdout).default).toBe('gemini-2.5-flash');
});

test.for([
  ['free-tier', 'free', false],
  ['standard-tier', 'standard', true],
  ['g1-pro-tier', undefined, true],
] as const)('models of an account of %s are those of its tier', async ([id, tier, isStandard], t) => {
  const onboarded = json({ currentTier: { id }, cloudaicompanionProject: 'p-1' });
  const me = signedIn(t, await fakeGemini(t, [onboarded, codeAssistResponse('a')]));
  const has = async (model: string): Promise<boolean> => {
    const { models } = JSON.parse((await me.run(['models', '--json'])).stdout);
    return models.some((line: { id: string }) => line.id === model);
  };
  expect(await has('gemini-3-flash-preview')).toBe(true);
  await me.run(['hi']);
  expect(await has('gemini-3-flash-preview')).toBe(isStandard);
  expect(await has('gemini-2.5-pro')).toBe(true);
  expect(await has('gemini-3-flash')).toBe(true);
  const { stdout } = await me.run(['models']);
  const words = tier === undefined ? '' : `, ${tier} tier`;
  expect(stdout).toContain(`\nModels of code-assist (~/.gemini/oauth_creds.json${words}); of all backends: `);
  const all = JSON.parse((await me.run(['models', '--all', '--json'])).stdout).models;
  expect(all).toContainEqual(expect.objectContaining({ id: 'gemini-3-flash-preview' }));
});

test('models --backend shows what a prompt with that flag would use', async (t) => {
  const google = await fakeGemini(t, [json({ models: [{ name: 'models/gemini-98' }] })]);
  const me = signedIn(t, google);
  const { stdout, stderr } = await me.run(['models', '--backend', 'gemini-api']);
  expect([stdout, stderr]).toEqual([expect.stringContaining('\nModels of gemini-api (~/.gemini/'), '']);
  expect(stdout).toMatch(/^gemma-4-31b-it /m);
  expect((await me.run(['models', '--refresh', '--backend', 'gemini-api'])).stdout).toMatch(/^gemini-98 /m);
  expect((await me.run(['models'])).stdout).not.toContain('gemini-98');
  const wrong = await me.run(['models', '--backend', 'code-assist'], KEY);
  expect([wrong.exitCode, wrong.stdout]).toEqual([1, '']);
  expect(wrong.stderr).toContain('--backend code-assist does not take the credential');
  const nobody = await account(t, google, { env: {} }).run(['models', '--backend', 'vertex']);
  expect(nobody.stdout).toMatch(/\nModels of vertex; there is no credential, see: gmn auth status\n$/);
  expect(nobody.stdout).not.toMatch(/^gemma/m);
});

test('models --all calls no model unlisted that the asked backend does not have', async (t) => {
  const google = await fakeGemini(t, [json({ models: [{ name: 'models/gemini-2.5-pro' }] })]);
  const me = account(t, google, { env: KEY });
  await me.run(['models', '--refresh']);
  const { stdout } = await me.run(['models', '--all']);
  expect(stdout).toMatch(/^gemini-2\.5-flash +not listed/m);
  expect(stdout).toMatch(/^gemini-3-flash +stable/m);
  expect(stdout).toMatch(/^gemini-2\.5-pro +retiring/m);
});

test('a list that cannot be had leaves the last one, and says why', async (t) => {
  const google = await fakeGemini(t, [json({ models: [{ name: 'models/gemini-98' }] }), failure(400, 'X', 'Bad.')]);
  const me = account(t, google, { env: KEY });
  await me.run(['models', '--refresh']);
  expect(await me.run(['models', '--refresh', '--json'])).toMatchObject({ exitCode: 3, stderr: '' });
  expect((await me.run(['models'])).stdout).toContain('gemini-98');
});

test('auth status --online: a key is tried with the list of models', async (t) => {
  const google = await fakeGemini(t, [json({ models: [{ name: 'models/a-1' }, { name: 'models/a-2' }] })]);
  const { stdout, exitCode } = await account(t, google, { env: KEY }).run(['auth', 'status', '--online']);
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining('\n    The Gemini API accepts it: 2 models.\n')]);
});

test('auth status --online: a refused key is exit 2 with the way out', async (t) => {
  const google = await fakeGemini(t, [denied(400, 'API_KEY_INVALID', { message: 'a-key-0123456789 is no key' })]);
  const { stdout, exitCode } = await account(t, google, { env: KEY }).run(['auth', 'status', '--online']);
  expect(exitCode).toBe(2);
  expect(stdout.split('\n').slice(0, 3)).toEqual([
    expect.stringMatching(/^✗ gemini-api-key +GEMINI_API_KEY/),
    '    ‹redacted› is no key (400 PERMISSION_DENIED)',
    '    → Set GEMINI_API_KEY to a valid key: https://aistudio.google.com/apikey',
  ]);
});

test('auth status --online: a sign-in shows project, tier and what is left of each quota', async (t) => {
  const google = await fakeGemini(t, [
    accountResponse('p-1'),
    json({
      buckets: [
        { modelId: 'gemini-2.5-pro', remainingFraction: 0.876, remainingAmount: '87', tokenType: 'REQUESTS' },
        { modelId: 'gemini-3-flash', remainingFraction: 0, resetTime: '2999-01-01T00:00:00Z' },
        { modelId: 'bad\u001b[31m' },
        { modelId: 'gemini-3.8-flash' },
      ],
    }),
  ]);
  const { stdout, exitCode } = await signedIn(t, google).run(['auth', 'status', '--online']);
  expect(exitCode).toBe(0);
  expect(stdout.split('\n').slice(1, 5)).toEqual([
    '    Code Assist serves it: project p-1, standard-tier.',
    '    gemini-2.5-pro: 87 % left, 87 requests',
    expect.stringMatching(/^ {4}gemini-3-flash: 0 % left, resets in \d+ h( \d+ min)?$/),
    '    gemini-3.8-flash: quota unknown',
  ]);
});

test('auth status --online: a token that had expired is shown as it is after the check', async (t) => {
  const granted = json({ access_token: CANARY.granted, expires_in: 7230, token_type: 'Bearer' });
  const refused = json({ error: 'invalid_grant', error_description: 'Revoked.' }, 400);
  const google = await fakeGemini(t, [granted, accountResponse('p-1'), json({ buckets: [] }), refused]);
  const expired = { '.gemini/oauth_creds.json': signInFile({ expiry_date: Date.now() - 60_000 }) };
  const good = await signedIn(t, google, { home: expired }).run(['auth', 'status', '--online']);
  expect(good.stdout).toMatch(/^✓ oauth-personal {2}\S+ {2}token valid 2 h\n {4}Code Assist serves it: project p-1/);
  const bad = await signedIn(t, google, { home: expired }).run(['auth', 'status', '--online', '--json']);
  const { usable, sources, online } = JSON.parse(bad.stdout);
  expect([bad.exitCode, usable, online[0].ok]).toEqual([2, false, false]);
  expect(sources[0]).toMatchObject({ state: 'unusable', details: ['~/.gemini/oauth_creds.json', 'token expired'] });
});

test('auth status --online: why a Google sign-in does not work any more', async (t) => {
  const google = await fakeGemini(t, [json({ ineligibleTiers: [{ reasonCode: 'UNSUPPORTED_CLIENT' }] })]);
  const { stdout, stderr, exitCode } = await signedIn(t, google).run(['auth', 'status', '--online']);
  expect(exitCode).toBe(2);
  expect(stdout.split('\n').slice(0, 3)).toEqual([
    expect.stringMatching(/^✗ oauth-personal +~\/\.gemini\/oauth_creds\.json/),
    '    Google answered UNSUPPORTED_CLIENT: personal accounts can no longer use this sign-in (since 2026-06-18)',
    '    → Use an API key: gmn auth set-key (https://aistudio.google.com/apikey), or a Workspace or Code Assist account with GOOGLE_CLOUD_PROJECT=<id>',
  ]);
  for (const secret of Object.values(CANARY)) expect(stdout + stderr).not.toContain(secret);
});

test('--count-tokens prints the number alone, or model and number', async (t) => {
  const counted = json({ totalTokens: 31 });
  const google = await fakeGemini(t, [counted, counted, counted]);
  const me = account(t, google, { env: KEY });
  expect(await me.run(['--count-tokens', 'hi'])).toMatchObject({ stdout: '31\n', stderr: '', exitCode: 0 });
  expect(await me.run(['--count-tokens', '-o', 'json', '-m', 'gemini-2.5-pro', 'hi'])).toMatchObject({
    stdout: '{\n  "model": "gemini-2.5-pro",\n  "totalTokens": 31\n}\n',
    stderr: '',
    exitCode: 0,
  });
  expect((await me.run(['--count-tokens', '-o', 'stream-json', 'hi'])).stdout).toBe(
    '{"model":"gemini-2.5-flash","totalTokens":31}\n',
  );
  expect(google.requests[1]?.path).toBe('/v1beta/models/gemini-2.5-pro:countTokens');
  expect(google.requests[1]?.body).toEqual({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] });
});

test('--count-tokens lets the successor count where the default is gone, and fails in the chosen format', async (t) => {
  const google = await fakeGemini(t, [failure(404, 'NOT_FOUND'), json({ totalTokens: 5 }), failure(400, 'X', 'Bad.')]);
  const me = account(t, google, { env: KEY });
  expect(JSON.parse((await me.run(['--count-tokens', '-o', 'json', 'hi'])).stdout)).toMatchObject({
    model: 'gemini-flash-latest',
    totalTokens: 5,
  });
  const { stdout, stderr, exitCode } = await me.run(['--count-tokens', '-o', 'json', 'hi']);
  expect([exitCode, stderr, JSON.parse(stdout)]).toMatchObject([3, '', { error: { code: 3, type: 'ApiError' } }]);
});
