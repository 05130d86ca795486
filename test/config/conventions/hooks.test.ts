import { execFileSync } from 'node:child_process';
import { rmSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { run as trust } from '../../../src/commands/trust.ts';
import { isStillApproved } from '../../../src/config/conventions/folder-hooks.ts';
import { matchesHook, parseHooks } from '../../../src/config/conventions/hooks.ts';
import { surveyConventions } from '../../../src/engine/tools/conventions.ts';
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
  ['without its ending, as node finds it', 'node tools/check', 'tools/check.mjs'],
  ['as a directory', 'node tools', 'tools/index.js'],
  ['as the package', 'node .', 'package.json'],
  ['as the main of the package', 'node .', 'lib/start.js', { 'work/package.json': '{"main":"lib/start"}' }],
  ['after an option’s letter', 'node -r./in/check.js x', 'in/check.js'],
  ['as a word after an option', 'node -r ./in/check', 'in/check.cjs'],
  ['as a module of Python', 'python3 -m tools.check', 'tools/check.py'],
  ['as a package of Python', 'python3 -m tools.check', 'tools/check/__main__.py'],
  ['by a PATH', 'PATH=tools:$PATH check.sh', 'tools/check.sh'],
  ['by a pattern', 'cat hooks.d/*.sh | sh', 'hooks.d/a.sh'],
  ['by a pattern with more parts', 'sh *c*c*c*.sh', 'in-check-c.c.sh'],
  ['by a slow pattern', `sh ${'*a'.repeat(30)}*b ./check.sh`, 'check.sh', { [`work/${'a'.repeat(200)}`]: '' }],
  ['as what make is to do', 'make -C tools lint', 'tools/Makefile'],
  ['as the scripts of a package', 'npm run lint', 'package.json'],
  ['in braces', 'cat tools/{a,b}.sh | sh', 'tools/b.sh'],
  ['behind a blank that is escaped', String.raw`sh in\ here/check.sh`, 'in here/check.sh'],
  ['after cd step by step', 'cd in && cd here && ./check.sh', 'in/here/check.sh'],
  ['by a variable', 'D=tools; sh "$D/check.sh"', 'tools/check.sh'],
  ['by a command', 'sh $(pwd)/in/check.sh', 'in/check.sh'],
  ['with a blank in its name', 'sh "in here/check it.sh"', 'in here/check it.sh'],
] as const)('a script that a hook names %s is a part of it', async ([, command, script, more = {}], t) => {
  const path = `work/${script}`;
  const here = place(t, { ...more, [FILE]: settings(command), [path]: 'one', 'work/other': 'x' });
  await trustFolder(here);
  expect(here.output().out).toMatch(new RegExp(`its files: .*${script.replaceAll('.', '\\.')}`));
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

const claude = (event: string, ...commands: readonly string[]): string =>
  JSON.stringify({
    permissions: { allow: ['Bash'] },
    hooks: { [event]: [{ matcher: 'Read', hooks: commands.map((command) => ({ type: 'command', command })) }] },
  });

test('hooks of a folder’s .claude/settings.json are used like its others: shown, hashed, compared', async (t) => {
  const here = place(t, {
    [FILE]: settings('mine'),
    'work/.claude/settings.json': claude('PreToolUse', 'sh ./check.sh'),
    'work/.claude/settings.local.json': claude('PreToolUse', 'local'),
    'work/check.sh': 'one',
  });
  expect((await here.settings()).notices.join()).toMatch(
    /\.claude\/settings\.json and .*settings\.local\.json are not used: this folder/,
  );
  expect(await listUsed(here)).toEqual([]);
  await trustFolder(here);
  const { out } = here.output();
  expect(out).toContain(
    '  .claude/settings.json PreToolUse 1 (new): sh ./check.sh\n      matcher: Read\n      its files: check.sh\n',
  );
  expect(out).toContain('  .claude/settings.local.json PreToolUse 1 (new): local\n');
  expect(await listUsed(here)).toEqual(['sh ./check.sh', 'local', 'mine']);
  here.write({ 'work/check.sh': 'two' });
  expect(await listUsed(here)).toEqual(['local', 'mine']);
  const { hooks } = await surveyConventions(here.app);
  expect(hooks.filter(({ why }) => why !== undefined)).toMatchObject([
    { name: 'PreToolUse 1', why: 'it is new or has changed' },
  ]);
  await trustFolder(here);
  expect(here.output().out).toContain('.claude/settings.json PreToolUse 1 (changed)');
  expect(await listUsed(here)).toHaveLength(3);
  here.write({ 'work/.claude/settings.json': '{' });
  expect((await here.settings()).notices).toEqual([
    expect.stringMatching(/\.claude\/settings\.json is not used: it is not a JSON object/),
  ]);
  expect(await listUsed(here)).toEqual(['local', 'mine']);
});

test('the user’s hooks for Claude Code are the user’s own; a file of a folder without hooks needs no trust', async (t) => {
  const here = place(t, {
    'home/.claude/settings.json': claude('PreToolUse', 'mine'),
    'work/.claude/settings.json': '{"permissions":{}}',
  });
  const { hooks = [], notices } = await here.settings();
  expect(parseHooks(hooks).hooks).toMatchObject([{ command: 'mine', scope: 'user', isClaude: true }]);
  expect(notices).toEqual([]);
  here.write({ 'home/.claude/settings.json': claude('PreToolUse', 'mine').replace('{', '{"disableAllHooks":true,') });
  expect((await here.settings()).hooks).toEqual([]);
  here.write({ 'home/.claude/settings.json': '[]' });
  expect((await here.settings()).notices).toEqual([
    expect.stringMatching(/\.claude\/settings\.json is not used: it is not a JSON/),
  ]);
});

const ODD = {
  BeforTool: [{ hooks: [{ type: 'command', command: 'a' }] }],
  BeforeTool: [
    { matcher: 'x', type: 'command', command: 'flat' },
    { hooks: ['text'] },
    { hooks: [{ type: 'command', command: 'good' }] },
  ],
  AfterTool: { hooks: [] },
  SubagentStop: [],
};

const NAMED = [
  'hook BeforTool is not used: there is no such event: did you mean BeforeTool',
  'hook BeforeTool 1 is not used: it must be {"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}',
  'hook BeforeTool 2 is not used: it must be',
  'hook AfterTool 1 is not used: it must be',
];

test('no hook is silent: a group without its list and a misspelled event are named, wherever they stand', async (t) => {
  const text = JSON.stringify({ hooks: ODD });
  const here = place(t, { [FILE]: text, 'work/.claude/settings.json': text, 'home/.claude/settings.json': text });
  await trustFolder(here);
  const { err } = here.output();
  for (const prefix of ['', '.claude/settings.json '])
    for (const each of NAMED) expect(err).toContain(each.replace('hook ', `hook ${prefix}`));
  const { notices, hooks = [] } = await here.settings();
  for (const each of NAMED) expect(notices.filter((notice) => notice.includes(each))).toHaveLength(2);
  // What only Claude Code has is no mistake in its own file.
  expect(notices.filter((notice) => notice.includes('SubagentStop'))).toEqual([expect.stringContaining('.gemini')]);
  const { hooks: used, faults } = parseHooks(hooks);
  expect(used.map(({ command }) => command)).toEqual(['good', 'good', 'good']);
  expect(faults.map(({ name, isQuiet = false }) => `${name} ${isQuiet}`)).toEqual([
    'BeforTool false',
    'BeforeTool 1 false',
    'BeforeTool 2 false',
    'AfterTool 1 false',
    'SubagentStop true',
  ]);
  const survey = await surveyConventions(here.app);
  expect(survey.hooks.filter(({ name }) => name === 'BeforTool')).toHaveLength(3);
  expect(survey.hooks.filter(({ name }) => name === 'SubagentStop')).toHaveLength(3);
});

test('gmn trust names AGENTS.md, which instructs models, where nothing else is there', async (t) => {
  const here = place(t, { 'work/AGENTS.md': 'Be brief.' });
  await trustFolder(here);
  expect(here.output().out).toMatch(/^Trusted: .*\nIt may now use:\nInstructions for the model: AGENTS\.md\nTo undo/);
  await trust({ args: [], json: true }, here.app);
  expect(JSON.parse(here.output().out)).toMatchObject({ instructions: ['AGENTS.md'] });
});

test('a hook of which no file is found is said not to be compared, and a new match of its pattern is a change', async (t) => {
  const here = place(t, { [FILE]: settings('npm run check', 'sh hooks.d/*.sh'), 'work/hooks.d/a.sh': '1' });
  await trustFolder(here);
  expect(here.output().out).toContain(
    '(new): npm run check\n      not compared: no file of the folder is found in it\n',
  );
  expect(await listUsed(here)).toHaveLength(2);
  here.write({ 'work/hooks.d/b.sh': '2' });
  expect(await listUsed(here)).toEqual(['npm run check']);
});
