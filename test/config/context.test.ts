import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readContext } from '../../src/config/context.ts';
import { hasContext, joinSystemInstruction } from '../../src/config/context-place.ts';
import { loadSettings } from '../../src/config/settings.ts';
import { AppError } from '../../src/core/error.ts';
import { isWindows, posixTest } from '../support/posix.ts';
import { type Place, place } from './place.ts';

const TRUST = { GEMINI_CLI_TRUST_WORKSPACE: 'true' };

async function question({ app }: Place, { cwd = app.cwd, env = TRUST as Readonly<Record<string, string>> } = {}) {
  const seen = { ...app, cwd, env: { ...app.env, ...env } };
  return { env: seen.env, cwd, homes: app.homes(), settings: await loadSettings(seen) };
}

async function contextOf(here: Place, options: Parameters<typeof question>[1] = {}, tools: readonly string[] = []) {
  const { sources: _, files: __, ...context } = await readContext(await question(here, options), tools);
  return context;
}

test('without context files nothing is read', async (t) => {
  const here = place(t);
  expect(await contextOf(here)).toEqual({ notices: [] });
  expect(hasContext(await question(here))).toBe(false);
});

test('the user’s file comes first, then the project’s from its root down to the working directory', async (t) => {
  const here = place(t, {
    'home/.gemini/GEMINI.md': 'Be kind.\n',
    'GEMINI.md': 'outside of the project',
    'work/.git/HEAD': '',
    'work/GEMINI.md': '\uFEFFUse tabs.',
    'work/a/GEMINI.md': '  \n',
    'work/a/b/GEMINI.md': 'Here be tests.',
  });
  const cwd = here.path('work/a/b');
  expect(hasContext(await question(here, { cwd }))).toBe(true);
  const own = here.path('home/.gemini/GEMINI.md');
  expect(await contextOf(here, { cwd })).toEqual({
    memory: [
      `=== ${own} ===\nBe kind.\n=== end of ${own} ===`,
      '=== ../../GEMINI.md ===\nUse tabs.\n=== end of ../../GEMINI.md ===',
      '=== GEMINI.md ===\nHere be tests.\n=== end of GEMINI.md ===',
    ].join('\n\n'),
    notices: [],
  });
});

test('without a repository only the working directory is looked at', async (t) => {
  const here = place(t, { 'GEMINI.md': 'above', 'work/GEMINI.md': 'here' });
  expect((await contextOf(here)).memory).toBe('=== GEMINI.md ===\nhere\n=== end of GEMINI.md ===');
});

test('the context files of an untrusted folder are not used, and a notice says so', async (t) => {
  const here = place(t, { 'home/.gemini/GEMINI.md': 'mine', 'work/GEMINI.md': 'theirs' });
  const { memory, notices } = await contextOf(here, { env: {} });
  expect(memory).toContain('mine');
  expect(memory).not.toContain('theirs');
  expect(notices).toEqual([
    `${here.path('work/GEMINI.md')} is not used: this folder is not trusted. To trust the folder, run: gmn trust`,
  ]);
});

test('trust in a folder does not reach above it', async (t) => {
  const here = place(t, { 'work/.git/HEAD': '', 'work/GEMINI.md': 'above', 'work/in/GEMINI.md': 'inside' });
  here.write({ 'home/.gemini/trustedFolders.json': JSON.stringify({ [here.path('work/in')]: 'TRUST_FOLDER' }) });
  const { memory, notices } = await contextOf(here, { cwd: here.path('work/in'), env: {} });
  expect(memory).toBe('=== GEMINI.md ===\ninside\n=== end of GEMINI.md ===');
  expect(notices).toHaveLength(1);
});

posixTest('AGENTS.md is read before GEMINI.md, and once if it is only another name for it', async (t) => {
  const here = place(t, { 'home/.gemini/AGENTS.md': 'own', 'work/AGENTS.md': 'shared', 'work/GEMINI.md': 'ours' });
  const texts = async () => (await contextOf(here)).memory?.match(/^\w+$/gm);
  expect(await texts()).toEqual(['own', 'shared', 'ours']);
  rmSync(here.path('work/AGENTS.md'));
  symlinkSync('GEMINI.md', here.path('work/AGENTS.md'));
  expect(await texts()).toEqual(['own', 'ours']);
});

