import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import type { Settings } from '../../../../src/core/app.ts';
import { startWatch } from '../../../../src/engine/tools/sandbox/sandbox-watch.ts';
import { openWatcher } from '../../../../src/engine/tools/sandbox/watched.ts';
import { posixTest } from '../../../support/posix.ts';

/** A workspace with these files, and one that is watched. */
async function workspaceWith(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  { others = [], settings = {} }: { readonly others?: readonly string[]; readonly settings?: Partial<Settings> } = {},
) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-watch-')));
  t.onTestFinished(() => rmSync(home, { recursive: true }));
  const root = join(home, 'w');
  const write = (made: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(made)) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), text);
    }
  };
  write({ plain: '', ...files });
  const homes = { gmn: join(home, '.gmn'), gemini: join(home, '.gemini') };
  const env = { HOME: home, GEMINI_CLI_TRUST_WORKSPACE: 'true' };
  const app = { env, cwd: root, homes: () => homes, settings: async () => ({ env, notices: [], ...settings }) };
  const watch = async () => startWatch(await openWatcher({ app, roots: [root, ...others] }));
  return { home, root, write, watch };
}

test.for([
  ['a repository', '.git/config', '.git (new)'],
  ['what an editor runs', '.vscode/tasks.json', '.vscode (new)'],
  ['what a shell runs', '.envrc', '.envrc (new)'],
  ['instructions', 'AGENTS.md', 'AGENTS.md (new)'],
  ['a part of what was there', '.github/workflows/x.yml', '.github (new)'],
  ['a repository further down', 'a/b/.git', `${join('a', 'b', '.git')} (new)`],
  ['what an editor runs further down', 'a/.vscode/x', `${join('a', '.vscode')} (new)`],
  ['instructions further down', 'a/b/GEMINI.md', `${join('a', 'b', 'GEMINI.md')} (new)`],
  ['programs of an installation', 'node_modules/.bin/x', `${join('node_modules', '.bin')} (new)`],
  ['programs of a virtual environment', 'env/bin/python', `${join('env', 'bin')} (new)`],
  ['another hook', '.git2/hooks/post-commit', join('.git2', 'hooks', 'post-commit (new)')],
  ['other text', '.mcp.json', '.mcp.json'],
  ['other text further down', 'sub/.git/config', join('sub', '.git', 'config')],
] as const)('%s that is made or changed is told once', async ([, name, told], t) => {
  const names = ['.mcp.json', 'sub/.git/HEAD', 'sub/.git/config', '.github/x', 'env/pyvenv.cfg', '.git2/HEAD'];
  const repository = ['.git2/objects/x', '.git2/refs/x', '.git2/hooks/pre-commit'];
  const { write, watch } = await workspaceWith(
    t,
    Object.fromEntries([...names, ...repository].map((each) => [each, ''])),
  );
  const { report } = await watch();
  expect(await report()).toBeUndefined();
  write({ [name]: 'other', 'src/main.c': '', '.venv/bin/x': '', 'node_modules/x/.git/config': '', '.git2/index': '' });
  expect(await report()).toContain(`is not as before: ${told}. Look at it`);
  expect(await report()).toBeUndefined();
  // The same content, written again.
  write({ [name]: 'other' });
  expect(await report()).toBeUndefined();
});

test('what was removed is told, as a whole', async (t) => {
  const { root, watch } = await workspaceWith(t, { '.geminiignore': 'secret', '.husky/a': '', '.husky/b': '' });
  const { report } = await watch();
  for (const name of ['.geminiignore', '.husky']) rmSync(join(root, name), { recursive: true });
  expect(await report()).toContain('.geminiignore (removed), .husky (removed). Look');
});

posixTest('a link that leads elsewhere, or to other content, is told', async (t) => {
  const { root, write, watch } = await workspaceWith(t, {
    'one/x': '',
    'two/x': '',
    'bin.js': '',
    'node_modules/.bin/a': '',
  });
  symlinkSync('one', join(root, '.vscode'));
  symlinkSync('../../bin.js', join(root, 'node_modules/.bin/tool'));
  const { report } = await watch();
  rmSync(join(root, '.vscode'));
  symlinkSync('two', join(root, '.vscode'));
  write({ 'bin.js': 'other' });
  expect(await report()).toContain(`: .vscode, ${join('node_modules', '.bin', 'tool')}, two (new). Look`);
});

