import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { chunk, events, failure, fakeGemini, finish, type Scripted, sse } from '../support/gemini.ts';
import { callGmn, firstNotice, type GmnOptions, parseLines, place } from '../support/gmn.ts';

/** A way to fail, and what must be said about it in every format. */
interface Case {
  readonly args: readonly string[];
  readonly script?: readonly Scripted[];
  readonly options?: Omit<GmnOptions, 'gemini'>;
  readonly hasKey?: false;
  readonly code: number;
  readonly type: string;
  readonly message: RegExp;
  readonly partial?: string;
  readonly suggestion?: RegExp;
}

const again = (scripted: Scripted): readonly Scripted[] => [scripted, scripted, scripted, scripted];
const cutLine: Scripted = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(sse(chunk([{ text: 'Hel' }])));
  response.write(sse(chunk([{ text: 'lo' }])).slice(0, 30), () => response.destroy());
};

const CASES: Readonly<Record<string, Case>> = {
  'an unknown flag': { args: ['--nope', 'x'], code: 1, type: 'UsageError', message: /unknown option '--nope'/ },
  'a bad duration': { args: ['-t', '5x', 'x'], code: 1, type: 'UsageError', message: /"5x" is not a duration/ },
  'two prompts': { args: ['-p', 'a', 'b'], code: 1, type: 'UsageError', message: /-p cannot be combined/ },
  'no prompt': { args: [], options: { stdin: '' }, code: 1, type: 'UsageError', message: /no prompt given/ },
  'a blank prompt': { args: ['  '], code: 1, type: 'UsageError', message: /no prompt given/ },
  'a missing file': { args: ['-f', 'nope.txt', 'x'], code: 1, type: 'UsageError', message: /nope\.txt/ },
  'an attachment of 25 MB, where nothing can be uploaded': {
    args: ['--auth', 'vertex-ai', '-f', 'big.png', 'x'],
    options: {
      env: { GOOGLE_API_KEY: 'vertex-key-0123456', GOOGLE_VERTEX_BASE_URL: 'http://127.0.0.1:9' },
      files: {
        'big.png': Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), Buffer.alloc(25_000_000)]),
      },
    },
    code: 1,
    type: 'UsageError',
    message: /20 MB/,
  },
  'binary on stdin': {
    args: ['x'],
    options: { stdin: Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2, 3]) },
    code: 1,
    type: 'UsageError',
    message: /stdin/,
  },
  'no credential': { args: ['x'], hasKey: false, code: 2, type: 'AuthError', message: /no Gemini credentials found/ },
  'a refused key': {
    args: ['x'],
    script: [
      failure(400, 'INVALID_ARGUMENT', 'API key not valid.', [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' },
      ]),
    ],
    code: 2,
    type: 'AuthError',
    message: /key/i,
  },
  'a refused key of the kind that Google retires': {
    args: ['x'],
    options: { env: { GEMINI_API_KEY: 'AIza-test-key-0123456789' } },
    script: [failure(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.')],
    code: 2,
    type: 'AuthError',
    message: /authentication failed/,
    suggestion: /standard key \(AIza…\).*aistudio\.google\.com\/apikey/,
  },
  'a bad request': {
    args: ['x'],
    script: [failure(400, 'INVALID_ARGUMENT', 'Bad thing.')],
    code: 3,
    type: 'ApiError',
    message: /Bad thing\./,
  },
  'an unknown model': {
    args: ['-m', 'gemini-0', 'x'],
    script: [failure(404, 'NOT_FOUND')],
    code: 3,
    type: 'ApiError',
    message: /gemini-0/,
  },
  'a server that stays down': {
    args: ['x'],
    script: again(failure(503, 'UNAVAILABLE')),
    code: 3,
    type: 'ApiError',
    message: /503/,
  },
  'a daily quota': {
    args: ['x'],
    script: [
      failure(429, 'RESOURCE_EXHAUSTED', 'quota', [
        {
          '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
          violations: [{ quotaId: 'GenerateRequestsPerDayPerProject' }],
        },
      ]),
    ],
    code: 3,
    type: 'ApiError',
    message: /quota/,
  },
  'a blocked prompt': {
    args: ['x'],
    script: [events([{ promptFeedback: { blockReason: 'SAFETY' } }])],
    code: 3,
    type: 'ApiError',
    message: /SAFETY/,
  },
  'an answer stopped for safety': {
    args: ['x'],
    script: [events([chunk([{ text: 'Well' }]), finish('SAFETY')])],
    code: 3,
    type: 'ApiError',
    message: /SAFETY/,
    partial: 'Well',
  },
  'an answer without an end': {
    args: ['x'],
    script: [events([chunk([{ text: 'Hel' }])])],
    code: 3,
    type: 'ApiError',
    message: /cut|end/,
    partial: 'Hel',
  },
  'a line cut in mid-event': {
    args: ['x'],
    script: [cutLine],
    code: 3,
    type: 'ApiError',
    message: /./,
    partial: 'Hel',
  },
  'an empty answer, each time': {
    args: ['x'],
    script: again(events([finish()])),
    code: 3,
    type: 'ApiError',
    message: /empty/,
  },
  'a redirect': {
    args: ['x'],
    script: [(response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    code: 3,
    type: 'ApiError',
    message: /redirect/,
  },
  'a broken settings file': {
    args: ['x'],
    options: { home: { '.gemini/settings.json': '{\n  "model": {,\n}' } },
    code: 4,
    type: 'ConfigError',
    message: /settings\.json:2:/,
  },
  'a wrongly typed setting': {
    args: ['x'],
    options: { home: { '.gemini/settings.json': '{"model":{"name":7}}' } },
    code: 4,
    type: 'ConfigError',
    message: /model\.name must be a string/,
  },
  'an endpoint that is not safe': {
    args: ['x'],
    options: { env: { GOOGLE_GEMINI_BASE_URL: 'http://example.com' } },
    code: 4,
    type: 'ConfigError',
    message: /https/,
  },
};

describe.each(Object.entries(CASES))(
  '%s',
  (_, { args, script = [], options = {}, hasKey, code, type, message, partial, suggestion = /\S/ }) => {
    async function run(t: Parameters<typeof callGmn>[0], format: readonly string[]) {
      const gemini = hasKey === false ? undefined : await fakeGemini(t, script);
      return callGmn(t, [...format, ...args], { ...options, ...(gemini ? { gemini } : {}) });
    }

    test('in text: stdout is only what had arrived, stderr says what and what next', async (t) => {
      const gmn = await run(t, []);
      expect(gmn).toMatchObject({ stdout: partial === undefined ? '' : `${partial}\n`, exitCode: code });
      const lines = gmn.stderr.split('\n').filter((line) => !line.startsWith('gmn: '));
      expect(lines[0]).toMatch(/^Error: /);
      expect(lines[0]).toMatch(message);
      expect(lines[1], 'the next step').toMatch(/\S/);
      expect(gmn.stderr).not.toMatch(/\n\s+at /);
    });

    test('in json: one error object on stdout, nothing on stderr', async (t) => {
      const gmn = await run(t, ['-o', 'json']);
      expect({ exitCode: gmn.exitCode, stderr: gmn.stderr }).toEqual({ exitCode: code, stderr: '' });
      const { error } = JSON.parse(gmn.stdout);
      expect(error).toMatchObject({
        code,
        type,
        message: expect.stringMatching(message),
        suggestion: expect.stringMatching(suggestion),
      });
      expect(error.partialResponse).toBe(partial);
    });

    test('in stream-json: exactly one error, last, and no done', async (t) => {
      const gmn = await run(t, ['-o', 'stream-json']);
      expect({ exitCode: gmn.exitCode, stderr: gmn.stderr }).toEqual({ exitCode: code, stderr: '' });
      const lines = parseLines(gmn.stdout);
      const types = lines.map((line) => line.type);
      expect(types.filter((each) => each === 'error' || each === 'done')).toEqual(['error']);
      expect(lines.at(-1)).toMatchObject({ type: 'error', error: { code, type } });
      expect(types[0]).toBe(script.length > 0 ? 'start' : 'error');
    });
  },
);

test('a directory as stdin is an error, not a crash', async (t) => {
  const { spawnSync } = await import('node:child_process');
  const { gmnCommand, place } = await import('../support/gmn.ts');
  const { closeSync, openSync } = await import('node:fs');
  const { cwd, env } = place(t, { gemini: await fakeGemini(t, []) });
  mkdirSync(join(cwd, 'd'));
  const directory = openSync(join(cwd, 'd'), 'r');
  const { status, stderr } = spawnSync(...gmnCommand(['hi']), { cwd, env, stdio: [directory, 'pipe', 'pipe'] });
  closeSync(directory);
  expect(status).toBe(1);
  expect(String(stderr)).toMatch(/^Error: stdin is a directory\n\S/);
});

test('general.maxAttempts is how often a request is sent; --retries wins', async (t) => {
  const unavailable = failure(503, 'UNAVAILABLE', 'busy');
  const home = { '.gemini/settings.json': '{"general":{"maxAttempts":2}}' };
  const gemini = await fakeGemini(t, [unavailable, unavailable, unavailable]);
  const { stderr, exitCode } = await callGmn(t, ['hi'], { gemini, home });
  expect(exitCode).toBe(3);
  expect(stderr).toMatch(/retry 1 of 1 in /);
  expect(gemini.requests).toHaveLength(2);
  expect(await callGmn(t, ['--retries', '0', 'hi'], { gemini, home })).toMatchObject({ exitCode: 3 });
  expect(gemini.requests).toHaveLength(3);
});

test.for([0, 1.5])('general.maxAttempts cannot be %j', async (maxAttempts, t) => {
  const home = { '.gemini/settings.json': JSON.stringify({ general: { maxAttempts } }) };
  const { stderr, exitCode } = await callGmn(t, ['hi'], { gemini: await fakeGemini(t, []), home });
  expect(exitCode).toBe(4);
  expect(stderr).toMatch(/general\.maxAttempts must be a whole number from 1/);
});

test.for([
  ['a prompt', ['--retries', '0', 'hi']],
  ['files list', ['files', 'list']],
] as const)('%s says which variable names a server that cannot be reached', async ([, words], t) => {
  const env = { GEMINI_API_KEY: 'a-key-0123456789', GOOGLE_GEMINI_BASE_URL: 'http://127.0.0.1:9' };
  expect(await callGmn(t, words, { env })).toMatchObject({
    stdout: '',
    stderr:
      'Error: connection to 127.0.0.1:9 refused\n' +
      'Check the network connection and try again. The address is from GOOGLE_GEMINI_BASE_URL.\n',
    exitCode: 3,
  });
});

test.for([
  ['files', 'list'],
  ['models', '--refresh'],
  ['-m', 'gemini-2.5-pro', 'hi'],
])('gmn %s %s … says a long wait when it begins, and how to stop it, in a pipe, too', async (words, t) => {
  const info = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '45s' };
  const gemini = await fakeGemini(t, [failure(429, 'RESOURCE_EXHAUSTED', 'Slow down.', [info])]);
  expect(await firstNotice(t, place(t, { gemini }), words)).toMatch(
    /^gmn: .*Slow down; retry 1 of 3 in 45 s \(Ctrl\+C stops the wait\)\n$/,
  );
});
