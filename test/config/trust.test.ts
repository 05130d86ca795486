import { mkdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join, sep } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { run } from '../../src/commands/trust.ts';
import { loadSettings } from '../../src/config/settings.ts';
import { findNearestRule } from '../../src/config/trust.ts';
import { contains } from '../../src/core/text/path.ts';
import { type Place, place } from './place.ts';

const json = JSON.stringify;
const WORKSPACE = 'work/.gemini/settings.json';
const OFFICIAL = 'home/.gemini/trustedFolders.json';

/** A place whose working directory has settings of its own. */
function workplace(t: Parameters<typeof place>[0]): Place {
  return place(t, { [WORKSPACE]: json({ model: { name: 'workspace' } }) });
}

const isUsed = async ({ settings }: Place, env = {}): Promise<boolean> => (await settings(env)).model === 'workspace';

test('an untrusted folder is skipped with one notice, and the run continues', async (t) => {
  const { settings, path } = workplace(t);
  expect(await settings()).toMatchObject({
    document: {},
    notices: [`${path(WORKSPACE)} is not used: this folder is not trusted. To trust the folder, run: gmn trust`],
  });
});

test('a folder is trusted from gmn trust until gmn trust --remove', async (t) => {
  const here = workplace(t);
  expect(await run({ args: [] }, here.app)).toBe(0);
  expect(await here.settings()).toMatchObject({ model: 'workspace', notices: [] });
  expect(await run({ args: [], remove: true }, here.app)).toBe(0);
  expect(await isUsed(here)).toBe(false);
});

test("the official CLI's list counts: folder, parent, refusal, nearest folder first", async (t) => {
  const here = workplace(t);
  const { write, path, root } = here;
  const cases: readonly (readonly [Record<string, string>, boolean])[] = [
    [{ [path('work')]: 'TRUST_FOLDER' }, true],
    [{ [`${path('work')}/`]: 'TRUST_FOLDER' }, true],
    [{ [root]: 'TRUST_FOLDER' }, true],
    [{ [path('home')]: 'TRUST_PARENT' }, true],
    [{ [path('home')]: 'TRUST_FOLDER' }, false],
    [{ [path('work/inner')]: 'TRUST_FOLDER' }, false],
    [{ [path('work/inner')]: 'TRUST_PARENT' }, true],
    [{ [root]: 'TRUST_FOLDER', [path('work')]: 'DO_NOT_TRUST' }, false],
    [{ [root]: 'DO_NOT_TRUST', [path('work')]: 'TRUST_FOLDER' }, true],
    [{ [path('work')]: 'DO_NOT_TRUST', [`${path('work')}/.`]: 'TRUST_FOLDER' }, false],
    [{ '.': 'TRUST_FOLDER', '': 'TRUST_FOLDER', work: 'TRUST_PARENT' }, false],
  ];
  for (const [rules, expected] of cases) {
    write({ [OFFICIAL]: `// mine\n${json(rules)}` });
    expect(await isUsed(here), json(rules)).toBe(expected);
  }
});

test('the list may be elsewhere', async (t) => {
  const here = workplace(t);
  here.write({ 'list.json': json({ [here.path('work')]: 'TRUST_FOLDER' }) });
  expect(await isUsed(here, { GEMINI_CLI_TRUSTED_FOLDERS_PATH: here.path('list.json') })).toBe(true);
});

test('the environment beats the lists, the setting too unless the environment speaks', async (t) => {
  const here = workplace(t);
  expect(await isUsed(here, { GEMINI_CLI_TRUST_WORKSPACE: 'true' })).toBe(true);
  expect(await isUsed(here, { GEMINI_CLI_TRUST_WORKSPACE: 'true', GEMINI_RESTRICTED_MODE: 'true' })).toBe(false);
  here.write({ 'home/.gemini/settings.json': json({ security: { folderTrust: { enabled: false } } }) });
  expect(await isUsed(here)).toBe(true);
  expect(await isUsed(here, { GEMINI_CLI_TRUST_WORKSPACE: 'false' })).toBe(false);
  here.write({ 'etc/settings.json': json({ security: { folderTrust: { enabled: true } } }) });
  expect(await isUsed(here)).toBe(false);
});

test('a folder cannot trust itself, not by its settings and not by its .env', async (t) => {
  const here = workplace(t);
  here.write({
    [WORKSPACE]: json({ model: { name: 'workspace' }, security: { folderTrust: { enabled: false } } }),
    'work/.gemini/.env': 'GEMINI_CLI_TRUST_WORKSPACE=true',
    'work/.env': 'GEMINI_CLI_TRUST_WORKSPACE=true',
    'home/.gemini/.env': 'GEMINI_CLI_TRUST_WORKSPACE=true',
  });
  expect(await isUsed(here)).toBe(false);
});

test('trust in a folder covers the folders in it, none beside it', async (t) => {
  const { app, write, path } = place(t);
  const settings = json({ model: { name: 'workspace' } });
  const folders = ['work', 'work/inner', 'work-2', 'wor', 'work2', 'other', 'work\u0301'];
  for (const folder of folders) write({ [`${folder}/.gemini/settings.json`]: settings });
  await run({ args: [] }, app);
  const trusted = [];
  for (const folder of folders) {
    if ((await loadSettings({ ...app, cwd: path(folder) })).model) trusted.push(folder);
  }
  expect(trusted).toEqual(['work', 'work/inner']);
});