test('context.fileName names more files; what is no name is a broken setting', async (t) => {
  const here = place(t, {
    'home/.gemini/settings.json': '{"context":{"fileName":["AGENTS.md","TEAM.md"]}}',
    'work/AGENTS.md': 'agents',
    'work/TEAM.md': 'team',
    'work/GEMINI.md': 'as ever',
  });
  const { memory } = await contextOf(here);
  expect(memory?.match(/^=== \S+ ===$/gm)).toEqual(['=== AGENTS.md ===', '=== GEMINI.md ===', '=== TEAM.md ===']);
  here.write({ 'home/.gemini/settings.json': '{"context":{"fileName":"TEAM.md"}}' });
  expect((await contextOf(here)).memory).toContain('team');
  here.write({ 'home/.gemini/settings.json': '{"context":{"fileName":[]}}' });
  expect((await contextOf(here)).memory).toContain('as ever');
  here.write({ 'home/.gemini/settings.json': '{"context":{"fileName":[1]}}' });
  await expect(contextOf(here)).rejects.toMatchObject({ fault: 'config' });
});

test('imports are expanded, relative to the file they are in; code and plain words are left alone', async (t) => {
  const here = place(t, {
    'work/GEMINI.md':
      'Rules: @docs/rules.md.\n`@docs/rules.md`\n```\n@docs/rules.md\n```\nme@docs/rules.md @nobody @https://a.b/c.md',
    'work/docs/rules.md': 'One.\n@./more.md\n',
    'work/docs/more.md': 'Two.',
  });
  const { memory, notices } = await contextOf(here);
  expect(notices).toEqual([]);
  expect(memory).toBe(
    [
      '=== GEMINI.md ===',
      'Rules: <!-- docs/rules.md -->',
      'One.',
      '<!-- ./more.md -->',
      'Two.',
      '<!-- end of ./more.md -->',
      '<!-- end of docs/rules.md -->.',
      '`@docs/rules.md`\n```\n@docs/rules.md\n```\nme@docs/rules.md @nobody @https://a.b/c.md',
      '=== end of GEMINI.md ===',
    ].join('\n'),
  );
});

test('an import may have a name in any script; words that name no file are left alone', async (t) => {
  const text = '規約: @規約/命名.md。 @田中 さん';
  const { memory, notices } = await contextOf(
    place(t, { 'work/AGENTS.md': text, 'work/規約/命名.md': '名前は短く。' }),
  );
  expect(notices).toEqual([]);
  expect(memory).toContain('規約: <!-- 規約/命名.md -->\n名前は短く。\n<!-- end of 規約/命名.md -->。 @田中 さん');
});

test('what the settings of a folder call a context file counts in it, not above it and not at home', async (t) => {
  const here = place(t, {
    'home/.gemini/notes.md': 'at home',
    'work/.git/HEAD': '',
    'work/notes.md': 'above',
    'work/in/notes.md': 'inside',
    'work/in/.gemini/settings.json': '{"context":{"fileName":"notes.md"}}',
  });
  const { memory } = await contextOf(here, { cwd: here.path('work/in') });
  expect(memory).toBe('=== notes.md ===\ninside\n=== end of notes.md ===');
});

test('only so many names of context files are looked up, and a notice says so', async (t) => {
  const names = Array.from({ length: 101 }, (_, index) => `n${index}.md`);
  const settings = JSON.stringify({ context: { fileName: names } });
  const here = place(t, { 'work/.gemini/settings.json': settings, 'work/n99.md': 'last', 'work/n100.md': 'more' });
  const { memory, notices } = await contextOf(here);
  expect(memory).toBe('=== n99.md ===\nlast\n=== end of n99.md ===');
  expect(notices).toEqual([expect.stringContaining('context.fileName takes 100 names of files')]);
});

