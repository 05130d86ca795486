import { describe, expect, test } from 'vitest';
import { type Account, account, accountResponse, codeAssistResponse, denied, signedIn } from '../support/account.ts';
import { call, chunk, events, failure, fakeGemini, reply, type Scripted } from '../support/gemini.ts';
import { parseLines } from '../support/gmn.ts';
import { systemMode } from '../support/posix.ts';

const GONE = failure(404, 'NOT_FOUND', 'models/gemini-2.5-flash is no longer available.');
const NOTICE =
  'model gemini-2.5-flash is retired (404 NOT_FOUND): models/gemini-2.5-flash is no longer available; using gemini-flash-latest (set GMN_MODEL to choose)';

async function keyed(t: Parameters<typeof account>[0], script: readonly Scripted[]) {
  const google = await fakeGemini(t, script);
  const me: Account = account(t, google, { env: { GEMINI_API_KEY: 'a-key-0123456789' } });
  const models = (): readonly (string | undefined)[] =>
    google.requests.map(({ path }) => /models\/([^:]+):/.exec(path)?.[1]);
  return { google, me, models };
}

describe('a default that is gone', () => {
  test('is replaced once, aloud, and the next run knows it', async (t) => {
    const { me, models } = await keyed(t, [GONE, reply('hello'), reply('again')]);
    expect(await me.run(['hi'])).toMatchObject({ stdout: 'hello\n', stderr: `gmn: ${NOTICE}\n`, exitCode: 0 });
    expect(await me.run(['hi'])).toMatchObject({ stdout: 'again\n', stderr: '', exitCode: 0 });
    expect(models()).toEqual(['gemini-2.5-flash', 'gemini-flash-latest', 'gemini-flash-latest']);
    expect(me.mode('.gmn/default-models.json')).toBe(systemMode(0o600));
    expect(me.files()['.gmn/default-models.json']).not.toContain('a-key');
  });

  test('and the one that answers are named by doctor, config explain and models', async (t) => {
    const { me } = await keyed(t, [GONE, reply('hello')]);
    expect((await me.run(['config', 'explain', 'model'])).stdout).not.toContain('gemini-flash-latest');
    await me.run(['hi']);
    for (const args of [['doctor'], ['config', 'explain', 'model'], ['models']]) {
      const { stdout } = await me.run(args);
      expect(stdout).toMatch(/gemini-flash-latest.*gemini-2\.5-flash.* is gone for this account/);
    }
    const { stdout } = await me.run(['config', 'explain', 'model', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ value: 'gemini-2.5-flash', answering: 'gemini-flash-latest' });
    const chosen = await me.run(['config', 'explain', 'model'], { GMN_MODEL: 'gemini-2.5-flash' });
    expect(chosen.stdout).not.toContain('gemini-flash-latest');
  });

  test('stays gone with --no-fallback, also where a successor is remembered', async (t) => {
    const { me, models } = await keyed(t, [GONE, reply('hello'), GONE]);
    await me.run(['hi']);
    expect(await me.run(['--no-fallback', 'hi'])).toMatchObject({
      stdout: '',
      stderr: expect.stringMatching(/^Error: API error: model gemini-2\.5-flash is retired \(404 NOT_FOUND\)/),
      exitCode: 3,
    });
    expect(models()).toEqual(['gemini-2.5-flash', 'gemini-flash-latest', 'gemini-2.5-flash']);
  });

  test('leaves the wanted form of the answer as it was', async (t) => {
    const { google, me } = await keyed(t, [GONE, reply('{"a":1}')]);
    const schema = { type: 'object', properties: { a: { type: 'integer' } } };
    const { stdout } = await me.run(['hi', '--output-schema', JSON.stringify(schema), '--temperature', '0']);
    expect(JSON.parse(stdout)).toEqual({ a: 1 });
    expect(google.requests[1]?.body.generationConfig).toMatchObject({
      responseMimeType: 'application/json',
      responseJsonSchema: schema,
      temperature: 0,
    });
  });

  test('leaves one start, which names the model that was asked', async (t) => {
    const { me } = await keyed(t, [GONE, reply('hello')]);
    const { stdout, stderr } = await me.run(['hi', '-o', 'stream-json']);
    const lines = parseLines(stdout);
    expect(stderr).toBe('');
    expect(lines.filter(({ type }) => type === 'start')).toEqual([{ type: 'start', model: 'gemini-flash-latest' }]);
    expect(lines.at(-1)).toMatchObject({ type: 'done', warnings: [NOTICE] });
  });

  test('with a gone successor is exit 3, naming how to find another', async (t) => {
    const script = [GONE, failure(404, 'NOT_FOUND')];
    const { me } = await keyed(t, script);
    expect(await me.run(['hi'])).toMatchObject({
      stdout: '',
      stderr: `gmn: ${NOTICE}\nError: API error: model gemini-flash-latest not found (404 NOT_FOUND): no; it was asked instead of gemini-2.5-flash\nSee which models there are: gmn models --refresh; then choose one with -m or GMN_MODEL.\n`,
      exitCode: 3,
    });
    const again = await keyed(t, script);
    const { stdout, exitCode } = await again.me.run(['hi', '-o', 'stream-json']);
    const lines = parseLines(stdout);
    expect([exitCode, lines.map(({ type }) => type)]).toEqual([3, ['start', 'error']]);
    expect(lines[0].model).toBe('gemini-flash-latest');
  });

  test('whose remembered successor is gone too is exit 3 all the same', async (t) => {
    const { me, models } = await keyed(t, [GONE, reply('hello'), failure(404, 'NOT_FOUND')]);
    await me.run(['hi']);
    const { stderr, exitCode } = await me.run(['hi']);
    expect([exitCode, stderr]).toEqual([3, expect.stringContaining('gmn models --refresh')]);
    expect(models()).toHaveLength(3);
  });

  test('is remembered for its own account only', async (t) => {
    const { me, models } = await keyed(t, [GONE, reply('hello'), reply('other')]);
    await me.run(['hi']);
    await me.run(['hi'], { GEMINI_API_KEY: 'b-key-0123456789' });
    expect(models()).toEqual(['gemini-2.5-flash', 'gemini-flash-latest', 'gemini-2.5-flash']);
  });

  test('has a successor of its own on each backend', async (t) => {
    const warm = [accountResponse('p'), codeAssistResponse('warm')];
    // A remembered project might be the reason for the 404, so it is asked for once more.
    const google = await fakeGemini(t, [
      ...warm,
      denied(404, 'X'),
      accountResponse('p'),
      codeAssistResponse('ca'),
      GONE,
      reply('v'),
    ]);
    const me = signedIn(t, google, { env: { GOOGLE_CLOUD_LOCATION: 'global', GOOGLE_CLOUD_PROJECT: 'p' } });
    await me.run(['-m', 'gemini-2.5-pro', 'hi']);
    expect(await me.run(['hi'])).toMatchObject({
      stdout: 'ca\n',
      stderr:
        'gmn: model gemini-2.5-flash not found (404 NOT_FOUND): No; using gemini-3-flash (set GMN_MODEL to choose)\n',
    });
    expect(await me.run(['--backend', 'vertex', 'hi'])).toMatchObject({
      stdout: 'v\n',
      stderr: `gmn: ${NOTICE.replace('gemini-flash-latest', 'gemini-3.8-flash')}\n`,
    });
    expect(google.requests[4]?.body.model).toBe('gemini-3-flash');
    expect(google.requests.at(-1)?.path).toContain('/models/gemini-3.8-flash:');
  });
});

