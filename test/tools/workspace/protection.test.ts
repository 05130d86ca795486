import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, win32 } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  SECRET_NAMES,
  SECRET_PATTERNS,
  SENSITIVE_DIRECTORIES,
  SENSITIVE_PAIRS,
} from '../../../src/core/text/secret-lists.ts';
import { isSensitivePath } from '../../../src/core/text/secrets.ts';
import {
  PROTECTED_DIRECTORIES,
  PROTECTED_FILES,
  PROTECTED_PAIRS,
  PROTECTED_PATTERNS,
} from '../../../src/tools/workspace/protected-lists.ts';
import { isProtected, isSystemPath, isTooBroad } from '../../../src/tools/workspace/protection.ts';
import { fuzz } from '../../support/fuzz.ts';
import { isWindows } from '../../support/posix.ts';
import { type Files, place, placeAt, put, snapshot } from '../place.ts';
import { DISGUISES, PROTECTED, WRITE_PROTECTED } from '../protected-paths.ts';
import { ORDINARY, READ_PROTECTED } from '../secret-paths.ts';

/** On Windows a name with a dot at its end is no path at all. */
const REFUSED = isWindows ? /is protected|\. is outside the workspace/ : /is protected/;

test.each(['existing', 'missing'])('none of 160 writes to protected paths lands, the file %s', async (state) => {
  const files: Files = state === 'existing' ? Object.fromEntries(PROTECTED.map((path) => [path, 'old\n'])) : {};
  const here = await place({ 'x/a.txt': 'a\n', ...files });
  for (const path of PROTECTED) if (state === 'existing') await here.call('read_file', { path });
  const before = snapshot(here.root);
  let count = 0;
  for (const path of PROTECTED) {
    for (const disguise of DISGUISES) {
      const name = disguise(path);
      const written = await here.call('write_file', { path: name, content: 'pwned' });
      const edited = await here.call('edit_file', { path: name, old_string: '', new_string: 'pwned' });
      expect([name, written.ok, edited.ok]).toEqual([name, false, false]);
      count += 1;
    }
  }
  expect(count).toBe(160);
  expect(snapshot(here.root)).toEqual(before);
});

test.for(WRITE_PROTECTED)('%s is never written', (path) => {
  expect(isProtected(path)).toBe(true);
});

test.for(READ_PROTECTED)('%s is read only after a person said so', (path) => {
  expect(isSensitivePath(path)).toBe(true);
});

test('every entry of the lists has a path among these, and is in lower case', () => {
  const untested = (paths: readonly string[], lists: readonly (string | RegExp)[]) => {
    const folded = paths.map((path) => `/${path.toLowerCase()}/`);
    const has = (entry: string | RegExp) =>
      typeof entry === 'string'
        ? folded.some((path) => path.includes(`/${entry}/`))
        : folded.some((path) => entry.test(path.split('/').at(-2) ?? ''));
    return lists.filter((entry) => !has(entry));
  };
  expect(
    untested(WRITE_PROTECTED, [
      ...PROTECTED_DIRECTORIES,
      ...PROTECTED_PAIRS,
      ...PROTECTED_FILES,
      ...PROTECTED_PATTERNS,
    ]),
  ).toEqual([]);
  expect(
    untested(READ_PROTECTED, [...SECRET_NAMES, ...SECRET_PATTERNS, ...SENSITIVE_DIRECTORIES, ...SENSITIVE_PAIRS]),
  ).toEqual([]);
});

test('what people work on is neither', () => {
  expect(ORDINARY.filter((path) => isProtected(path))).toEqual([]);
  expect(ORDINARY.filter((path) => isSensitivePath(path))).toEqual([]);
});

test.for([
  'Jenkinsfile.md',
  'docs/jenkinsfile.adoc',
  'simple-git-hooks.md',
  'src/simple-git-hooks.test.ts',
  'src/lefthook.ts',
  'lefthook.md',
  'lefthook-local.svg',
  'codeship-steps.md',
  '.huskyrc.md',
  '.autoenv.md',
  '.envrc.example',
  '.gitconfig.sample',
])('%s, which no program runs, may be written', (path) => {
  expect(isProtected(path)).toBe(false);
});

