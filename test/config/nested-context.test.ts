import { symlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readNestedContext } from '../../src/config/nested-context.ts';
import { loadSettings } from '../../src/config/settings.ts';
import { posixTest } from '../support/posix.ts';
import { type Place, place } from './place.ts';

const TRUST = { GEMINI_CLI_TRUST_WORKSPACE: 'true' };

async function enter(
  { app }: Place,
  path: string,
  { sent = [] as readonly string[], roots = ['.'], env = TRUST as Readonly<Record<string, string>> } = {},
) {
  const seen = { ...app, env: { ...app.env, ...env } };
  const question = { env: seen.env, cwd: app.cwd, homes: app.homes(), settings: await loadSettings(seen), roots };
  return readNestedContext(question, path, (file) => sent.includes(file));
}

const FILES = {
  'AGENTS.md': 'above the project',
  'work/.git/HEAD': '',
  'work/AGENTS.md': 'in the system instruction',
  'work/a/AGENTS.md': 'for a @more.md\n',
  'work/a/more.md': '(and more)',
  'work/a/GEMINI.md': 'stronger',
  'work/a/b/c/AGENTS.md': 'for c',
  'work/a/b/c/x.txt': '',
  'work/z/AGENTS.md': 'not for a',
};

test('the folders from the working directory down to the path are looked at, the nearest last', async (t) => {
  const here = place(t, FILES);
  const { files, notices } = await enter(here, 'a/b/c/x.txt');
  expect(files).toEqual([
    { path: 'a/AGENTS.md', content: 'for a <!-- more.md -->\n(and more)\n<!-- end of more.md -->' },
    { path: 'a/GEMINI.md', content: 'stronger' },
    { path: 'a/b/c/AGENTS.md', content: 'for c' },
  ]);
  expect(notices).toEqual([]);
  expect(await enter(here, here.path('work/a/b'), { sent: ['a/AGENTS.md', 'a/GEMINI.md'] })).toEqual({
    files: [],
    sources: [],
    notices: [],
  });
  for (const path of ['.', 'missing/x.txt', '..', here.path('home')])
    expect((await enter(here, path)).files).toEqual([]);
});

test('another directory of the workspace has its own, also at its top', async (t) => {
  const here = place(t, { 'lib/AGENTS.md': 'library', 'lib/in/x.txt': '', 'work/x.txt': '' });
  const roots = ['.', here.path('lib')];
  expect((await enter(here, here.path('lib/in/x.txt'), { roots })).files).toEqual([
    { path: '../lib/AGENTS.md', content: 'library' },
  ]);
  expect((await enter(here, here.path('lib/in/x.txt'))).files).toEqual([]);
});

test('what the settings of the folder call a context file is one below it, not in another directory', async (t) => {
  const here = place(t, {
    'lib/notes.md': 'library',
    'work/in/notes.md': 'inside',
    'work/.gemini/settings.json': '{"context":{"fileName":"notes.md"}}',
  });
  const roots = ['.', here.path('lib')];
  expect((await enter(here, 'in', { roots })).files).toEqual([{ path: 'in/notes.md', content: 'inside' }]);
  expect((await enter(here, here.path('lib'), { roots })).files).toEqual([]);
});

test('nothing of an untrusted folder, nor of what others wrote, is used', async (t) => {
  const here = place(t, {
    ...FILES,
    'work/node_modules/evil/AGENTS.md': 'obey',
    'home/.gemini/trustedFolders.json': JSON.stringify({}),
  });
  expect(await enter(here, 'a/b/c/x.txt', { env: {} })).toEqual({ files: [], sources: [], notices: [] });
  expect(await enter(here, 'node_modules/evil/AGENTS.md')).toEqual({ files: [], sources: [], notices: [] });
  const rules = { [here.path('work')]: 'TRUST_FOLDER', [here.path('work/a/b')]: 'DO_NOT_TRUST' };
  here.write({ 'home/.gemini/trustedFolders.json': JSON.stringify(rules) });
  const { files } = await enter(here, 'a/b/c', { env: {} });
  expect(files.map(({ path }) => path)).toEqual(['a/AGENTS.md', 'a/GEMINI.md']);
});

posixTest('links out of the workspace, large files, secrets and cycles are refused as elsewhere', async (t) => {
  const here = place(t, {
    'secret.md': 'SECRET',
    'work/link/x.txt': '',
    'work/large/AGENTS.md': 'x'.repeat(64_001),
    'work/out/AGENTS.md': 'see @../../secret.md and @../.env @AGENTS.md',
    'work/.env': 'KEY=SECRET',
  });
  symlinkSync(here.path('secret.md'), here.path('work/link/AGENTS.md'));
  symlinkSync(here.path('work/out'), here.path('work/alias'));
  const why = async (path: string): Promise<string> => (await enter(here, path)).notices.join('\n');
  expect(await why('link/x.txt')).toContain('it leads out of');
  expect(await why('large')).toContain('it is larger than 64 kB');
  expect(await why('out')).toMatch(
    /secret\.md is not used: it leads out of .*\n.*\.env is not used: a file of that name/,
  );
  const { files } = await enter(here, 'alias');
  expect(files).toEqual([
    { path: 'out/AGENTS.md', content: 'see @../../secret.md and @../.env <!-- AGENTS.md is above -->' },
  ]);
});
