import { join } from 'node:path';
import { describe, expect, type TestContext, test } from 'vitest';
import { CANARIES, type CanaryName, canariesIn, plantedHome, signIn, strayCanaries } from '../support/canaries.ts';
import { isLong } from '../support/fuzz.ts';
import { callGmnIn, place, startGmn } from '../support/gmn.ts';
import { type HostileAnswers, type HostileServer, hostileServer } from '../support/hostile-server.ts';
import { isWindows } from '../support/posix.ts';

interface Situation {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly home?: Readonly<Record<string, string>>;
  readonly server?: HostileAnswers;
  readonly stdin?: string;
  readonly exitCode: number;
  /** What the server must have been sent, so that the situation is what its name says. */
  readonly sent?: readonly CanaryName[];
  /** Ended by this once the model was asked. */
  readonly signal?: NodeJS.Signals;
}

/** Every secret at once; which of them is used is for the situation to say. */
function plantedEnv(server: HostileServer): Readonly<Record<string, string>> {
  const proxy = `http://user:${encodeURIComponent(CANARIES.proxyPassword)}@${new URL(server.url).host}`;
  return {
    GEMINI_API_KEY: CANARIES.geminiKey,
    GOOGLE_API_KEY: CANARIES.googleKey,
    GOOGLE_CLOUD_ACCESS_TOKEN: CANARIES.givenAccess,
    GMN_OAUTH_CLIENT_ID: CANARIES.clientId,
    GMN_OAUTH_CLIENT_SECRET: CANARIES.clientSecret,
    HTTPS_PROXY: proxy,
    HTTP_PROXY: proxy,
    GMN_OAUTH_TOKEN_URL: `${server.url}/token`,
    CODE_ASSIST_ENDPOINT: server.url,
    GOOGLE_GEMINI_BASE_URL: server.url,
    GOOGLE_VERTEX_BASE_URL: server.url,
  };
}

async function run(t: TestContext, situation: Situation) {
  const server = await hostileServer(t, situation.server);
  const home = { ...plantedHome(), ...situation.home };
  // Compiled code that a run leaves is searched as well, where there is an answer to compile it for.
  const isFirstRun = situation.server?.model === 'answer';
  const { root, cwd, env } = place(t, { home, env: plantedEnv(server), isFirstRun });
  const places = (text: string): string => text.replace('HOME', join(root, 'home')).replace('SERVER', server.url);
  const more = Object.entries(situation.env ?? {}).map(([name, value]) => [name, places(value)] as const);
  // An empty value stands for a variable that is not set.
  const set = Object.entries({ ...env, ...Object.fromEntries(more) }).filter(([, value]) => value !== '');
  const { signal, stdin = '' } = situation;
  const args = situation.args.map(places);
  const at = { cwd, env: Object.fromEntries(set) };
  // A trace to stderr needs a process; in a file it is searched like any other.
  const traced = args.includes('--debug-file') ? args : [...args, '--debug-file', 'trace.log'];
  const run = async () => {
    const { child, ended } = await startGmn(t, args, { at: { cwd, env: { ...at.env, GMN_DEBUG: '1' } }, stdin });
    if (signal !== undefined) void server.asked.then(() => child.kill(signal));
    return ended;
  };
  const isStarted = isFirstRun || signal !== undefined;
  const { exitCode, stdout, stderr } = await (isStarted ? run() : callGmnIn(t, at, traced, stdin));
  return { exitCode, output: `${stdout}${stderr}`, root, sent: canariesIn(server.received()), lines: server.lines() };
}