test('a link with a harmless name does not open a protected directory', async () => {
  const here = await place({ '.git/config': 'old\n', '.github/workflows/ci.yml': 'old\n' });
  symlinkSync('.git', join(here.root, 'harmless'));
  symlinkSync('.github/workflows/ci.yml', join(here.root, 'ci.yml'));
  symlinkSync('.github', join(here.root, 'dir'));
  await here.output('read_file', { path: 'ci.yml' });
  for (const path of ['harmless/config', 'harmless/new', 'ci.yml', 'dir/workflows/x.yml']) {
    expect(await here.error('write_file', { path, content: 'pwned' })).toContain('is protected');
  }
});

test('a root that is itself protected stays so', async () => {
  const here = await place({ '.git/hooks/x': 'old\n', '.github/workflows/ci.yml': 'old\n', '.vscode/a.json': '{}' });
  put(here.root, { '.vscode/sub/deep/a': '', '.gemini/commands/a': '', '.gemini/worktrees/a': '' });
  for (const [root, path] of [
    ['.git', 'config'],
    ['.git/hooks', 'post-merge'],
    ['.github', 'workflows/x.yml'],
    ['.vscode', 'tasks.json'],
    ['.github/workflows', 'x.yml'],
    ['.vscode/sub/deep', 'tasks.json'],
    ['.gemini/commands', 'x.toml'],
    ['.gemini/worktrees', 'x.toml'],
  ] as const) {
    const inner = await placeAt(join(here.root, root));
    expect(await inner.error('write_file', { path, content: 'pwned' })).toContain('is protected');
  }
});

test('a work tree that another program keeps in its own directory can be written', async () => {
  const here = await place({ '.claude/worktrees/one/a.txt': 'a\n' });
  const inner = await placeAt(join(here.root, '.claude/worktrees/one'));
  expect(await inner.output('write_file', { path: 'b.txt', content: 'b\n' })).toBe('Created.');
});

test('a directory named besides the working directory is judged with all that it lies in', async () => {
  const here = await place({ 'app/a.txt': '', '.vscode/x/a.json': '{}', '.aws/sso/cache/token.json': 'canary\n' });
  const roots = ['app', '.vscode/x', '.aws/sso/cache'].map((name) => join(here.root, name));
  const inner = await placeAt(join(here.root, 'app'), { roots });
  const [, code = '', aws = ''] = roots;
  expect(await inner.error('write_file', { path: join(code, 'b.json'), content: 'x' })).toContain('is protected');
  expect(await inner.error('read_file', { path: join(aws, 'token.json') })).toContain('may hold secrets');
  expect(await inner.error('glob', { pattern: '*', path: aws })).toContain('may hold secrets');
  expect(await inner.output('read_file', { path: join(code, 'a.json') })).toBe('{}');
});

test('credentials and sessions in a home that the environment does not name are closed', async () => {
  const files = ['.gemini/oauth_creds.json', '.gemini/tmp/x/chats/a.json', '.gmn/key.json', '.gmn/sessions/a.jsonl'];
  const here = await place(Object.fromEntries([...files, '.gemini/GEMINI.md'].map((path) => [path, 'canary\n'])));
  for (const path of files) {
    expect(await here.error('read_file', { path })).toContain('outside the workspace');
    expect(await here.error('read_file', { path: path.toUpperCase() })).toContain('outside the workspace');
  }
  expect(await here.error('read_file', { path: '.gemini/GEMINI.md' })).toContain('may hold secrets');
  expect(await here.output('search_file_content', { pattern: 'canary' })).toEqual({ matches: [] });
});

/** Whether git, started there, would take the directory itself for a repository. */
function isBareRepository(directory: string): boolean {
  const has = (...names: readonly string[]) => names.every((name) => existsSync(join(directory, name)));
  return has('HEAD', 'objects', 'refs') || has('HEAD', 'commondir');
}

const GIT_NAMES = ['HEAD', 'head', 'config', 'objects', 'Objects', 'refs', 'refs', 'commondir', 'hooks', 'a'];

