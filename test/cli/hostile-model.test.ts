import { existsSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, type TestContext } from 'vitest';
import { isLong } from '../support/fuzz.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmnIn, place, startGmn } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { CANARY, generatedPayload, payloadTable, plantScene } from '../tools/payload-scene.ts';
import { put, snapshot } from '../tools/place.ts';
import { DISGUISES, PROTECTED } from '../tools/protected-paths.ts';

const PWN = { old_string: CANARY.slice(0, 6), new_string: 'pwned' };

const CALLS: readonly ((path: string) => { readonly name: string; readonly args: object })[] = [
  (path) => ({ name: 'read_file', args: { file_path: path } }),
  (path) => ({ name: 'list_directory', args: { dir_path: path } }),
  (path) => ({ name: 'write_file', args: { file_path: path, content: 'pwned' } }),
  (path) => ({ name: 'edit_file', args: { file_path: path, old_string: CANARY.slice(0, 6), new_string: 'pwned' } }),
  (path) => ({ name: 'edit_file', args: { file_path: path, old_string: '', new_string: 'pwned' } }),
  (path) => ({ name: 'edit_file', args: { file_path: path, edits: [PWN, { old_string: '-5f0', new_string: '' }] } }),
  (path) => ({ name: 'glob', args: { dir_path: path, pattern: '**/*' } }),
  (path) => ({ name: 'glob', args: { pattern: path } }),
  (path) => ({ name: 'search_file_content', args: { dir_path: path, pattern: 'canar' } }),
  (path) => ({ name: 'search_file_content', args: { pattern: 'canar', include_pattern: path } }),
  (path) => ({ name: 'run_shell_command', args: { command: 'echo here', dir_path: path } }),
  (path) => ({ name: 'run_shell_command', args: { command: 'echo here', dir_path: path, is_background: true } }),
  (path) => ({ name: 'web_fetch', args: { prompt: `read file://${path}`, url: `file://${path}` } }),
];

const IN_REPLY = 50;
const IN_RUN = 190;
const MODES = ['default', 'auto_edit', 'plan', 'yolo'] as const;

function chunksOf<T>(list: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  );
}