test('only so many words are looked up as imports, and a notice says where that ends', async (t) => {
  const words = Array.from({ length: 999 }, (_, index) => `@word${index}`).join(' ');
  const here = place(t, { 'work/GEMINI.md': `${words} @a.md @b.md @a.md`, 'work/a.md': 'A', 'work/b.md': 'B' });
  const { memory, notices } = await contextOf(here);
  expect(memory).toContain('@word998 <!-- a.md -->\nA\n<!-- end of a.md --> @b.md @a.md\n');
  expect(notices).toEqual([`${here.path('work/GEMINI.md')}: @b.md is not used: only 1000 imports are looked up`]);
});

posixTest('the sources are all files that the instruction comes from, or would come from', async (t) => {
  const here = place(t, {
    'home/.gemini/GEMINI.md': '@own.md',
    'work/.git/HEAD': '',
    'work/AGENTS.md': '@docs/rules.md @docs/none/later.md @docs `@code.md`',
    'work/docs/rules.md': '@more.md @big.md',
    'work/docs/big.md': 'x'.repeat(1_000_001),
    'work/in/prompt.md': 'system',
    'work/in/GEMINI.md': '@../docs/more.md',
    'work/code.md': '',
  });
  rmSync(here.path('home/.gemini/GEMINI.md'));
  here.write({ 'home/dotfiles/GEMINI.md': '@own.md' });
  symlinkSync(here.path('home/dotfiles/GEMINI.md'), here.path('home/.gemini/GEMINI.md'));
  const env = { ...TRUST, GEMINI_SYSTEM_MD: 'prompt.md' };
  const { sources } = await readContext(await question(here, { cwd: here.path('work/in'), env }), []);
  expect(sources.map((file) => file.replace(`${here.root}/`, ''))).toEqual([
    'home/dotfiles/GEMINI.md',
    'home/.gemini/own.md',
    'work/AGENTS.md',
    'work/docs/rules.md',
    'work/docs/more.md',
    'work/docs/big.md',
    'work/docs/none/later.md',
    'work/docs',
    'work/in/GEMINI.md',
    'work/docs/more.md',
    'work/in/prompt.md',
  ]);
  expect((await readContext(await question(here, { cwd: here.path('work/in'), env: {} }), [])).sources).toEqual([
    here.path('home/dotfiles/GEMINI.md'),
    here.path('home/.gemini/own.md'),
  ]);
});

test('imports in a circle end, and so do those that go too deep', async (t) => {
  const chain = Object.fromEntries(
    Array.from({ length: 9 }, (_, n) => [`work/deep${n}.md`, `${n} @deep${n + 1}.md`] as const),
  );
  const here = place(t, {
    ...chain,
    'work/GEMINI.md': '@a.md @deep0.md',
    'work/a.md': 'a @b.md',
    'work/b.md': 'b @a.md @GEMINI.md',
  });
  const { memory, notices } = await contextOf(here);
  expect(memory).toContain('b <!-- a.md is above --> <!-- GEMINI.md is above -->');
  expect(memory).toContain('4 @deep5.md');
  expect(notices).toEqual([`${here.path('work/deep5.md')} is not used: imports go 5 deep at most`]);
});

test('nothing is read from outside the root, from files that hold keys, or from what is no text', async (t) => {
  const here = place(t, {
    'home/.gemini/oauth_creds.json': 'SECRET',
    'outside.md': 'SECRET',
    'work/.env': 'SECRET',
    'work/picture.png': new Uint8Array([0x89, 0x50, 0, 1]),
    'work/big.md': 'x'.repeat(1_000_001),
    'work/GEMINI.md':
      '@../outside.md @link.md @.env @picture.png @big.md @folder @outside-folder/outside.md @.aws/config @.gemini/rules.md done',
    'work/.aws/config': 'SECRET',
    'work/.gemini/rules.md': 'Be kind.',
  });
  mkdirSync(here.path('work/folder'));
  symlinkSync(here.path('outside.md'), here.path('work/link.md'));
  symlinkSync(here.root, here.path('work/outside-folder'));
  const { memory, notices } = await contextOf(here);
  expect(memory).not.toContain('SECRET');
  expect(memory).toContain('@outside-folder/outside.md @.aws/config <!-- .gemini/rules.md -->\nBe kind.');
  expect(notices.map((notice) => notice.replace(`${here.root}/`, ''))).toEqual([
    expect.stringMatching(/^outside\.md is not used: it leads out of /),
    expect.stringMatching(/^work\/link\.md is not used: it leads out of /),
    'work/.env is not used: a file of that name may hold keys',
    'work/picture.png is not used: it is not text',
    'work/big.md is not used: it is larger than 1 MB',
    expect.stringMatching(/outside-folder\/outside\.md is not used: it leads out of /),
    'work/.aws/config is not used: a file of that name may hold keys',
  ]);
});