test('no order of writes makes a directory a repository of which git would run the config', async () => {
  const step = fc.constantFrom(...GIT_NAMES);
  const written = fc.tuple(fc.constantFrom('', 'a/b/'), step, fc.constantFrom('', '/x')).map((way) => way.join(''));
  await fc.assert(
    fc.asyncProperty(fc.array(written, { maxLength: 10 }), async (paths) => {
      const here = await place({ 'a/b/x': '' });
      for (const path of paths) await here.call('write_file', { path, content: 'ref: refs/heads/x\n' });
      for (const path of ['', 'a/b']) {
        expect(isBareRepository(join(here.root, path)), path).toBe(false);
      }
    }),
    fuzz(30),
  );
});

test('what is missing to make a repository is not written, and what is ordinary by itself is', async () => {
  const here = await place({ 'part/objects/x': '', 'part/refs/x': '', 'src/objects/x': '', 'linked/x': '' });
  for (const path of ['HEAD', 'config', 'part/config', 'part/notes.md', 'src/HEAD', 'refs/x', 'hooks/use-x.ts'])
    await here.output('write_file', { path, content: 'x\n' });
  for (const path of ['part/HEAD', 'part/head', 'part/HEAD/x', 'part/hEAD.', 'src/refs/y', 'commondir', 'objects/y'])
    expect(await here.error('write_file', { path, content: 'x' }), path).toMatch(REFUSED);
  symlinkSync('nowhere', join(here.root, 'linked/refs'));
  await here.output('write_file', { path: 'linked/objects/x', content: 'x\n' });
  expect(await here.error('write_file', { path: 'linked/HEAD', content: 'x' })).toContain('is protected');
});

test('a repository without .git is protected as a whole, but not a work tree in it', async () => {
  const bare = { 'x.git/HEAD': '', 'x.git/objects/x': '', 'x.git/refs/x': '', 'x.git/config': 'old\n' };
  const here = await place({ ...bare, 'x.git/main/.git': 'gitdir: ..\n', 'tree/HEAD': '', 'tree/commondir': '' });
  await here.output('read_file', { path: 'x.git/config' });
  for (const path of ['x.git/config', 'x.git/CONFIG', 'x.git/hooks/post-checkout', 'x.git/info/attributes', 'tree/any'])
    expect(await here.error('write_file', { path, content: 'x' }), path).toContain('is protected');
  await here.output('write_file', { path: 'x.git/main/config', content: 'x\n' });
  const inner = await placeAt(join(here.root, 'x.git/objects'));
  expect(await inner.error('write_file', { path: 'info/alternates', content: 'x' })).toContain('is protected');
  const tree = await placeAt(join(here.root, 'x.git/main'));
  await tree.output('write_file', { path: 'HEAD', content: 'x\n' });
});

test('what is watched is not written unless that was asked about, by whatever spelling, and each time', async () => {
  const here = await place({ 'docs/Rules.md': 'old\n', 'docs/other.md': 'old\n', 'flag.md': 'old\n' });
  const asked: string[] = [];
  const inner = await placeAt(here.root, {
    listWatched: async (path) => {
      asked.push(path);
      return [join(here.root, 'docs/Rules.md'), join(here.root, 'docs/new/later.md')];
    },
  });
  inner.workspace.protect([join(here.root, 'flag.md')]);
  symlinkSync('docs', join(here.root, 'link'));
  for (const path of ['docs/Rules.md', 'link/Rules.md', 'docs/new/later.md', 'docs/new/LATER.md', 'flag.md']) {
    if (!path.includes('new')) await inner.output('read_file', { path });
    expect(await inner.error('write_file', { path, content: 'x' }), path).toContain(
      'was not written: it instructs models or is run by other programs',
    );
  }
  inner.workspace.permitChange(join(here.root, 'docs/Rules.md'));
  await inner.output('write_file', { path: 'docs/Rules.md', content: 'approved\n' });
  expect(await inner.error('write_file', { path: 'docs/Rules.md', content: 'x' })).toContain('was not written');
  await inner.output('read_file', { path: 'docs/other.md' });
  await inner.output('write_file', { path: 'docs/other.md', content: 'x\n' });
  await inner.output('write_file', { path: 'docs/new/else.md', content: 'x\n' });
  expect(asked).toContain(join(here.root, 'docs/new/else.md'));
});

