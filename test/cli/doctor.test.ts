import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { parseCommandLine } from '../../src/cli/parse.ts';
import { ROOT } from '../../src/cli/table/root.ts';
import type { Finding } from '../../src/commands/doctor/finding.ts';
import { splitCommand } from '../../src/mcp/client/servers.ts';
import { callGmnIn, GMN, type GmnOptions, place, runGmnIn } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

/** A place to examine; paths of this machine are taken out of what is printed. */
function scene(t: TestContext, options: GmnOptions = {}) {
  const env = { LC_ALL: 'C.UTF-8', PATH: '/nonexistent', ...options.env };
  const at = place(t, { ...options, env, isFirstRun: true });
  const examineBy = async (run: typeof callGmnIn, ...args: readonly string[]) => {
    const { exitCode: status, stdout, stderr } = await run(t, at, ['doctor', ...args]);
    const clean = (text: string): string =>
      text
        .replaceAll(JSON.stringify(at.root).slice(1, -1), '<root>')
        .replaceAll(at.root, '<root>')
        .replaceAll(/<root>[\w.\\-]+/g, (path) => path.replaceAll(/\\+/g, '/'))
        .replaceAll(GMN, '<gmn.js>')
        .replaceAll(process.versions.node, '<node>')
        .replaceAll(`${process.platform} ${process.arch}`, '<system>')
        .replace(/"version": "[^"]+"/, '"version": "<version>"')
        .replace(/gmn( +)\d+\.\d+\.\d+ in/, 'gmn$1<version> in')
        .replace(/(installed +)[^\n]+(\n +(?:→|->) [^\n]+)*/, '$1<found>')
        // Where a sandbox is built in, one is found without a PATH.
        .replace(/([✓–] sandbox|(?:ok|-) +sandbox)( +)[^\n]+/, '– sandbox$2<found>');
    return { status, stdout: clean(stdout), stderr };
  };
  return {
    ...at,
    examine: (...args: readonly string[]) => examineBy(callGmnIn, ...args),
    /** Where the program and its cache are is told, too. */
    examineProgram: () => examineBy(runGmnIn),
  };
}

interface Report {
  readonly ok: boolean;
  readonly demo?: boolean;
  readonly checks: readonly (Omit<Finding, 'fault'> & { readonly code?: number })[];
}

/** What is found by a check. */
function found({ stdout }: { readonly stdout: string }, check: string): Report['checks'] {
  const report: Report = JSON.parse(stdout);
  for (const { remedies = [] } of report.checks) for (const { command } of remedies) expectToExist(command);
  return report.checks.filter((finding) => finding.check === check);
}

/** Every command that is recommended is one of ours, and parses, or one that every shell has. */
function expectToExist(command: string | undefined): void {
  if (command === undefined) return;
  const [program = '', ...words] = splitCommand(command);
  if (program === 'gmn') parseCommandLine(ROOT, words, {});
  else expect(['chmod', 'export', 'git', 'mv', 'npm', 'rm', 'unset', 'icacls']).toContain(program);
}

posixTest('without anything configured it says what is missing, and what to do', async (t) => {
  expect(await scene(t).examineProgram()).toEqual({
    status: 2,
    stderr: '',
    stdout: `✓ node        <node> on <system>
✓ gmn         <version> in <gmn.js>, not on PATH
✓ installed   <found>
– code-cache  not written yet
– ripgrep     not found; searching works without it, only slower
– home        <root>/home/.gmn will be created when needed
– official    <root>/home/.gemini does not exist: no files of the official CLI
– settings    no settings files
– trust       this folder has no settings of its own
✓ endpoint    Google's own
– proxy       none
✗ credential  no Gemini credentials found
              → Set GEMINI_API_KEY, sign in with: gemini, or try: gmn --demo "hello"
              → To keep an API key: gmn auth set-key
✓ model       gemini-2.5-flash, the default; where it is retired, gemini-flash-latest answers
– mcp         no MCP servers
– sandbox     <found>
– extending   no skills, no agents, no hooks, no extensions
✓ terminal    stdout is not a terminal, colour off, UTF-8

1 failure
`,
  });
});

