import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import type { App } from '../../../../src/core/app.ts';
import { createProfileReader, type ProfileQuestion } from '../../../../src/engine/tools/sandbox/sandbox-profile.ts';
import { openWatcher } from '../../../../src/engine/tools/sandbox/watched.ts';
import { posixTest } from '../../../support/posix.ts';

const UNWATCHED = { network: { kind: 'none' }, listWatched: () => [] } as const satisfies Partial<ProfileQuestion>;

/** A home with these files, and an app that lives there. Names that end with a slash are directories. */
function homeWith(t: TestContext, names: readonly string[], path = '/usr/bin') {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-home-')));
  t.onTestFinished(() => rmSync(home, { recursive: true }));
  for (const name of names) {
    mkdirSync(name.endsWith('/') ? join(home, name) : dirname(join(home, name)), { recursive: true });
    if (!name.endsWith('/')) writeFileSync(join(home, name), '');
  }
  const homes = { gmn: join(home, '.gmn'), gemini: join(home, '.gemini') };
  const settings = async () => ({ env: {} });
  const app = { env: { HOME: home, PATH: path }, cwd: join(home, 'w'), homes: () => homes, settings } as unknown as App;
  const read = (...roots: readonly string[]) =>
    createProfileReader({ ...UNWATCHED, app, roots: roots.map((root) => join(home, root)) })();
  const watch = async (...names: readonly string[]) => {
    const roots = names.map((name) => join(home, name));
    const watcher = await openWatcher({ app, roots });
    return createProfileReader({ ...UNWATCHED, app, roots, listWatched: () => watcher.list().entries });
  };
  const relative = (paths: readonly string[]): readonly string[] =>
    paths.filter((each) => each.startsWith(`${home}/`)).map((each) => each.slice(home.length + 1));
  return { home, app, read, watch, relative };
}

posixTest('the home is hidden, toolchains are shown, and keys are neither', (t) => {
  const names = [
    '.nvm/',
    '.cargo/bin/',
    '.cargo/credentials.toml',
    '.ssh/id_rsa',
    '.gmn/key.json',
    'work/a',
    'tools/bin/',
    'tools/lib/',
  ];
  const { home, app, relative } = homeWith(t, names);
  const own = { ...app, env: { ...app.env, PATH: `${home}/tools/bin:/usr/bin` } };
  const profile = createProfileReader({ ...UNWATCHED, app: own, roots: [join(home, 'work')] })();
  expect(profile.hidden.some((path) => home.startsWith(path))).toBe(true);
  expect(relative(profile.shown)).toEqual(expect.arrayContaining(['.nvm', '.cargo/bin', 'tools/bin', 'tools/lib']));
  for (const path of relative(profile.shown)) expect(path).not.toMatch(/ssh|gmn|credentials|work/);
  expect(relative(profile.writable)).toEqual(['work']);
});

posixTest(
  'the home itself is too broad; in a directory of settings, keys are hidden although the rest may be written',
  (t) => {
    const names = ['.ssh/id', '.gmn/x', '.config/gcloud/x', '.config/other/x', 'notes'];
    const { read, relative } = homeWith(t, names);
    expect(() => read('')).toThrow('commands could write too much there');
    const { secretDirectories, writable } = read('.config');
    expect(relative(writable)).toEqual(['.config']);
    expect(relative(secretDirectories)).toEqual(['.config/gcloud']);
  },
);

posixTest('of a toolchain, keys are not shown; and no directory of PATH shows a home', (t) => {
  const names = ['.pub-cache/bin/x', '.pub-cache/credentials.json', 'n/bin/', 'n/etc/npmrc', 'work/a'];
  const { home, app, relative } = homeWith(t, names);
  const own = { ...app, env: { ...app.env, PATH: `${home}/n/bin:${home}:/usr/bin` } };
  const profile = createProfileReader({ ...UNWATCHED, app: own, roots: [join(home, 'work')] })();
  expect(relative(profile.shown)).toEqual(expect.arrayContaining(['.pub-cache', 'n/bin', 'n/etc']));
  expect(profile.shown).not.toContain(home);
  expect([...relative(profile.secretFiles)].sort()).toEqual(['.pub-cache/credentials.json', 'n/etc/npmrc']);
});

posixTest(
  'what other programs run is protected if it is directly in a root, repositories anywhere, and no link is but its target',
  async (t) => {
    const names = [
      'w/.git/config',
      'w/.mcp.json',
      'w/.github/workflows/x.yml',
      'w/.github2/x',
      'w/AGENTS.md',
      'w/src/.git/config',
      'w/src/.vscode/x',
      'w/.venv/x',
    ];
    const { home, watch, relative } = homeWith(t, [...names, 'w/plain', 'elsewhere/x', 'w/tools/x']);
    symlinkSync(join(home, 'elsewhere'), join(home, 'w', '.husky'));
    symlinkSync('tools', join(home, 'w', '.githooks'));
    const profile = (await watch('w'))();
    const top = ['w/.git', 'w/.github', 'w/.mcp.json', 'w/AGENTS.md'];
    // A repository further down, too; what is around it keeps its name.
    expect([...relative(profile.protected)].sort()).toEqual([...top, 'w/src/.git', 'w/tools']);
    expect(relative(profile.pinned)).toEqual(['w/src']);
  },
);

posixTest('a directory inside another is not mounted for itself: what is around it could move it', (t) => {
  const { read, relative } = homeWith(t, ['w/sub/x', 'other/x']);
  expect(relative(read('w/sub', 'w', 'other', 'w').writable)).toEqual(['w', 'other']);
});

posixTest('what is new to be protected counts for the next command', async (t) => {
  const { home, watch } = homeWith(t, ['w/a']);
  const read = await watch('w');
  expect(read().protected).toEqual([]);
  mkdirSync(join(home, 'w/.git'));
  expect(read().protected).toEqual([join(home, 'w/.git')]);
});

test.skipIf(process.platform === 'win32').each(['/', '/usr', '/tmp', '/etc', '..'])('%s is too broad', (root) => {
  const home = realpathSync(tmpdir());
  const app = { env: { HOME: home }, homes: () => ({ gmn: '/x', gemini: '/y' }) } as unknown as App;
  const question = { ...UNWATCHED, app, roots: [root === '..' ? dirname(home) : root] };
  expect(() => createProfileReader(question)).toThrow('commands could write too much there');
});

posixTest('a directory of gmn cannot be a workspace', (t) => {
  const { read } = homeWith(t, ['.gmn/sessions/x']);
  expect(() => read('.gmn/sessions')).toThrow('keys and conversations are kept there');
});