const KEY = ['--auth', 'gemini-api-key'];
const SIGN_IN = ['--auth', 'oauth-personal'];
const VERTEX = ['--auth', 'vertex-ai'];
const STALE = { '.gemini/oauth_creds.json': signIn(true) };
const GCA = { GOOGLE_GENAI_USE_GCA: 'true' };
const STORED = { GEMINI_API_KEY: '' };
const SEALED = { GEMINI_FORCE_ENCRYPTED_FILE_STORAGE: 'true' };
const SERVICE = {
  GOOGLE_API_KEY: '',
  GOOGLE_CLOUD_PROJECT: 'p',
  GOOGLE_CLOUD_LOCATION: 'global',
  GOOGLE_APPLICATION_CREDENTIALS: 'HOME/service.json',
};
const VIA_PROXY = { NO_PROXY: '<-loopback>' };
const OFFICIAL = {
  'lib/node_modules/@google/gemini-cli/package.json': '{"name":"@google/gemini-cli","version":"1.0.0"}',
  'lib/node_modules/@google/gemini-cli/bundle/a.js': `OAUTH_CLIENT_ID = "${CANARIES.clientId}"; OAUTH_CLIENT_SECRET = "${CANARIES.clientSecret}"`,
  'bin/gemini': '',
};
const CLIENT = { id: CANARIES.clientId, secret: CANARIES.clientSecret };

const asked = (args: readonly string[], sent: CanaryName, more: Partial<Situation> = {}): Situation => ({
  args: [...args, 'hi'],
  exitCode: 0,
  sent: [sent],
  ...more,
});

/** The same for each way to hold a credential. */
function forEach(
  model: 'answer' | number,
  codes: { readonly key: number; readonly token: number },
): Readonly<Record<string, Situation>> {
  const server = { model };
  const [key, token] = [
    { server, exitCode: codes.key },
    { server, exitCode: codes.token },
  ];
  return {
    [`${model}: GEMINI_API_KEY`]: asked(KEY, 'geminiKey', key),
    [`${model}: GEMINI_API_KEY as json`]: asked([...KEY, '-o', 'json'], 'geminiKey', key),
    [`${model}: GEMINI_API_KEY as stream-json`]: asked([...KEY, '-o', 'stream-json'], 'geminiKey', key),
    [`${model}: GEMINI_API_KEY as a bearer too`]: asked(KEY, 'geminiKey', {
      ...key,
      env: { GEMINI_API_KEY_AUTH_MECHANISM: 'bearer' },
    }),
    [`${model}: GOOGLE_API_KEY`]: asked(VERTEX, 'googleKey', key),
    [`${model}: a stored key`]: asked(KEY, 'storedKey', { ...key, env: STORED }),
    [`${model}: a sign-in`]: asked(SIGN_IN, 'access', token),
    [`${model}: a sign-in as stream-json`]: asked([...SIGN_IN, '-o', 'stream-json'], 'access', token),
    [`${model}: an access token`]: asked(SIGN_IN, 'givenAccess', { ...token, env: GCA }),
    [`${model}: an encrypted sign-in`]: asked(SIGN_IN, 'sealedAccess', { ...token, env: SEALED }),
    [`${model}: a proxy`]: asked(KEY, 'proxyPassword', { ...key, env: VIA_PROXY }),
  };
}

/** As `forEach`, for an error that is handled like others: each takes the next ways in turn, the long runs take all. */
function forSome(model: number, codes: { readonly key: number; readonly token: number }) {
  const all = Object.entries(forEach(model, codes));
  return Object.fromEntries(all.filter((_, index) => isLong || index % SHARES === model % SHARES));
}

const SHARES = 3;

const REFRESH: Readonly<Record<string, Situation>> = Object.fromEntries(
  (
    [
      ['grant', 'text', 0],
      ['rotate', 'json', 0],
      ['echo-200', 'text', 2],
      ['echo-error', 'text', 2],
      ['echo-error', 'json', 2],
      ['redirect', 'stream-json', 2],
      [400, 'text', 2],
      [401, 'json', 2],
      [500, 'text', 2],
    ] as const
  ).map(([token, format, exitCode]): [string, Situation] => [
    `a refresh answered with ${token}, as ${format}`,
    {
      args: [...SIGN_IN, '-o', format, 'hi'],
      home: STALE,
      server: { token },
      exitCode,
      sent: ['refresh', 'clientId', 'clientSecret'],
    },
  ]),
);