test.runIf(isWindows)('an import that names a server or a device is not even looked up', async (t) => {
  const here = place(t, { 'work/more.md': 'Two.' });
  // Looked up, it would be a file of the project.
  const device = `//?/${join(here.app.cwd, 'more.md').replaceAll('\\', '/')}`;
  writeFileSync(join(here.app.cwd, 'GEMINI.md'), `@${device} @more.md`);
  const { memory, notices } = await contextOf(here);
  expect(memory).toContain(`@${device} <!-- more.md -->`);
  expect(notices.join()).toContain('it is not in a folder of this computer');
});

test('a context file that is a link out of the project is not read', async (t) => {
  const here = place(t, { 'outside.md': 'SECRET' });
  symlinkSync(here.path('outside.md'), here.path('work/GEMINI.md'));
  const { memory, notices } = await contextOf(here);
  expect(memory).toBeUndefined();
  expect(notices).toHaveLength(1);
});

test('the user’s own file may be a link to where they keep it, what it imports may not', async (t) => {
  const here = place(t, { 'dotfiles/GEMINI.md': 'mine @other.md @inside.md', 'dotfiles/other.md': 'SECRET' });
  mkdirSync(here.path('home/.gemini'), { recursive: true });
  symlinkSync(here.path('dotfiles/GEMINI.md'), here.path('home/.gemini/GEMINI.md'));
  symlinkSync(here.path('dotfiles/other.md'), here.path('home/.gemini/other.md'));
  writeFileSync(here.path('home/.gemini/inside.md'), 'inside');
  const { memory, notices } = await contextOf(here);
  expect(memory).toContain('mine @other.md <!-- inside.md -->\ninside\n');
  expect(memory).not.toContain('SECRET');
  expect(notices).toEqual([expect.stringMatching(/other\.md is not used: it leads out of /)]);
});

test('a bomb of imports is stopped', async (t) => {
  const fan = (name: string): string => `${'x'.repeat(100_000)}${` @${name}`.repeat(20)}`;
  const here = place(t, {
    'work/GEMINI.md': fan('a.md'),
    'work/a.md': fan('b.md'),
    'work/b.md': fan('c.md'),
    'work/c.md': 'c',
  });
  const { memory, notices } = await contextOf(here);
  expect(memory?.length).toBeLessThan(2_100_000);
  expect(notices).toEqual([expect.stringMatching(/there is too much context already$/)]);
});

test('GEMINI_SYSTEM_MD names a file, whose placeholders are filled in', async (t) => {
  const places = { '1': 'work/.gemini', TRUE: 'work/.gemini', '~/system.md': 'home', 'in/system.md': 'work/in' };
  for (const [value, folder] of Object.entries(places)) {
    const blank = (name: string): string => `\${${name}}`;
    const lists = [blank('AgentSkills'), blank('SubAgents')].join('');
    const text = `${lists}Use ${blank('read_file_ToolName')} of:\n${blank('AvailableTools')} ${blank('Other')}`;
    const here = place(t, { [join(folder, 'system.md')]: text });
    const env = { ...TRUST, GEMINI_SYSTEM_MD: value, HOME: here.path('home') };
    expect(hasContext(await question(here, { env }))).toBe(true);
    const { system } = await contextOf(here, { env }, ['read_file', 'glob']);
    expect(system).toBe(`Use read_file of:\n- read_file\n- glob ${blank('Other')}`);
  }
});