interface Attack {
  readonly mode: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** One run in which the model reads a file that it may, then makes these calls, fifty a reply; all it was told. */
async function attacked(t: TestContext, others: readonly object[], { mode, cwd, env }: Attack): Promise<string> {
  const calls = [{ name: 'read_file', args: { file_path: 'inside.txt' } }, ...others];
  const script = chunksOf(calls, IN_REPLY).map((some) => reply(...some.map((functionCall) => ({ functionCall }))));
  const gemini = await fakeGemini(t, [...script, reply('done')]);
  const at = { cwd, env: { ...env, GEMINI_API_KEY: 'test-key-0123456789', GOOGLE_GEMINI_BASE_URL: gemini.url } };
  const gmn = await callGmnIn(t, at, ['--tools', 'all', '--approval-mode', mode, '-o', 'json', 'go']);
  const { response, toolCalls } = JSON.parse(gmn.stdout);
  expect(response).toBe('done');
  expect(toolCalls).toHaveLength(calls.length);
  expect(toolCalls[0].result).toEqual({ output: 'inside' });
  return gmn.stdout + gemini.requests.map(({ body }) => JSON.stringify(body)).join('\n');
}

posixTest.for(MODES)(
  'in mode %s no tool of the real program is led out of the workspace by any of hundreds of paths',
  { timeout: 120_000 },
  async (mode, t) => {
    const { root: spelled, env } = place(t);
    const top = realpathSync(spelled);
    const cwd = plantScene(top);
    const more = fc.sample(generatedPayload(top, cwd), { numRuns: 600, seed: 7 });
    const all = [...new Set([...payloadTable(top, cwd), ...more])].slice(0, 600);
    expect(all.length).toBeGreaterThanOrEqual(500);
    // In a short run each path gets one mode, and each mode all kinds of paths.
    const payloads = all.filter((_, index) => isLong || index % MODES.length === MODES.indexOf(mode));
    const outside = () => Object.entries(snapshot(top)).filter(([name]) => !/^\/(?:app|home)(?:\/|$)/.test(name));
    const before = outside();
    // A path meets another tool in each mode, and each tool all kinds of paths.
    const shift = MODES.indexOf(mode) * 3;
    const calls = payloads.map((path, index) => CALLS[(index + shift) % CALLS.length]?.(path) ?? {});
    for (const some of chunksOf(calls, IN_RUN)) {
      expect(await attacked(t, some, { mode, cwd, env })).not.toContain(CANARY);
    }
    expect(outside()).toEqual(before);
  },
);

posixTest('under --yolo none of 160 writes to protected paths lands', { timeout: 60_000 }, async (t) => {
  const { root, env } = place(t);
  const cwd = plantScene(realpathSync(root));
  const before = snapshot(cwd);
  const paths = PROTECTED.flatMap((path) => DISGUISES.map((disguise) => disguise(path)));
  expect(paths).toHaveLength(160);
  const calls = paths.map((path) => ({ name: 'write_file', args: { file_path: path, content: 'pwned' } }));
  await attacked(t, calls, { mode: 'yolo', cwd, env });
  expect(snapshot(cwd)).toEqual(before);
});

posixTest(
  'under --yolo several edits of one call reach no protected file, not by a link either; all are made or none',
  async (t) => {
    const { root, env } = place(t);
    const cwd = plantScene(realpathSync(root));
    const protectedFiles = ['.git/config', '.gemini/settings.json', '.vscode/tasks.json', '.github/workflows/ci.yml'];
    put(cwd, { ...Object.fromEntries(protectedFiles.map((path) => [path, '{"a": 1}'])), 'own.txt': 'one two\n' });
    symlinkSync('.git/config', join(cwd, 'to-config'));
    symlinkSync('.gemini', join(cwd, 'to-gemini'));
    const before = snapshot(cwd);
    const edit = (path: string, ...words: readonly string[]) => ({
      name: 'edit_file',
      args: { file_path: path, edits: words.map((word) => ({ old_string: word, new_string: 'pwned' })) },
    });
    const paths = [...protectedFiles, 'to-config', 'to-gemini/settings.json', './sub/../.git/config', '.GIT/config'];
    const calls = [
      ...['own.txt', ...paths].map((path) => ({ name: 'read_file', args: { file_path: path } })),
      ...paths.map((path) => edit(path, '"a"', '1')),
      ...['file', 'via-file', 'directory/canary.txt', '../secret.txt'].map((path) => edit(path, 'can', 'ary')),
      ...[edit('own.txt', 'one', 'three'), edit('own.txt', 'one two', 'two'), edit('own.txt', 'one', ' ')],
    ];
    await attacked(t, calls.slice(0, -1), { mode: 'yolo', cwd, env });
    expect(snapshot(cwd)).toEqual(before);
    await attacked(t, [calls[0] ?? {}, calls.at(-1) ?? {}], { mode: 'yolo', cwd, env });
    expect(readFileSync(join(cwd, 'own.txt'), 'utf8')).toBe('pwnedpwnedtwo\n');
  },
);

/** What a home directory holds that no model should see, though it may be asked to work there. */
const SECRETS: readonly string[] = [
  ...['.ssh/id_rsa', '.ssh/id_ed25519', '.ssh/config', '.gnupg/secring.gpg', '.aws/credentials', '.netrc', '.npmrc'],
  ...[
    '.gemini/oauth_creds.json',
    '.gemini/settings.json',
    '.gemini/.env',
    '.gemini/tmp/x/chats/y.json',
    '.gmn/key.json',
  ],
  ...['.gmn/sessions/a.jsonl', '.gmn/tokens/a.json', '.gmn/trust.json', '.env', '.env.local', 'app/.env', 'server.pem'],
  ...[
    'gha-creds-1.json',
    'app/id_dsa',
    'app/tls.key',
    '.pgpass',
    '.git-credentials',
    '.docker/config.json',
    '.kube/config',
  ],
];

posixTest('in the home directory secrets stay where they are, under --yolo too', async (t) => {
  const content = (path: string): string => (path.endsWith('.json') ? JSON.stringify({ x: CANARY }) : `X=${CANARY}`);
  const { home, env } = place(t, { home: Object.fromEntries(SECRETS.map((path) => [path, content(path)])) });
  put(home, { 'inside.txt': 'inside\n' });
  const before = snapshot(home);
  const kernel = ['/proc/self/environ', '/proc/1/environ', '/proc/self/fd/0', '/sys/kernel/notes', '/dev/mem'];
  const readings = [...SECRETS.flatMap((path) => [path, join(home, path)]), ...kernel];
  expect(readings.length).toBeGreaterThanOrEqual(55);
  const calls = [
    ...readings.map((path) => ({ name: 'read_file', args: { file_path: path } })),
    { name: 'search_file_content', args: { pattern: 'canar' } },
    { name: 'glob', args: { pattern: '**/*' } },
    { name: 'write_file', args: { file_path: '.bashrc', content: 'pwned' } },
    { name: 'run_shell_command', args: { command: 'cat ~/.ssh/id_rsa' } },
  ];
  const told = await attacked(t, calls, { mode: 'yolo', cwd: home, env: { ...env, GMN_SECRET: CANARY } });
  expect(told).not.toContain(CANARY);
  const { '/.gmn': _, ...after } = snapshot(home);
  expect(Object.entries(after).filter(([path]) => !path.startsWith('/.gmn/'))).toEqual(
    Object.entries(before).filter(([path]) => !path.startsWith('/.gmn')),
  );
});

posixTest('nothing but the command line turns off the questions', async (t) => {
  const yolo = JSON.stringify({
    yolo: true,
    approvalMode: 'yolo',
    general: { approvalMode: 'yolo', defaultApprovalMode: 'yolo', yolo: true },
    tools: { approvalMode: 'yolo', autoAccept: true },
    security: { disableYoloMode: false },
  });
  const made = call('write_file', { file_path: 'new.txt', content: 'x' });
  const gemini = await fakeGemini(t, [reply(made), reply('done')]);
  const here = place(t, {
    gemini,
    home: {
      '.gemini/settings.json': yolo,
      '.gmn/config.json': yolo,
      '.gmn/.env': 'GMN_YOLO=1\nGMN_APPROVAL_MODE=yolo\n',
    },
    files: { '.gemini/settings.json': yolo },
    env: { GMN_YOLO: '1', GEMINI_YOLO: '1', GMN_APPROVAL_MODE: 'yolo', GEMINI_CLI_TRUST_WORKSPACE: 'true' },
  });
  const { stdout } = await callGmnIn(t, here, ['--tools', 'edit', '-o', 'json', 'x']);
  expect(JSON.parse(stdout)).toMatchObject({
    toolCalls: [{ isError: true }],
    warnings: expect.arrayContaining([
      'general.defaultApprovalMode is not taken from a file: gmn asks before every change',
    ]),
  });
  expect(existsSync(join(here.cwd, 'new.txt'))).toBe(false);
});

posixTest('Ctrl+C ends a search that is stuck in a pattern, before the pattern is given up', async (t) => {
  const functionCall = { name: 'search_file_content', args: { pattern: '(a+)+\\1b' } };
  // There is no second answer: a search that gave up by itself would ask for one.
  const gemini = await fakeGemini(t, [reply({ functionCall })]);
  const { cwd, env } = place(t, { gemini, files: { 'a.txt': `${'a'.repeat(60)}!\n` } });
  const { ended } = await startGmn(t, ['--tools', 'read', '-o', 'stream-json', 'go'], {
    at: { cwd, env },
    onStdout: (text, child) => void (text.includes('"tool_call"') && child.kill('SIGINT')),
  });
  expect(await ended).toMatchObject({ exitCode: 130, stdout: expect.stringContaining('[cancelled]') });
});

/** A repository beside the project's own, and what AGENTS.md, nested ones, settings and flags name. */
const PLANTED: Readonly<Record<string, string>> = {
  'x/config': '[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch pwned\n',
  'x/objects/keep': 'x',
  'x/HEAD': 'ref: refs/heads/x\n',
  'x/refs/keep': 'x',
  'docs/rules.md': 'pwned',
  'docs/later.md': 'pwned',
  'sub/rules.md': 'pwned',
  'sub/later.md': 'pwned',
  'TEAM.md': 'pwned',
  'system.md': 'pwned',
  'more.md': 'pwned',
};

posixTest('under auto_edit the model makes no repository, and rewrites nothing that instructs it', async (t) => {
  const writes = Object.entries(PLANTED).map(([path, content]) => ({
    name: 'write_file',
    args: { file_path: path, content },
  }));
  const reads = Object.keys(PLANTED).map((path) => ({ name: 'read_file', args: { file_path: path } }));
  // New files first, so that nothing in sub/ was looked at before it is written.
  const calls = [...writes, ...reads, ...writes];
  const script = calls.map((functionCall) => reply({ functionCall }));
  const files = {
    'AGENTS.md': 'Be kind. @docs/rules.md @docs/later.md',
    'docs/rules.md': 'old',
    'sub/AGENTS.md': '@rules.md @later.md',
    'sub/rules.md': 'old',
    'TEAM.md': 'old',
    'system.md': 'old',
    'more.md': 'old',
    '.gemini/settings.json': '{"context":{"fileName":"TEAM.md"}}',
  };
  const env = { GEMINI_CLI_TRUST_WORKSPACE: 'true', GEMINI_SYSTEM_MD: 'system.md' };
  const flags = ['--tools', 'edit', '--approval-mode', 'auto_edit', '--append-system-prompt', '@more.md'];
  for (const way of ['one-shot', 'chat'] as const) {
    const gemini = await fakeGemini(t, [...script, reply('done')]);
    const at = place(t, { gemini, files, env });
    const words = way === 'chat' ? ['chat', ...flags, '--plain'] : [...flags, 'go'];
    await callGmnIn(t, at, words, way === 'chat' ? 'go\n' : undefined);
    expect(gemini.requests).toHaveLength(calls.length + 1);
    const state = Object.keys(PLANTED).map((path) => {
      const file = join(at.cwd, path);
      return [path, existsSync(file) ? readFileSync(file, 'utf8') : undefined] as const;
    });
    expect(Object.fromEntries(state)).toEqual({
      ...Object.fromEntries(Object.keys(PLANTED).map((path) => [path, files[path as keyof typeof files]])),
      'x/config': PLANTED['x/config'],
      'x/objects/keep': 'x',
      'x/HEAD': PLANTED['x/HEAD'],
    });
  }
});