test('an import of the instruction is watched, wherever it is, and if it is not there yet', async (t) => {
  const files = { 'AGENTS.md': '@docs/rules.md @docs/later.md', 'docs/rules.md': 'a', 'sub/AGENTS.md': '@inner.md' };
  const { root, write, watch } = await workspaceWith(t, { ...files, 'sub/inner.md': '' });
  const { report } = await watch();
  appendFileSync(join(root, 'docs/rules.md'), '\nplanted');
  write({ 'docs/later.md': 'planted', 'docs/other.md': '', 'sub/inner.md': 'planted' });
  const told = ['later.md (new)', 'rules.md'].map((name) => join('docs', name));
  expect(await report()).toContain(`: ${told.join(', ')}, ${join('sub', 'inner.md')}. Look`);
});

posixTest('a program that runs as its owner is told, if it was not one before', async (t) => {
  const { root, watch } = await workspaceWith(t, { 'bin/old': '', 'bin/new': '', 'bin/group': '' });
  chmodSync(join(root, 'bin/old'), 0o4755);
  const { report } = await watch();
  chmodSync(join(root, 'bin/new'), 0o4755);
  chmodSync(join(root, 'bin/group'), 0o2755);
  expect(await report()).toContain(': bin/group (runs as its owner), bin/new (runs as its owner). Look');
});

test('names of several roots are whole, and not too many are shown', async (t) => {
  const other = await workspaceWith(t, {});
  const { write, watch } = await workspaceWith(t, {}, { others: [other.root] });
  const { report } = await watch();
  for (let index = 0; index < 12; index += 1) write({ [`${index}/.git/config`]: '' });
  expect(await report()).toMatch(/before: \S+w\W0\W\.git \(new\), [^\n]* and 2 others\. Look/);
});

test('what was not looked at is said once', async (t) => {
  const { root, write, watch } = await workspaceWith(t, {});
  for (let index = 0; index < 1100; index += 1) mkdirSync(join(root, 'many', String(index)), { recursive: true });
  const { report } = await watch();
  expect(await report()).toMatch(/: only the first 1000 directories and their files were looked at/);
  expect(await report()).toBeUndefined();
  write({ '.envrc': '' });
  expect(await report()).toMatch(/\.envrc \(new\)\. Look at it before you use git, an editor or an agent there$/);
});

const user = { scope: 'user', file: '/home/settings.json', name: 's' } as const;

test.for<[string, Partial<Settings>]>([
  ['a server', { servers: [{ ...user, definition: { command: 'node', args: ['my tools/serve.js'] } }] }],
  ['a server elsewhere', { servers: [{ ...user, definition: { command: './serve.js', cwd: 'my tools' } }] }],
  ['the server of a line', { serverCommand: { ...user, definition: 'node "my tools/serve.js"' } }],
  [
    'a hook in quotes',
    {
      hooks: [
        {
          ...user,
          hooks: { BeforeTool: [{ hooks: [{ type: 'command', command: 'sh "my tools/serve.js"' }] }] },
        },
      ],
    },
  ],
])('a script of the workspace is watched if the user runs it as %s', async ([, settings], t) => {
  const { write, watch } = await workspaceWith(t, { 'my tools/serve.js': 'a' }, { settings });
  const { report } = await watch();
  write({ 'my tools/serve.js': 'b' });
  expect(await report()).toContain(`is not as before: ${join('my tools', 'serve.js')}. Look`);
});

test('a server of the folder is not among them: it runs confined', async (t) => {
  const definition = { command: 'node', args: ['serve.js'] };
  const settings: Partial<Settings> = { servers: [{ ...user, scope: 'workspace', definition }] };
  const { write, watch } = await workspaceWith(t, { 'serve.js': 'a' }, { settings });
  const { report } = await watch();
  write({ 'serve.js': 'b' });
  expect(await report()).toBeUndefined();
});

posixTest('a file is watched if it is what a shell or git reads at home', async (t) => {
  const { home, root, write, watch } = await workspaceWith(t, { rc: 'a', 'git/config': 'a', plain2: 'a' });
  symlinkSync(join(root, 'rc'), join(home, '.bashrc'));
  mkdirSync(join(home, '.config'));
  symlinkSync(join(root, 'git'), join(home, '.config/git'));
  symlinkSync(join(root, 'plain2'), join(home, 'plain2'));
  const { report } = await watch();
  write({ rc: 'b', 'git/config': 'b', plain2: 'b' });
  expect(await report()).toContain(`is not as before: ${join('git', 'config')}, rc. Look`);
});
