import { mkdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join, sep } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { run } from '../../src/commands/trust.ts';
import { rememberTrust, reviewFolder } from '../../src/config/folder-trust.ts';
import { loadSettings } from '../../src/config/settings.ts';
import { findNearestRule } from '../../src/config/trust.ts';
import { contains } from '../../src/core/text/path.ts';
import { isWindows } from '../support/posix.ts';
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

test('gmn trust --deny is kept apart from the trusted ones, and nothing more is said of the folder', async (t) => {
  const here = workplace(t);
  const { app, settings, output, path, write } = here;
  expect(await run({ args: [], deny: true }, app)).toBe(0);
  expect(output().out).toMatch(/^Not trusted: .*work\n/);
  expect(await settings()).toMatchObject({ document: {}, notices: [] });
  // An older gmn reads `folders` only, and trusts all of them.
  const kept = JSON.parse(readFileSync(path('home/.gmn/trust.json'), 'utf8'));
  expect(kept).toEqual({ version: 1, folders: {}, refused: { [path('work')]: { time: expect.any(String) } } });
  await run({ args: [], list: true, json: true }, app);
  expect(JSON.parse(output().out)).toMatchObject({ folders: [], refused: [{ folder: path('work') }] });
  mkdirSync(path('work/inner'));
  await run({ args: ['inner'] }, app);
  expect(await isUsed(here)).toBe(false);
  await run({ args: [] }, app);
  expect(await isUsed(here)).toBe(true);
  await run({ args: [], deny: true }, app);
  await run({ args: [], remove: true }, app);
  expect((await settings()).notices).toHaveLength(1);
  // A file in which a folder is both is one in which it is refused.
  const record = { time: '2026-11-18', servers: {} };
  const both = { version: 1, folders: { [path('work')]: record }, refused: { [path('work')]: record } };
  write({ 'home/.gmn/trust.json': json(both) });
  expect(await isUsed(here)).toBe(false);
  for (const refused of [[], { [path('work')]: null }, { work: record }]) {
    write({ 'home/.gmn/trust.json': json({ ...both, refused }) });
    expect(await isUsed(here), json(refused)).toBe(false);
  }
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
      const [one, other] = isWindows ? [folder, inner].map((each) => each.toLowerCase()) : [folder, inner];
      expect(contains(folder, inner)).toBe(
        other === one || other?.startsWith(isWindows ? prefix.toLowerCase() : prefix),
      );
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

test('no key of a folder makes a row or a key of its own, and only so many are shown, those that count first', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`z${index}`, 1]));
  const forged = { 'x\nNothing to see': 1, 'a, model.name': 1, 'b\u202e': { 'c"\r': 1 } };
  const here = place(t, { [WORKSPACE]: json({ ...forged, ...many, model: { name: 'm' } }) });
  const { lines } = await reviewFolder(here.app.cwd, here.app);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(
    /^Settings: model\.name, "x\\nNothing to see", "a, model\.name", b\\u202e\."c\\"\\r", z0, .*, z25 and 74 more$/,
  );
});

test('a server that has changed since it was shown is not approved', async (t) => {
  const here = place(t, { [WORKSPACE]: json({ mcpServers: { a: { command: 'one' }, b: { command: 'same' } } }) });
  const shown = await reviewFolder(here.app.cwd, here.app);
  expect(shown.lines).toEqual(['MCP servers:', '  a (new): one', '  b (new): same']);
  here.write({ [WORKSPACE]: json({ mcpServers: { a: { command: 'two' }, b: { command: 'same' } } }) });
  await rememberTrust([shown], here.app);
  const { servers = [], notices } = await here.settings();
  expect(servers.map(({ name }) => name)).toEqual(['b']);
  expect(notices).toEqual([expect.stringContaining('a')]);
  const now = await reviewFolder(here.app.cwd, here.app);
  expect(now.items.map(({ status }) => status)).toEqual(['changed', 'unchanged']);
});

test('gmn trust warns where a server of the folder is given a variable that holds a credential', async (t) => {
  const servers = {
    env: {
      command: 'run',
      env: { KEY: '$GEMINI_API_KEY', HOME_PAGE: '$HOME_PAGE', OTHER: `x \${AWS_SECRET_ACCESS_KEY:-none}` },
    },
    header: { httpUrl: 'https://a.example/mcp', headers: { Authorization: `Bearer \${GITHUB_TOKEN}` } },
    address: { url: 'https://a.example/sse?key=$API_KEY' },
    database: { command: 'run', args: ['$DATABASE_URL', '$API_KEY'] },
    plain: { command: 'run', env: { LEVEL: '$LOG_LEVEL', KEY: 'key', LITERAL: 'GEMINI_API_KEY' } },
  };
  const here = place(t, {
    [WORKSPACE]: json({ mcpServers: servers }),
    'work/.mcp.json': json({ mcpServers: { shared: servers.env } }),
  });
  const app = {
    ...here.app,
    env: { ...here.app.env, DATABASE_URL: 'postgres://me:canary-pass@db/x', LOG_LEVEL: 'info' },
  };
  const { items, lines } = await reviewFolder(here.path('work'), app);
  const warnings = items.map(({ name, details }) => [name, details.filter((line) => line.startsWith('warning: '))]);
  const words = (names: string): readonly string[] => [
    `warning: it is given ${names}: its program or host can use the credential`,
  ];
  expect(Object.fromEntries(warnings)).toEqual({
    env: words('GEMINI_API_KEY, AWS_SECRET_ACCESS_KEY'),
    header: words('GITHUB_TOKEN'),
    address: words('API_KEY'),
    // In a command line, which every user of the machine sees, variables with such a name stay as they are written.
    database: words('DATABASE_URL'),
    plain: [],
    shared: words('GEMINI_API_KEY, AWS_SECRET_ACCESS_KEY'),
  });
  expect(lines.join()).toContain('it is given GITHUB_TOKEN');
  expect(await run({ args: [] }, app)).toBe(0);
  expect(here.output().out).toContain('it is given GITHUB_TOKEN');
  expect(here.output().out).not.toContain('canary-pass');
});