test('a link from a trusted folder to elsewhere is elsewhere', async (t) => {
  const { app, write, path } = place(t, { 'evil/.gemini/settings.json': json({ model: { name: 'workspace' } }) });
  await run({ args: [] }, app);
  symlinkSync(path('evil'), path('work/link'));
  expect((await loadSettings({ ...app, cwd: path('work/link') })).model).toBeUndefined();
  write({ [OFFICIAL]: json({ [path('work')]: 'TRUST_FOLDER' }) });
  expect((await loadSettings({ ...app, cwd: path('work/link') })).model).toBeUndefined();
});

test('a link put in the place of a trusted folder is not trusted', async (t) => {
  const { app, path } = place(t, { 'evil/.gemini/settings.json': json({ model: { name: 'workspace' } }) });
  await run({ args: [] }, app);
  renameSync(path('work'), path('moved'));
  symlinkSync(path('evil'), path('work'));
  expect((await loadSettings(app)).model).toBeUndefined();
});

test('a trusted folder is trusted by whatever link it is reached', async (t) => {
  const here = workplace(t);
  await run({ args: [] }, here.app);
  symlinkSync(here.path('work'), here.path('link'));
  expect((await loadSettings({ ...here.app, cwd: here.path('link') })).model).toBe('workspace');
});

const BROKEN = [
  '',
  '{',
  'null',
  '[]',
  '"x"',
  '7',
  '\0',
  '{"version": 2, "folders": {}}',
  '{"version": 1, "folders": {"/a": 1}}',
  ...['', '.', 'work', '/a/..', '/a//b', '__proto__'].map((path) =>
    json({ version: 1, folders: JSON.parse(`{${json(path)}:{"time":"","servers":{}}}`) }),
  ),
];

test("with gmn's list broken nothing is trusted, not even by the official one, and the list stays as it is", async (t) => {
  const here = workplace(t);
  here.write({ [OFFICIAL]: json({ [here.path('work')]: 'TRUST_FOLDER' }) });
  expect(await isUsed(here)).toBe(true);
  for (const content of BROKEN) {
    here.write({ 'home/.gmn/trust.json': content });
    const { model, notices } = await here.settings();
    expect({ model, count: notices.length }, content).toEqual({ model: undefined, count: 1 });
    expect(notices[0]).toContain(here.path('home/.gmn/trust.json'));
    await expect(run({ args: [] }, here.app)).rejects.toMatchObject({ fault: 'config' });
    expect(readFileSync(here.path('home/.gmn/trust.json'), 'utf8')).toBe(content);
  }
});

test('with the official list broken nothing is trusted, and the list stays as it is', async (t) => {
  const here = workplace(t);
  await run({ args: [] }, here.app);
  expect(await isUsed(here)).toBe(true);
  for (const content of [
    '{',
    'null',
    '[]',
    '"x"',
    '7',
    '\0',
    json({ [here.path('work')]: 'YES' }),
    json({ '/x': 1 }),
  ]) {
    here.write({ [OFFICIAL]: content });
    const { model, notices } = await here.settings();
    expect({ model, count: notices.length }, content).toEqual({ model: undefined, count: 1 });
    expect(notices[0]).toContain(here.path(OFFICIAL));
    expect(readFileSync(here.path(OFFICIAL), 'utf8')).toBe(content);
  }
});

const segment = fc.constantFrom('a', 'b', 'ab', 'a b', '..a', 'a..', 'A', 'ä', '...');
const path = fc.array(segment, { maxLength: 4 }).map((segments) => `${sep}${segments.join(sep)}`);

test('a folder contains exactly the paths that go on from it', () => {
  fc.assert(
    fc.property(path, path, (folder, inner) => {
      const prefix = folder === sep ? sep : folder + sep;
      expect(contains(folder, inner)).toBe(inner === folder || inner.startsWith(prefix));
    }),
  );
});

test('the nearest rule is the longest that contains the path', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ path, isTrusted: fc.boolean() })), path, (rules, cwd) => {
      const around = rules.filter((rule) => contains(rule.path, cwd));
      const longest = Math.max(...around.map((rule) => rule.path.length));
      const found = findNearestRule(
        rules.map((rule) => ({ ...rule, file: '' })),
        cwd,
      );
      expect(found?.path.length).toBe(around.length === 0 ? undefined : longest);
      expect(found?.isTrusted).toBe(around.findLast((rule) => rule.path.length === longest)?.isTrusted);
    }),
  );
});

test('no folder but the trusted one and those in it is ever trusted, links or not', async (t) => {
  const here = place(t);
  const names = ['a', 'ab', 'a b', '..a'];
  for (const outer of names) {
    for (const inner of names) {
      mkdirSync(here.path(`work/${outer}/${inner}/.gemini`), { recursive: true });
      here.write({ [`work/${outer}/${inner}/.gemini/settings.json`]: json({ model: { name: 'workspace' } }) });
    }
    symlinkSync(here.path('work/a/a'), here.path(`work/${outer}/link`));
  }
  await run({ args: ['a'] }, here.app);
  for (const outer of names) {
    for (const inner of [...names, 'link']) {
      const cwd = join(here.path('work'), outer, inner);
      const { model } = await loadSettings({ ...here.app, cwd });
      expect(model === 'workspace', cwd).toBe(outer === 'a' || inner === 'link');
    }
  }
});