posixTest('where all is well it ends with 0; without a UTF-8 locale the marks are words', async (t) => {
  const { examineProgram } = scene(t, { env: { GEMINI_API_KEY: 'secret-0123456789', LC_ALL: 'C' } });
  const { status, stdout } = await examineProgram();
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: `ok   node        <node> on <system>
ok   gmn         <version> in <gmn.js>, not on PATH
ok   installed   <found>
-    code-cache  not written yet
-    ripgrep     not found; searching works without it, only slower
-    home        <root>/home/.gmn will be created when needed
-    official    <root>/home/.gemini does not exist: no files of the official CLI
-    settings    no settings files
-    trust       this folder has no settings of its own
ok   endpoint    Google's own
-    proxy       none
ok   credential  gemini-api-key, GEMINI_API_KEY
ok   model       gemini-2.5-flash, the default; where it is retired, gemini-flash-latest answers
-    mcp         no MCP servers
– sandbox     <found>
-    extending   no skills, no agents, no hooks, no extensions
warn terminal    stdout is not a terminal, colour off, the locale is not UTF-8
                 -> Choose one that is: export LANG=C.UTF-8

1 warning
`,
  });
  const dumb = await scene(t, { env: { GEMINI_API_KEY: 'secret-0123456789', TERM: 'dumb' } }).examine();
  expect(dumb.stdout).toContain('ok   terminal');
  expect(dumb.stdout.endsWith('\n\nNothing is wrong.\n')).toBe(true);
});

test('it changes nothing; what every run keeps, the code cache, is apart', async (t) => {
  const { examine, home, cwd } = scene(t, {
    home: { '.gemini/settings.json': '{}', '.gmn/config.json': '{}' },
    env: { GEMINI_API_KEY: 'k' },
  });
  const tree = (): readonly string[] =>
    [home, cwd].flatMap((directory) =>
      readdirSync(directory, { recursive: true, encoding: 'utf8' })
        .filter((name) => !name.startsWith(join('.gmn', 'cache')))
        .map((name) => `${name} ${statSync(join(directory, name)).mtimeMs}`)
        // Its own time changes with the cache.
        .filter((line) => !line.startsWith('.gmn ')),
    );
  const before = tree();
  await examine();
  expect(tree()).toEqual(before);
});

test('--json says the same to programs', async (t) => {
  const { status, stdout } = await scene(t).examine('--json');
  const report: Report = JSON.parse(stdout);
  expect({ status, ok: report.ok, keys: Object.keys(report) }).toEqual({
    status: 2,
    ok: false,
    keys: ['ok', 'version', 'checks'],
  });
  expect(report.checks.map(({ check }) => check)).toEqual(
    'node gmn installed code-cache ripgrep home official settings trust endpoint proxy credential model mcp sandbox extending terminal'.split(
      ' ',
    ),
  );
  expect(found({ stdout }, 'credential')).toEqual([
    {
      check: 'credential',
      state: 'failure',
      text: 'no Gemini credentials found',
      code: 2,
      remedies: [
        { words: 'Set GEMINI_API_KEY, sign in with: gemini, or try: gmn --demo "hello"' },
        { words: 'To keep an API key', command: 'gmn auth set-key' },
      ],
    },
  ]);
});

test('every broken settings file is named with its place, and outweighs a missing credential', async (t) => {
  const { examine } = scene(t, {
    home: { '.gemini/settings.json': '{\n  "a": 1\n  "b": 2 }', '.gmn/config.json': '{"model":{"name":1}}' },
  });
  const result = await examine('--json');
  expect(result.status).toBe(4);
  expect(found(result, 'settings').map(({ state, text }) => [state, text])).toEqual([
    ['failure', '<root>/home/.gemini/settings.json:3:3: comma expected'],
    ['failure', '<root>/home/.gmn/config.json:1:18: model.name must be a string'],
  ]);
});

test('settings that do not go together are a failure, too', async (t) => {
  const { examine } = scene(t, { home: { '.gmn/config.json': '{"oauth":{"clientId":"x"}}' } });
  const result = await examine('--json');
  expect(result.status).toBe(4);
  expect(found(result, 'settings').map(({ state, text }) => [state, text])).toEqual([
    ['ok', '<root>/home/.gmn/config.json'],
    ['failure', 'oauth.clientId is set, but oauth.clientSecret is not'],
  ]);
});

test('an unknown type of credential and an impossible home are reported, and all other checks still run', async (t) => {
  const odd = await scene(t, { env: { GMN_AUTH: 'odd' } }).examine('--json');
  expect([odd.status, found(odd, 'credential')]).toMatchObject([2, [{ state: 'failure' }]]);
  const wrong = await scene(t, { env: { GMN_HOME: '/dev/null/gmn', GEMINI_API_KEY: 'k' } }).examine('--json');
  expect(found(wrong, 'credential')).toMatchObject([{ state: 'ok' }]);
  expect(found(wrong, 'terminal')).toHaveLength(1);
});