const OTHERS: Readonly<Record<string, Situation>> = {
  'a debug file': asked([...KEY, '--debug-file', 'debug.log'], 'geminiKey'),
  'a debug file of a refresh': asked([...SIGN_IN, '--debug-file', 'debug.log'], 'refresh', { home: STALE }),
  'a dry run': { args: [...KEY, '--dry-run', 'hi'], exitCode: 0 },
  'a dry run of a sign-in': { args: [...SIGN_IN, '--dry-run', '-o', 'json', 'hi'], exitCode: 0 },
  'counting tokens': asked([...KEY, '--count-tokens'], 'geminiKey'),
  'the list of models': { args: ['models', ...KEY], exitCode: 0 },
  'a service account that is refused by the proxy': asked(VERTEX, 'proxyPassword', { env: SERVICE, exitCode: 2 }),
  "the official CLI's own OAuth client": asked(SIGN_IN, 'clientSecret', {
    home: { ...STALE, ...OFFICIAL },
    env: { GMN_OAUTH_CLIENT_ID: '', GMN_OAUTH_CLIENT_SECRET: '', PATH: 'HOME/bin' },
  }),
  'a home of gmn that is a file': asked(SIGN_IN, 'refresh', { home: STALE, env: { GMN_HOME: 'HOME/service.json' } }),
  'a settings file cut in the middle of a secret': {
    args: ['hi'],
    home: { '.gmn/config.json': `{"oauth": {"clientId": "${CLIENT.id}", "clientSecret": "${CLIENT.secret}` },
    exitCode: 4,
  },
  'a settings file with a secret of the wrong type': {
    args: ['hi'],
    home: { '.gmn/config.json': JSON.stringify({ oauth: { clientId: CLIENT.id, clientSecret: [CLIENT.secret] } }) },
    exitCode: 4,
  },
  'half an OAuth client': {
    args: ['hi'],
    home: { '.gmn/config.json': JSON.stringify({ oauth: { clientSecret: CLIENT.secret } }) },
    exitCode: 4,
  },
  'the settings, listed': {
    args: ['config', 'list'],
    home: { '.gmn/config.json': JSON.stringify({ oauth: { clientSecret: CLIENT.secret, clientId: 'x' } }) },
    exitCode: 0,
  },
  'an endpoint with a password': {
    args: [...KEY, 'hi'],
    env: { GOOGLE_GEMINI_BASE_URL: `https://user:${CANARIES.geminiKey}@example.com` },
    exitCode: 4,
  },
  'a token address with a password': {
    args: [...SIGN_IN, 'hi'],
    home: STALE,
    env: { GMN_OAUTH_TOKEN_URL: `https://user:${CANARIES.clientSecret}@example.com` },
    exitCode: 4,
  },
  'a proxy gmn cannot use': {
    args: [...KEY, 'hi'],
    env: { ...VIA_PROXY, HTTP_PROXY: `socks5://user:${encodeURIComponent(CANARIES.proxyPassword)}@example.com` },
    exitCode: 4,
  },
  'a key with a line break in it': {
    args: [...KEY, 'hi'],
    env: { GEMINI_API_KEY: `${CANARIES.geminiKey}\nx` },
    exitCode: 2,
  },
  'a key file that was cut': {
    args: [...KEY, 'hi'],
    home: { '.gmn/key.json': `{"version":1,"key":"${CANARIES.storedKey}` },
    env: STORED,
    exitCode: 2,
  },
  'a sign-in file that was cut': {
    args: [...SIGN_IN, 'hi'],
    home: { '.gemini/oauth_creds.json': signIn().slice(0, -9) },
    exitCode: 2,
  },
  'auth status': { args: ['auth', 'status'], exitCode: 0 },
  'auth status of a sign-in': { args: ['auth', 'status', '--json', ...SIGN_IN], exitCode: 0 },
  'auth status online, refused': {
    args: ['auth', 'status', '--online', '--json', ...SIGN_IN],
    server: { model: 403, token: 400 },
    exitCode: 2,
    sent: ['access'],
  },
  'auth status online of a key, refused': {
    args: ['auth', 'status', '--online', ...KEY],
    server: { model: 401 },
    exitCode: 2,
    sent: ['geminiKey'],
  },
  'a key that is stored': { args: ['auth', 'set-key', '--stdin'], stdin: `${CANARIES.typedKey}\n`, exitCode: 0 },
  'two keys at once': {
    args: ['auth', 'set-key'],
    stdin: `${CANARIES.typedKey}\n${CANARIES.storedKey}\n`,
    exitCode: 1,
  },
  'a key on the command line': { args: ['auth', 'set-key', CANARIES.typedKey], exitCode: 1 },
  logout: { args: ['auth', 'logout', '--json'], exitCode: 0 },
};

