import { execFileSync } from 'node:child_process';
import { rmSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { run as trust } from '../../../src/commands/trust.ts';
import { isStillApproved } from '../../../src/config/conventions/folder-hooks.ts';
import { matchesHook, parseHooks } from '../../../src/config/conventions/hooks.ts';
import { surveyConventions } from '../../../src/engine/conventions.ts';
import { posixTest } from '../../support/posix.ts';
import { type Place, place } from '../place.ts';

const FILE = 'work/.gemini/settings.json';

const settings = (...commands: readonly string[]): string =>
  JSON.stringify({ hooks: { BeforeTool: commands.map((command) => ({ hooks: [{ type: 'command', command }] })) } });

/** The commands of the folder that a run would have. */
async function listUsed(here: Place, cwd = here.app.cwd): Promise<readonly string[]> {
  const app = { ...here.app, cwd };
  const { loadSettings } = await import('../../../src/config/settings.ts');
  const { hooks } = parseHooks((await loadSettings(app)).hooks ?? []);
  const used: string[] = [];
  for (const hook of hooks) {
    // Nothing has changed meanwhile.
    expect(await isStillApproved(hook, app)).toBe(true);
    used.push(hook.command);
  }
  return used;
}

const trustFolder = (here: Place, cwd = here.app.cwd): Promise<number> => trust({ args: [] }, { ...here.app, cwd });

test('of hooks with whatever names, exactly those that were not changed are used', async (t) => {
  const name = fc.constantFrom('a', 'a (2)', 'a (2) (2)', '2', '2 (2)', undefined);
  const hooks = fc.array(fc.record({ event: fc.constantFrom('BeforeTool', 'PreToolUse'), name }), {
    minLength: 1,
    maxLength: 6,
  });
  const here = place(t);
  const write = (names: readonly { event: string; name?: string | undefined }[], changed: number): void => {
    const commands = names.map((each, index) => ({ ...each, command: index === changed ? 'evil' : `c${index}` }));
    const toGroups = (event: string) =>
      commands.filter((each) => each.event === event).map(({ event: _, ...hook }) => ({ hooks: [hook] }));
    const events = { BeforeTool: toGroups('BeforeTool'), PreToolUse: toGroups('PreToolUse') };
    here.write({ [FILE]: JSON.stringify({ hooks: events }) });
  };
  await fc.assert(
    fc.asyncProperty(hooks, fc.nat(), async (names, seed) => {
      const changed = seed % names.length;
      write(names, -1);
      await trustFolder(here);
      const all = names.map((_, index) => `c${index}`);
      expect([...(await listUsed(here))].sort()).toEqual(all);
      write(names, changed);
      expect([...(await listUsed(here))].sort()).toEqual(all.filter((_, index) => index !== changed));
    }),
    { numRuns: 15 },
  );
});

test('a hook stays approved when another one comes before it', async (t) => {
  const here = place(t, { [FILE]: settings('one') });
  await trustFolder(here);
  here.write({ [FILE]: settings('new', 'one') });
  expect(await listUsed(here)).toEqual(['one']);
  here.output();
  await trust({ args: [], json: true }, here.app);
  expect(JSON.parse(here.output().out).hooks).toMatchObject([{ status: 'changed' }, { status: 'unchanged' }]);
});

test.for([
  ['plainly', 'sh ./check.sh', 'check.sh'],
  ['in quotes', `sh -c '"./check.sh" --fast'`, 'check.sh'],
  ['by the project', 'sh "$CLAUDE_PROJECT_DIR"/in/check.sh', 'in/check.sh'],
  ['by where it is run', `\${PWD}/in/check.sh`, 'in/check.sh'],
  ['after cd', 'cd in && ./check.sh', 'in/check.sh'],
  ['as an argument', 'node --require=./in/check.sh x', 'in/check.sh'],
  ['with ..', 'sh in/../check.sh', 'check.sh'],
] as const)('a script that a hook names %s is a part of it', async ([, command, script], t) => {
  const path = `work/${script}`;
  const here = place(t, { [FILE]: settings(command), [path]: 'one', 'work/other': 'x' });
  await trustFolder(here);
  expect(here.output().out).toContain(`its files: ${script}\n`);
  const [hook] = parseHooks((await here.settings()).hooks ?? []).hooks;
  if (hook === undefined) throw new Error('it is not used');
  here.write({ 'work/other': 'y' });
  expect(await isStillApproved(hook, here.app)).toBe(true);
  for (const change of ['two', '', 'one\n']) {
    here.write({ [path]: change });
    // Of a run that has begun, too.
    expect(await isStillApproved(hook, here.app)).toBe(false);
    expect(await listUsed(here)).toEqual([]);
  }
  rmSync(here.path(path));
  expect(await listUsed(here)).toEqual([]);
  here.write({ [path]: 'one' });
  expect(await listUsed(here)).toEqual([command]);
  await trust({ args: [], remove: true }, here.app);
  expect(await isStillApproved(hook, here.app)).toBe(false);
});

test('a file that a hook only writes is no part of it', async (t) => {
  const here = place(t, { [FILE]: settings('sh ./check.sh >> log 2>>"errors" >|other'), 'work/check.sh': 'one' });
  await trustFolder(here);
  here.write({ 'work/log': 'x', 'work/errors': 'y', 'work/other': 'z' });
  expect(await listUsed(here)).toHaveLength(1);
  here.write({ [FILE]: settings('echo x > run.sh; sh run.sh'), 'work/run.sh': 'one' });
  await trustFolder(here);
  here.write({ 'work/run.sh': 'two' });
  expect(await listUsed(here)).toEqual([]);
});

test('a program is compared byte by byte, also where it is no text', async (t) => {
  const here = place(t, { [FILE]: settings('./check') });
  writeFileSync(here.path('work/check'), Uint8Array.of(0x7f, 0x80));
  await trustFolder(here);
  expect(await listUsed(here)).toEqual(['./check']);
  writeFileSync(here.path('work/check'), Uint8Array.of(0x7f, 0x81));
  expect(await listUsed(here)).toEqual([]);
});

posixTest('a script behind a link is compared where it is; one that cannot be read is never approved', async (t) => {
  const here = place(t, { [FILE]: settings('sh ./check.sh'), 'home/their.sh': 'one', 'home/other.sh': 'one' });
  const script = here.path('work/check.sh');
  symlinkSync(here.path('home/their.sh'), script);
  await trustFolder(here);
  expect(here.output().out).toContain(`its files: check.sh -> ${here.path('home/their.sh')}\n`);
  expect(await listUsed(here)).toHaveLength(1);
  here.write({ 'home/their.sh': 'two' });
  expect(await listUsed(here)).toEqual([]);
  here.write({ 'home/their.sh': 'one' });
  unlinkSync(script);
  symlinkSync(here.path('home/other.sh'), script);
  expect(await listUsed(here)).toEqual([]);
  unlinkSync(script);
  const refuse = async (why: RegExp): Promise<void> => {
    await trustFolder(here);
    expect(here.output().err).toMatch(why);
    expect(await listUsed(here)).toEqual([]);
    rmSync(script);
  };
  execFileSync('mkfifo', [script]);
  await refuse(/hook BeforeTool 1 is not used: check\.sh cannot be reviewed: .*regular file/);
  writeFileSync(script, '');
  truncateSync(script, 20_000_001);
  await refuse(/hook BeforeTool 1 is not used: check\.sh cannot be reviewed: it is larger than 20 MB/);
});

posixTest('trust in one folder is none in those around it, however they are entered', async (t) => {
  const evil = settings('evil');
  const here = place(t, {
    [FILE]: settings('good'),
    'work/.git/HEAD': '',
    'work/child/.gemini/settings.json': evil,
    'work/nested/.git/HEAD': '',
    'work/nested/.gemini/settings.json': evil,
    'work/tree/.git': 'gitdir: ../.git/worktrees/tree',
    'work/tree/.gemini/settings.json': evil,
    'outer/.gemini/settings.json': evil,
    'outer/trusted/.gemini/settings.json': settings('good'),
    'theirs/.gemini/settings.json': evil,
    'linked/x': '',
    'home/.gemini/settings.json': settings('mine'),
  });
  await trustFolder(here);
  await trustFolder(here, here.path('outer/trusted'));
  symlinkSync(here.path('theirs'), here.path('work/theirs'));
  symlinkSync(here.path('work'), here.path('alias'));
  symlinkSync(here.path('theirs/.gemini'), here.path('linked/.gemini'));
  const look = async (name: string) =>
    (await listHooksAt(here, name)).filter(({ scope }) => scope === 'folder').map(({ command }) => command);
  // The folder by another name is the same folder.
  for (const name of ['work', 'alias', 'work/child/..', 'outer/trusted'])
    expect(await look(name), name).toEqual(['good']);
  for (const name of ['work/child', 'work/nested', 'work/tree', 'work/theirs', 'outer', 'theirs', 'linked', 'home'])
    expect(await look(name), name).toEqual([]);
  // What is behind a link is approved as it was shown, and no longer.
  await trustFolder(here, here.path('linked'));
  expect(await look('linked')).toEqual(['evil']);
  expect(await look('theirs')).toEqual([]);
  here.write({ 'theirs/.gemini/settings.json': settings('worse') });
  expect(await look('linked')).toEqual([]);
  // Another folder in the place of one that was trusted.
  await trust({ args: [], deny: true }, { ...here.app, cwd: here.path('work/child') });
  await trustFolder(here, here.path('work'));
  expect(await look('work/child')).toEqual([]);
});

async function listHooksAt(here: Place, name: string) {
  const { loadSettings } = await import('../../../src/config/settings.ts');
  return parseHooks((await loadSettings({ ...here.app, cwd: here.path(name) })).hooks ?? []).hooks;
}

test('who asks what hooks there are sees those that are not used, and why', async (t) => {
  const here = place(t, { [FILE]: settings('one', 'two') });
  const look = async (env = {}) => {
    const app = { ...here.app, env: { ...here.app.env, ...env } };
    const { hooks } = await surveyConventions({ ...app, settings: () => here.settings(env) });
    return hooks.map(({ name, about, why }) => [name, about, why]);
  };
  expect(await look()).toEqual([
    ['BeforeTool 1', '', 'this folder is not trusted'],
    ['BeforeTool 2', '', 'this folder is not trusted'],
  ]);
  expect(await look({ GEMINI_CLI_TRUST_WORKSPACE: 'true' })).toEqual([
    ['BeforeTool 1', '', 'it is new or has changed'],
    ['BeforeTool 2', '', 'it is new or has changed'],
  ]);
  await trustFolder(here);
  expect(await look()).toEqual([
    ['BeforeTool 1', 'one', undefined],
    ['BeforeTool 2', 'two', undefined],
  ]);
  here.write({ [FILE]: settings('one', 'three') });
  expect(await look()).toEqual([
    ['BeforeTool 1', 'one', undefined],
    ['BeforeTool 2', '', 'it is new or has changed'],
  ]);
  here.write({ [FILE]: '{' });
  expect(await look()).toEqual([]);
});

test('a matcher that takes too long to decide matches', () => {
  const matcher = `${'a?'.repeat(2400)}b`;
  for (const isClaude of [true, false]) {
    expect(matchesHook({ matcher, isClaude }, ['a'.repeat(2000)])).toBe(true);
    expect(matchesHook({ matcher: 'a+b', isClaude }, ['a'.repeat(64)])).toBe(false);
  }
});