test('keys that look misspelt are named with what was meant, others are left alone', async (t) => {
  const settings = { modle: { name: 'x' }, model: { nmae: 'y' }, ui: { theme: 'dark' }, mcpServer: {}, telemetry: {} };
  const { examine } = scene(t, { home: { '.gmn/config.json': JSON.stringify(settings) } });
  expect(found(await examine('--json'), 'settings')).toEqual([
    {
      check: 'settings',
      state: 'warning',
      text:
        '<root>/home/.gmn/config.json: gmn does not read modle (did you mean model?), ' +
        'model.nmae (did you mean model.name?), mcpServer (did you mean mcpServers?)',
      remedies: ['model', 'model.name', 'mcpServers'].map((key) => ({
        words: 'To see the value in use',
        command: `gmn config explain ${key}`,
      })),
    },
  ]);
});

test('keys of the official CLI are no mistakes, and those that change a run are named', async (t) => {
  const settings = { hooks: { BeforeTool: [] }, skills: { disabled: [] }, agents: {}, experimental: { x: 1 }, ui: {} };
  const { examine } = scene(t, { home: { '.gemini/settings.json': JSON.stringify(settings) } });
  expect(found(await examine('--json'), 'settings')).toMatchObject([
    { state: 'ok', text: '<root>/home/.gemini/settings.json; not read by gmn: experimental' },
  ]);
});

test('a folder that is not trusted, and the way to trust it', async (t) => {
  const { examine } = scene(t, { files: { '.gemini/settings.json': '{}' } });
  const result = await examine('--json');
  const [, notice] = found(result, 'settings');
  expect(notice).toMatchObject({
    state: 'warning',
    text: expect.stringMatching(/To trust the folder, run: gmn trust$/),
  });
  expect(found(result, 'trust')).toEqual([]);
});

test('a folder that is refused is no warning, and the way back is named', async (t) => {
  const { examine, ...at } = scene(t, { files: { '.gemini/settings.json': '{}' } });
  expect((await callGmnIn(t, at, ['trust', '--deny'])).exitCode).toBe(0);
  expect(found(await examine('--json'), 'trust')).toMatchObject([
    { state: 'absent', text: expect.stringMatching(/gmn trust$/) },
  ]);
});

posixTest("what others may read of gmn's files, and a home that cannot be used", async (t) => {
  const { examine, home } = scene(t, { home: { ".gmn/it's.json": '{}', '.gmn/private.json': '{}' } });
  chmodSync(join(home, '.gmn'), 0o700);
  chmodSync(join(home, '.gmn/private.json'), 0o600);
  chmodSync(join(home, ".gmn/it's.json"), 0o644);
  expect(found(await examine('--json'), 'home')).toEqual([
    {
      check: 'home',
      state: 'warning',
      text: '<root>/home/.gmn: other users may read something in it',
      remedies: [{ words: 'Make it private', command: "chmod 600 '<root>/home/.gmn/it'\\''s.json'" }],
    },
  ]);
  const other = scene(t, { home: { '.gmn': 'a file' } });
  const result = await other.examine('--json');
  expect(result.status).toBe(4);
  expect(found(result, 'home')[0]).toMatchObject({ state: 'failure', text: '<root>/home/.gmn is not a directory' });
});