/** The one place where a damaged file goes (docs/auth-and-models.md). */
const SET_ASIDE = /^storedKey in home\/\.gmn\/key\.json\.corrupt-\w+$/;

async function expectNoLeak(t: TestContext, situation: Situation): Promise<void> {
  const { exitCode, output, root, sent, lines } = await run(t, situation);
  expect(canariesIn(output), output).toEqual([]);
  expect(canariesIn(lines), lines).toEqual([]);
  expect(strayCanaries(root).filter((stray) => !SET_ASIDE.test(stray))).toEqual([]);
  expect({ exitCode, sent }, output).toMatchObject({ exitCode: situation.exitCode });
  expect(sent).toEqual(expect.arrayContaining([...(situation.sent ?? [])]));
}

describe.each(
  Object.entries({
    ...forEach('answer', { key: 0, token: 0 }),
    ...forSome(400, { key: 3, token: 3 }),
    ...forEach(401, { key: 2, token: 2 }),
    ...forSome(403, { key: 2, token: 3 }),
    ...forSome(429, { key: 3, token: 3 }),
    ...forSome(500, { key: 3, token: 3 }),
    ...REFRESH,
    ...OTHERS,
  }),
)('%s', (_, situation) => {
  test('no secret is in any output or file', (t) => expectNoLeak(t, situation));
});

describe.skipIf(isWindows).each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s in the middle of an answer', (signal) => {
  test.for<[string, Situation]>([
    ['a key', asked(KEY, 'geminiKey')],
    ['a sign-in', asked([...SIGN_IN, '-o', 'stream-json'], 'access')],
  ])('no secret of %s is in any output or file', ([, situation], t) =>
    expectNoLeak(t, {
      ...situation,
      server: { model: 'silence' },
      signal,
      exitCode: { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }[signal],
    }),
  );
});

test('after logout gmn itself keeps no secret', async (t) => {
  const { root } = await run(t, { args: ['auth', 'logout'], exitCode: 0 });
  const kept = strayCanaries(join(root, 'home', '.gmn'));
  expect(kept).toEqual([]);
});

test.for(Object.entries(CANARIES))('the search would find %s in every disguise', ([name, secret]) => {
  const disguises = [
    secret,
    JSON.stringify({ a: { b: secret } }),
    `https://x.example/?k=${encodeURIComponent(secret)}`,
    String(new URLSearchParams({ k: secret })),
    Buffer.from(secret).toString('hex'),
    ...['', 'a', 'ab', 'user:'].flatMap((before) =>
      (['base64', 'base64url'] as const).map((encoding) => Buffer.from(`${before}${secret}\n`).toString(encoding)),
    ),
  ];
  for (const disguise of disguises) expect(canariesIn(`before ${disguise} after`)).toContain(name);
});