test('files that others take for settings or keys are not made, but changed if the user let them be read', async () => {
  const here = await place({ '.env': 'A=1\n' });
  for (const path of ['.env.local', 'sub/.ENV', 'id_rsa.pub', 'id_mine']) {
    expect(await here.error('write_file', { path, content: 'x' })).toContain('is protected');
  }
  for (const path of ['.env.example', 'id_map.py', 'NOTES.md'])
    await here.output('write_file', { path, content: 'x\n' });
  here.workspace.permit((await here.workspace.findSecretAt('.env'))!);
  await here.output('read_file', { path: '.env' });
  expect(await here.output('write_file', { path: '.env', content: 'A=2\n' })).toBe('Replaced.');
});

test.each([
  ['.env', true],
  ['.ENV.local', true],
  ['config/prod.pem', true],
  ['id_ed25519', true],
  ['.npmrc', true],
  ['gha-creds-1.json', true],
  ['.ssh/known_hosts', true],
  ['.config/gcloud/x.db', true],
  ['%2eenv', true],
  ['environment.ts', false],
  ['src/id.ts', false],
  ['config/gh/x', false],
] as const)('%s is sensitive: %s', (path, expected) => {
  expect(isSensitivePath(path)).toBe(expected);
});

test.each([
  ['src/git/a.ts', false],
  ['.gitignore', false],
  ['.github/ISSUE_TEMPLATE.md', false],
  ['workflows/ci.yml', false],
  ['GIT~1/config', true],
  ['gemini~1/settings.json', true],
  ['notes~1/x', false],
  ['.git::$INDEX_ALLOCATION/config', true],
  ['.bash_aliases', true],
  ['.zprofile', true],
  ['src\\.git\\config', true],
  ...[
    '.travis.yml',
    'ci/Jenkinsfile',
    '.drone.yml',
    '.woodpecker.yml',
    '.buildkite/pipeline.yml',
    'azure-pipelines.yml',
    'bitbucket-pipelines.yml',
    '.gitlab/ci/a.yml',
    '.gitlab-ci.yml',
    'lefthook.yml',
    '.lefthook.yml',
    'my.code-workspace',
    '.fleet/run.json',
    '.nvim.lua',
    '.vim/vimrc',
    '.cargo/config.toml',
    '.mise.toml',
    'mise.toml',
    '.bazelrc',
    '.mvn/extensions.xml',
    '.yarn/releases/yarn.cjs',
    '.gitattributes',
    '.jj/repo/config.toml',
    '.config/systemd/user/a.service',
    '.local/bin/ls',
    '.windsurf/rules',
    '.roo/mcp.json',
    '.kiro/hooks/a',
    '.trae/rules',
    '.continue/config.yaml',
    'docs/GEMINI.md',
  ].map((path) => [path, true] as const),
  ['AGENTS.md', true],
  ['.cargo/notes.md', false],
  ['.config/app/a.json', false],
  ['config.toml', false],
] as readonly (readonly [string, boolean])[])('%s is protected: %s', (path, expected) => {
  expect(isProtected(path)).toBe(expected);
});

test.each([
  ['/', '/home/ann', true],
  ['/home/ann', '/home/ann', true],
  ['/home', '/home/ann', true],
  ['/home/ann/work', '/home/ann', false],
  ['/home/annie', '/home/ann', false],
] as const)('the root %s of %s is too broad: %s', (root, home, expected) => {
  expect(isTooBroad(root, home)).toBe(expected);
});

test('the paths of the kernel are nobody’s files', () => {
  const paths = ['/proc/1/mem', '/dev', '/dev/shmem', '/sys/x', '/process', '/home/dev', '/dev/shm/project/a.txt'];
  expect(paths.map((path) => isSystemPath(path, posix))).toEqual([true, true, true, true, false, false, false]);
  expect(paths.map((path) => isSystemPath(win32.resolve('C:\\', path), win32))).toEqual(paths.map(() => false));
});