test('a home that cannot be made is the first line', async (t) => {
  const { examine } = scene(t, { files: { taken: '' }, env: { GMN_HOME: 'taken/gmn' } });
  const { status, report } = await examine('--json').then(({ status, ...rest }) => ({ status, report: rest }));
  expect(status).toBe(4);
  expect(JSON.stringify(report)).toMatch(/^[^}]*nothing can be kept: [^"]*taken is not a directory/);
});

posixTest(
  'directories that a person made with a plain mkdir are no fault, unless others may write there',
  async (t) => {
    const { examine, home } = scene(t, { home: { '.gmn/templates/a.md': 'x' } });
    const own = [join(home, '.gmn'), join(home, '.gmn/templates')];
    for (const path of own) chmodSync(path, 0o755);
    expect(found(await examine('--json'), 'home')).toMatchObject([{ state: 'ok', text: '<root>/home/.gmn' }]);
    for (const path of own) chmodSync(path, 0o775);
    expect(found(await examine('--json'), 'home')).toMatchObject([{ state: 'warning', remedies: [{}, {}] }]);
  },
);

test('sessions are counted', async (t) => {
  const { examine } = scene(t, { home: { '.gmn/sessions/a.jsonl': 'x'.repeat(1500), '.gmn/sessions/b.jsonl': '' } });
  expect(found(await examine('--json'), 'sessions')).toMatchObject([
    { state: 'ok', text: '<root>/home/.gmn/sessions, 2 sessions, 1.5 kB' },
  ]);
});

test('variables that send requests elsewhere are shown without what they hold besides', async (t) => {
  const env = {
    GOOGLE_GEMINI_BASE_URL: 'https://gateway.example/path?key=hush-1',
    CODE_ASSIST_ENDPOINT: 'http://plain.example',
    HTTPS_PROXY: 'http://me:hush-2@proxy.example:3128',
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
    GEMINI_API_KEY: 'hush-3',
    GMN_DEMO: '1',
  };
  const { examine } = scene(t, { env });
  const result = await examine('--json');
  expect(result.status).toBe(4);
  expect(found(result, 'endpoint')).toMatchObject([
    { state: 'ok', text: 'GOOGLE_GEMINI_BASE_URL is https://gateway.example' },
    { state: 'failure', code: 4, text: expect.stringMatching(/^CODE_ASSIST_ENDPOINT must use https/) },
  ]);
  expect(found(result, 'proxy')).toMatchObject([{ state: 'ok', text: 'http://proxy.example:3128' }]);
  expect(found(result, 'certificates')).toMatchObject([{ state: 'warning' }]);
  expect(found(result, 'demo')).toMatchObject([{ state: 'warning' }]);
  expect(JSON.parse(result.stdout).demo).toBe(true);
  expect(result.stdout + (await examine()).stdout).not.toContain('hush');
});

posixTest('MCP servers: faulty entries, programs that are not there, addresses without their secrets', async (t) => {
  const mcpServers = {
    good: { command: '/bin/sh', args: ['--token', 'hush'] },
    'my server': { command: 'no-such-program' },
    web: { httpUrl: 'https://mcp.example/path?token=hush' },
    both: { command: 'x', url: 'https://y.example' },
    off: { command: 'x' },
  };
  const { examine } = scene(t, {
    settings: { mcpServers, mcp: { excluded: ['off'] } },
    env: { GEMINI_API_KEY: 'k' },
  });
  const result = await examine('--json');
  expect(result.status).toBe(4);
  expect(found(result, 'mcp').map(({ state, code, text }) => [state, code, text])).toEqual([
    ['ok', undefined, 'good: /bin/sh'],
    ['failure', 5, 'my server: there is no program no-such-program'],
    ['ok', undefined, 'web: https://mcp.example'],
    ['failure', 4, expect.stringMatching(/^both: /)],
    ['absent', undefined, 'off: disabled'],
  ]);
  expect(result.stdout).not.toContain('hush');
});

test.for([
  ['gemini-2.5-pro', 'warning', /^gemini-2\.5-pro is being retired/],
  ['gemini-3.8-flash', 'ok', /^gemini-3\.8-flash$/],
  ['pro', 'ok', /^pro, which is gemini-pro-latest$/],
  ['gemini-3.8-flahs', 'warning', /Did you mean gemini-3\.8-flash/],
  ['no model', 'failure', /cannot be the name of a model/],
] as const)('the model %s is %s', async ([name, state, text], t) => {
  const { examine } = scene(t, { env: { GEMINI_API_KEY: 'k', GMN_MODEL: name } });
  expect(found(await examine('--json'), 'model')).toMatchObject([{ state, text: expect.stringMatching(text) }]);
});

test.for([
  [{ GEMINI_API_KEY: 'k' }, 'gemini-flash-latest'],
  [{ GOOGLE_API_KEY: 'k', GOOGLE_GENAI_USE_ENTERPRISE: 'true' }, 'gemini-3.8-flash'],
] as const)('the model is that of the backend in use: %j', async ([env, fallback], t) => {
  const { examine } = scene(t, { env });
  const text = `gemini-2.5-flash, the default; where it is retired, ${fallback} answers`;
  expect(found(await examine('--json'), 'model')).toMatchObject([{ state: 'ok', text }]);
});

posixTest('another gmn on PATH is named', async (t) => {
  const at = place(t, { isFirstRun: true });
  mkdirSync(join(at.root, 'bin'));
  writeFileSync(join(at.root, 'bin', 'gmn.js'), '', { mode: 0o755 });
  const other = join(at.root, 'bin', 'gmn.js');
  symlinkSync(other, join(at.root, 'bin', 'gmn'));
  const { examine } = scene(t, { env: { PATH: join(at.root, 'bin') } });
  expect(found(await examine('--json'), 'gmn')).toMatchObject([
    { state: 'warning', text: expect.stringContaining(`"gmn" on PATH is another one: ${other}`) },
  ]);
});

test('who uses Code Assist is told when it ends', async (t) => {
  const env = { GOOGLE_GENAI_USE_GCA: 'true', GOOGLE_CLOUD_ACCESS_TOKEN: 'ya29.token-0123456789' };
  const [finding] = found(await scene(t, { env }).examine('--json'), 'backend');
  expect(finding).toMatchObject({
    state: 'ok',
    text: expect.stringMatching(/9 October 2026.*31 January 2027.*31 December 2027/),
  });
  const other = scene(t, { env: { GEMINI_API_KEY: 'a-key-0123456789' } });
  expect(found(await other.examine('--json'), 'backend')).toEqual([]);
});