describe('a model that someone chose is never replaced', () => {
  test.for([
    [['-m', 'gemini-2.5-flash'], {}],
    [[], { GMN_MODEL: 'gemini-2.5-flash' }],
    [[], { GEMINI_MODEL: 'gemini-2.5-flash' }],
  ] as const)('with %j and %j', async ([args, env], t) => {
    const { me, models } = await keyed(t, [GONE]);
    const { stderr, exitCode } = await me.run([...args, 'hi'], env);
    expect([exitCode, stderr]).toEqual([3, expect.stringContaining('model gemini-2.5-flash is retired')]);
    expect(models()).toEqual(['gemini-2.5-flash']);
  });
});

test('other failures of the default are no retirement', async (t) => {
  const { me, models } = await keyed(t, [failure(400, 'INVALID_ARGUMENT', 'Bad.')]);
  expect((await me.run(['hi'])).exitCode).toBe(3);
  expect(models()).toEqual(['gemini-2.5-flash']);
});

describe('--fallback', () => {
  const QUOTA = failure(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded.');
  const BUSY = failure(503, 'UNAVAILABLE', 'Overloaded.');

  test('asks the next model at once, and names it', async (t) => {
    const { me, models } = await keyed(t, [QUOTA, BUSY, reply('hello')]);
    const { stdout, stderr, exitCode } = await me.run(['--fallback', 'gemini-2.5-pro, flash-lite', 'hi']);
    expect([exitCode, stdout]).toEqual([0, 'hello\n']);
    expect(stderr.split('\n')).toEqual([
      expect.stringMatching(/^gmn: .*429.*; asking gemini-2\.5-pro$/),
      expect.stringMatching(/^gmn: .*503.*; asking gemini-flash-lite-latest$/),
      '',
    ]);
    expect(models()).toEqual(['gemini-2.5-flash', 'gemini-2.5-pro', 'gemini-flash-lite-latest']);
  });

  test('asks no other model where the money of the project is spent', async (t) => {
    const spent = failure(429, 'RESOURCE_EXHAUSTED', 'Your project has exceeded its monthly spending cap.');
    const { me, models } = await keyed(t, [spent]);
    expect(await me.run(['--fallback', 'gemini-2.5-pro', 'hi'])).toMatchObject({ exitCode: 3, stdout: '' });
    expect(models()).toHaveLength(1);
  });

  test('gives each model its own sampling, and keeps what was asked for', async (t) => {
    const { me, google } = await keyed(t, [BUSY, reply('{}')]);
    await me.run(['--fallback', 'gemini-3.8-flash', '--top-k', '3', '--output-schema', '{"type":"object"}', 'hi']);
    const sent = google.requests[1]?.body.generationConfig;
    expect(sent).toMatchObject({ topK: 3, responseMimeType: 'application/json' });
    expect(Object.keys(sent as object)).not.toContain('temperature');
  });

  test('stays with the model that answered for the rest of the run', async (t) => {
    const made = call('list_directory', {});
    const { me, models } = await keyed(t, [BUSY, reply(made), reply('done')]);
    expect(await me.run(['--tools', 'read', '--fallback', 'pro', 'hi'])).toMatchObject({
      exitCode: 0,
      stdout: 'done\n',
    });
    expect(models()).toEqual(['gemini-2.5-flash', 'gemini-pro-latest', 'gemini-pro-latest']);
  });

  test('retries only the last model, and nothing without the flag goes elsewhere', async (t) => {
    const { me, models } = await keyed(t, [BUSY, BUSY, BUSY, reply('hello')]);
    expect(await me.run(['--fallback', 'pro', 'hi'])).toMatchObject({ exitCode: 0 });
    expect(models()).toEqual(['gemini-2.5-flash', 'gemini-pro-latest', 'gemini-pro-latest', 'gemini-pro-latest']);
    const other = await keyed(t, [BUSY, reply('hello')]);
    expect(await other.me.run(['hi'])).toMatchObject({ exitCode: 0 });
    expect(other.models()).toEqual(['gemini-2.5-flash', 'gemini-2.5-flash']);
  });

  test('does not follow other failures, or an answer that has begun', async (t) => {
    const { me, models } = await keyed(t, [failure(400, 'INVALID_ARGUMENT', 'No.')]);
    expect(await me.run(['--fallback', 'pro', 'hi'])).toMatchObject({ exitCode: 3 });
    expect(models()).toEqual(['gemini-2.5-flash']);
    const error = { code: 503, status: 'UNAVAILABLE', message: 'Busy.' };
    const begun = await keyed(t, [events([chunk([{ text: 'half' }]), { error }])]);
    expect(await begun.me.run(['--fallback', 'pro', 'hi'])).toMatchObject({ exitCode: 3, stdout: 'half\n' });
    expect(begun.models()).toEqual(['gemini-2.5-flash']);
  });

  test.for([
    [['--fallback', ''], '"" cannot be the name of a model (--fallback)'],
    [['--fallback', 'pro,'], '"" cannot be the name of a model (--fallback)'],
    [
      ['--fallback', 'gemini-2.5-pro', '-m', 'gemini-3.8-flash', '--thinking-level', 'low'],
      'gemini-2.5-pro has no thinking levels',
    ],
  ] as const)('%j is refused before anything is sent', async ([args, message], t) => {
    const { me, google } = await keyed(t, []);
    expect(await me.run([...args, 'hi'])).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(message) });
    expect(google.requests).toEqual([]);
  });
});

test('a region without the default and without its successor is named beside Google’s words', async (t) => {
  const words = 'was not found or your project does not have access to it.';
  const google = await fakeGemini(t, [
    failure(404, 'NOT_FOUND', `Publisher Model \`gemini-2.5-flash\` ${words}`),
    failure(404, 'NOT_FOUND', `Publisher Model \`gemini-3.8-flash\` ${words}`),
  ]);
  const me = signedIn(t, google, { env: { GOOGLE_CLOUD_LOCATION: 'europe-west4', GOOGLE_CLOUD_PROJECT: 'p' } });
  const { stderr, exitCode } = await me.run(['--backend', 'vertex', 'hi']);
  expect(exitCode).toBe(3);
  expect(stderr.split('\n')).toEqual([
    expect.stringMatching(/^gmn: model gemini-2\.5-flash not found, or not open to you .* using gemini-3\.8-flash/),
    expect.stringMatching(/^Error: API error: model gemini-3\.8-flash not found, or not open to you .*access to it/),
    'It may not be served in europe-west4: choose another with -m, or set GOOGLE_CLOUD_LOCATION=global. See which models there are: gmn models --refresh; then choose one with -m or GMN_MODEL.',
    '',
  ]);
  expect(stderr).not.toContain('retired');
});