test('only the user lets a file with secrets be read, and only once', async () => {
  const here = await place({ '.env': 'KEY=1\n', 'plain.txt': 'x\n' });
  symlinkSync('.env', join(here.root, 'notes.txt'));
  put(here.root, { 'keys/server.pem': 'KEY\n' });
  mkdirSync(join(here.root, dirname('a/b')), { recursive: true });
  for (const path of ['.env', 'notes.txt', 'keys/server.pem', './keys/../.env']) {
    expect(await here.workspace.findSecretAt(path)).toMatchObject({ path: expect.stringMatching(/\.(?:env|pem)$/) });
    expect(await here.error('read_file', { path })).toContain('may hold secrets');
  }
  for (const path of ['plain.txt', '../outside', '.env.missing'])
    expect(await here.workspace.findSecretAt(path)).toBe(undefined);
  here.workspace.permit((await here.workspace.findSecretAt('notes.txt'))!);
  expect(await here.output('read_file', { path: '.env' })).toBe('KEY=1');
  expect(await here.error('read_file', { path: '.env' })).toContain('may hold secrets');
  expect(await here.output('search_file_content', { pattern: 'KEY' })).toEqual({ matches: [] });
  expect(await here.output('glob', { pattern: '**/*' })).toEqual({ files: ['plain.txt'] });
});

test.for(['', process.env.PATH ?? ''])(
  'a secret that its directory tells is not found by a search in it, PATH=%j',
  async (PATH) => {
    const paths = ['.git/config', '.m2/settings.xml', 'sub/.codex/auth.json', '.config/composer/auth.json'];
    const files = Object.fromEntries([...paths, '.m2/notes.txt'].map((path) => [path, 'canary\n']));
    const here = await place(files, { env: { PATH } });
    for (const dir_path of ['.', 'sub', ...paths.map((path) => dirname(path))]) {
      const { response } = await here.call('search_file_content', { dir_path, pattern: 'canary' });
      const globbed = await here.call('glob', { dir_path, pattern: '**/*' });
      expect(JSON.stringify([response, globbed.response])).not.toMatch(/settings\.xml|auth\.json|\.git\/config/);
    }
    expect(JSON.stringify(await here.output('search_file_content', { pattern: 'canary' }))).toContain('notes.txt');
  },
);

test('a permission is for that very file, not for another in its place', async () => {
  const here = await place({ '.env': 'KEY=1\n', other: 'KEY=2\n' });
  here.workspace.permit((await here.workspace.findSecretAt('.env'))!);
  renameSync(join(here.root, 'other'), join(here.root, '.env'));
  expect(await here.error('read_file', { path: '.env' })).toContain('may hold secrets');
  here.workspace.permit((await here.workspace.findSecretAt('.env'))!);
  writeFileSync(join(here.root, '.env'), 'KEY=3\n');
  expect(await here.output('read_file', { path: '.env' })).toBe('KEY=3');
});

test('what other programs and models take for instructions, and what the user keeps from models, is not written', async () => {
  const paths = [
    ...['.geminiignore', 'sub/.geminiignore', 'AGENTS.md', 'CLAUDE.md', '.cursorrules', '.windsurfrules'],
    ...['.github/copilot-instructions.md', '.github/instructions/a.md', '.gitea/workflows/a.yml'],
    ...['.forgejo/workflows/a.yml', '.cirrus.yml', '.build.yml', 'appveyor.yml', '.semaphore/semaphore.yml'],
    ...['lefthook.yml', '.lefthook.toml', 'lefthook-local.json', '.huskyrc', '.huskyrc.js', '.pnpmfile.mjs'],
    ...['.pnp.cjs', '.yarn/sdks/typescript/bin/tsc', '.dir-locals.el', '.emacs', '.emacs.d/init.el', '.Rprofile'],
    ...['.irbrc', '.psqlrc', '.shrc', '.xsession', '.config/nvim/init.lua', '.config/environment.d/a.conf'],
  ];
  expect(paths.filter((path) => !isProtected(path))).toEqual([]);
  expect(
    ['agents.ts', 'docs/claude/notes.md', 'gemini/ignore', 'src/lefthooks.ts'].filter((path) => isProtected(path)),
  ).toEqual([]);
  const here = await place();
  expect(await here.error('write_file', { path: '.geminiignore', content: '' })).toContain('is protected');
});

test('what the settings name as context files is not written, however it is spelled', async () => {
  const here = await place({}, { protectedNames: ['RULES.md'] });
  for (const path of ['RULES.md', 'sub/rules.md', 'Rules.md.'])
    expect(await here.error('write_file', { path, content: 'x' })).toMatch(REFUSED);
  expect(await here.output('write_file', { path: 'RULES.txt', content: 'x\n' })).toBe('Created.');
});