test('GEMINI_SYSTEM_MD that is off, missing or of an untrusted folder', async (t) => {
  const here = place(t, { 'work/.gemini/system.md': 'theirs' });
  for (const value of ['0', 'false', '']) {
    expect(await contextOf(here, { env: { ...TRUST, GEMINI_SYSTEM_MD: value } })).toEqual({ notices: [] });
  }
  await expect(contextOf(here, { env: { ...TRUST, GEMINI_SYSTEM_MD: '/nowhere.md' } })).rejects.toThrow(AppError);
  const { system, notices } = await contextOf(here, { env: { GEMINI_SYSTEM_MD: '1' } });
  expect(system).toBeUndefined();
  expect(notices).toEqual([expect.stringContaining('is not used: this folder is not trusted')]);
});

test('GEMINI_SYSTEM_MD may name a file of an untrusted folder: the user named it', async (t) => {
  const here = place(t, { 'work/prompts/system.md': 'mine', 'work/.git/HEAD': '' });
  for (const value of [here.path('work/prompts/system.md'), 'prompts/system.md', './prompts/system.md']) {
    expect(await contextOf(here, { env: { GEMINI_SYSTEM_MD: value } })).toEqual({ system: 'mine', notices: [] });
  }
});

test('a relative GEMINI_SYSTEM_MD of a file is about no folder in particular, and an absolute one is', async (t) => {
  const files = { 'work/system.md': 'theirs', 'work/.git/HEAD': '' };
  const relative = place(t, { ...files, 'home/.gemini/.env': 'GEMINI_SYSTEM_MD=system.md\n' });
  expect((await contextOf(relative, { env: {} })).system).toBeUndefined();
  const absolute = place(t, { ...files, 'home/.gmn/config.json': '{}' });
  writeFileSync(join(absolute.app.homes().gmn, '.env'), `GEMINI_SYSTEM_MD=${absolute.path('work/system.md')}\n`);
  expect((await contextOf(absolute, { env: {} })).system).toBe('theirs');
});

posixTest('a link of a folder that is not trusted leads nowhere, whoever named it', async (t) => {
  const here = place(t, { 'home/key': 'secret', 'home/keys/system.md': 'secret', 'work/.git/HEAD': '' });
  mkdirSync(here.path('work/.gemini'));
  symlinkSync(here.path('home/key'), here.path('work/.gemini/system.md'));
  symlinkSync(here.path('home/keys'), here.path('work/linked'));
  for (const value of ['1', '.gemini/system.md', here.path('work/.gemini/system.md'), 'linked/system.md']) {
    const { system, notices } = await contextOf(here, { env: { GEMINI_SYSTEM_MD: value } });
    expect(system).toBeUndefined();
    expect(notices).toEqual([expect.stringContaining('is not used: this folder is not trusted')]);
  }
});

posixTest('a link of a trusted folder does not make a secret file the system prompt', async (t) => {
  const here = place(t, { 'home/.ssh/id_x': 'secret', 'home/.aws/config': 'secret', 'work/.gemini/x.md': 'fine' });
  symlinkSync(here.path('home/.ssh/id_x'), here.path('work/.gemini/system.md'));
  symlinkSync(here.path('home/.aws'), here.path('work/docs'));
  symlinkSync(here.path('work'), here.path('spelled'));
  const read = (value: string) =>
    contextOf(here, { cwd: here.path('spelled'), env: { ...TRUST, GEMINI_SYSTEM_MD: value } });
  for (const value of ['1', '.gemini/system.md', here.path('work/.gemini/system.md'), 'docs/config']) {
    const { system, notices } = await read(value);
    expect(system).toBeUndefined();
    expect(notices).toEqual([expect.stringMatching(/ is not used: it leads to \S+, which may hold secrets$/)]);
  }
  expect(await read('.gemini/x.md')).toMatchObject({ system: 'fine', notices: [] });
  expect(await read(here.path('home/.aws/config'))).toMatchObject({ system: 'secret', notices: [] });
});

test('the instruction is --system, else GEMINI_SYSTEM_MD; then the context; then --append-system-prompt', () => {
  const context = { system: 'file', memory: 'memory' };
  expect(joinSystemInstruction(context, {})).toBe('file\n\nmemory');
  expect(joinSystemInstruction(context, { system: 'flag', append: 'last' })).toBe('flag\n\nmemory\n\nlast');
  expect(joinSystemInstruction({}, { system: '' })).toBeUndefined();
});
