import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/core/error.ts';
import { toSlashes } from '../../../src/core/text/path.ts';
import { createFence, type FenceOptions, withFileName } from '../../../src/tools/workspace/fence.ts';
import { posixTest } from '../../support/posix.ts';
import { temporary } from '../place.ts';

async function fence(files: Parameters<typeof temporary>[0] = {}, options: Partial<FenceOptions> = {}) {
  const root = temporary(files);
  const { place, isListed, roots } = await createFence({ roots: [root], isWindows: false, ...options });
  return {
    root,
    roots,
    isListed,
    place,
    /** Where a path leads, or what is said against it. */
    asked: (path: string, use: 'read' | 'write' = 'read') =>
      place(path, use).then(
        ({ name }) => name,
        ({ fault, message, hint }: AppError) => [fault, message, hint],
      ),
  };
}

const OUTSIDE = (root: string, name: string) => [
  'usage',
  `${name} is outside the workspace`,
  `Only paths below ${root} can be used, and links must not lead out of it.`,
];
const PROTECTED = (name: string) => [
  'usage',
  `${name} is protected`,
  'Files that other programs run or believe are never written by tools. Tell the user what to change there.',
];
const NO_PATH = ['usage', 'this is not a path', 'Give a path relative to the working directory.'];

test('a root that is not there, and no root at all, are refused with a next step', async () => {
  const top = temporary();
  symlinkSync('nowhere', join(top, 'dangling'));
  for (const missing of [join(top, 'missing'), join(top, 'dangling')]) {
    await expect(createFence({ roots: [missing] })).rejects.toMatchObject({
      fault: 'usage',
      message: `no such directory: ${missing}`,
      hint: 'Name one that exists.',
    });
  }
  await expect(createFence({ roots: [] })).rejects.toMatchObject({
    fault: 'usage',
    message: 'there is no directory to work in',
    hint: 'Run gmn in a directory.',
  });
});

test('a place is known by its real path, its name, what is missing of it, and whether it is anybody’s business', async () => {
  const { root, place } = await fence({ 'sub/a.txt': '' });
  expect(await place('sub/a.txt', 'read')).toEqual({
    path: join(root, 'sub/a.txt'),
    name: 'sub/a.txt',
    missing: 0,
    isSensitive: false,
  });
  expect(await place('.', 'write')).toMatchObject({ path: root, name: '.', missing: 0 });
  expect(await place('sub/new/b.pem', 'read')).toMatchObject({ name: 'sub/new/b.pem', missing: 2, isSensitive: true });
});

test('what is no path is refused as that: nothing, a NUL, more than 4096 bytes', async () => {
  const { asked, root } = await fence();
  expect(await asked('')).toEqual(NO_PATH);
  expect(await asked('a\0b')).toEqual(NO_PATH);
  expect(await asked('é'.repeat(2049))).toEqual(NO_PATH);
  const longest = `${'a/'.repeat(2047)}bc`;
  expect(longest).toHaveLength(4096);
  expect(await asked(longest)).not.toEqual(NO_PATH);
  expect(await asked(`${longest}c`)).toEqual(NO_PATH);
  const far = `/${'x'.repeat(198)}y`;
  expect(await asked(far)).toEqual(OUTSIDE(root, far));
  expect(await asked(`${far}z`)).toEqual(OUTSIDE(root, `${far}…`));
});

// Windows calls it missing, as if it could be made.
posixTest('below a file there is nothing to read or write', async () => {
  const { asked } = await fence({ 'a.txt': '' });
  for (const use of ['read', 'write'] as const) {
    expect(await asked('a.txt/b', use)).toEqual(['usage', expect.stringContaining('a.txt/b'), expect.any(String)]);
  }
});

test('outside is refused in the same words whether it is there or not, by name and through a link', async () => {
  const { asked, root } = await fence({ 'inside.txt': '' });
  const other = temporary({ 'secret.txt': '' });
  symlinkSync(other, join(root, 'way'));
  symlinkSync(join(other, 'nothing'), join(root, 'dangling'));
  for (const path of ['..', '../x', other, join(other, 'secret.txt'), 'way', 'way/secret.txt', 'way/no', 'dangling']) {
    expect(await asked(path)).toEqual(OUTSIDE(root, path));
    expect(await asked(path, 'write')).toEqual(OUTSIDE(root, path));
  }
});

test('a path that is outside by its name is refused although a link leads it in', async () => {
  const { asked, root } = await fence({ 'inside.txt': '' });
  const way = join(temporary(), 'way');
  symlinkSync(root, way);
  for (const path of [way, join(way, 'inside.txt')]) expect(await asked(path)).toEqual(OUTSIDE(root, path));
});

test('several roots are named in the refusal, and a place in another is named in full', async () => {
  const first = temporary();
  const second = temporary({ 'b.txt': '' });
  const { place } = await createFence({ roots: [first, second] });
  expect((await place(join(second, 'b.txt'), 'read')).name).toBe(toSlashes(join(second, 'b.txt')));
  await expect(place('/nowhere', 'read')).rejects.toMatchObject({
    hint: `Only paths below ${first} and ${second} can be used, and links must not lead out of it.`,
  });
});

test('a path that leads in through the name of the root it was given by is the same place', async () => {
  const top = temporary({ 'real/a.txt': '' });
  symlinkSync('real', join(top, 'link'));
  const { place, roots } = await createFence({ roots: [join(top, 'link')] });
  expect(roots).toEqual([join(top, 'real')]);
  expect((await place(join(top, 'link/a.txt'), 'read')).name).toBe('a.txt');
  expect((await place(join(top, 'real/a.txt'), 'read')).name).toBe('a.txt');
});

test('what is denied is closed under the name it was given by, and under its real one', async () => {
  const root = temporary({ 'keys/a': '', 'open/b': '' });
  symlinkSync('keys', join(root, 'ways'));
  symlinkSync('nowhere', join(root, 'dangling'));
  const denied = ['ways', 'none/x', 'dangling'].map((name) => join(root, name));
  const { place, isListed } = await createFence({ roots: [root], denied });
  for (const path of ['keys/a', 'ways/a', 'keys', 'none/x/y', 'dangling']) {
    await expect(place(path, 'read')).rejects.toThrow('is outside the workspace');
  }
  expect((await place('open/b', 'read')).name).toBe('open/b');
  expect((await place('none', 'read')).name).toBe('none');
  expect([isListed(join(root, 'keys/a')), isListed(join(root, 'open/b'))]).toEqual([false, true]);
});

test('a walk shows neither what is denied nor what needs a person’s word', async () => {
  const { isListed, root } = await fence();
  expect(['a.txt', '.env', '.ssh/config', 'src'].map((name) => isListed(join(root, name)))).toEqual([
    true,
    false,
    false,
    true,
  ]);
});

test('what is protected is read, and not written: by its own name, by a link to it, by a link from it', async () => {
  const { asked, root } = await fence({ '.git/config': '', 'plain/x': '' });
  symlinkSync('.git', join(root, 'harmless'));
  mkdirSync(join(root, '.vscode'));
  symlinkSync('../plain/x', join(root, '.vscode/x'));
  for (const path of ['.git/config', 'harmless/config', '.vscode/x']) {
    expect(await asked(path, 'write')).toEqual(PROTECTED(path));
    expect(await asked(path)).toBeTypeOf('string');
  }
  expect(await asked('plain/x', 'write')).toBe('plain/x');
});

test('names that are protected besides are not written', async () => {
  const { asked } = await fence({}, { protectedNames: ['RULES.md'] });
  expect(await asked('sub/rules.md', 'write')).toEqual(PROTECTED('sub/rules.md'));
  expect(await asked('RULES.md')).toBe('RULES.md');
  expect(await (await fence()).asked('RULES.md', 'write')).toBe('RULES.md');
});

test('a secret is asked for under each of its names', async () => {
  const { place, root } = await fence({ 'a.txt': '', 'keys.pem': '' });
  symlinkSync('a.txt', join(root, '.env'));
  symlinkSync('keys.pem', join(root, 'plain.txt'));
  const isSensitive = async (path: string) => (await place(path, 'read')).isSensitive;
  expect(await Promise.all(['a.txt', 'keys.pem', '.env', 'plain.txt'].map(isSensitive))).toEqual([
    false,
    true,
    true,
    true,
  ]);
});

test('what is kept by others in work trees is for writing, and what lies beside them is not', async () => {
  const top = temporary({ '.codex/worktrees/w/a.txt': '', '.codex/other/a.txt': '', '.codex/worktrees2/a.txt': '' });
  const write = async (root: string) =>
    (await createFence({ roots: [join(top, root)] })).place('a.txt', 'write').then(
      () => 'written',
      ({ message }) => message,
    );
  expect(await write('.codex/worktrees/w')).toBe('written');
  expect(await write('.codex/other')).toBe('a.txt is protected');
  expect(await write('.codex/worktrees2')).toBe('a.txt is protected');
});

test('a work tree of another program is written only from inside it, not from above', async () => {
  const { asked } = await fence({ '.codex/worktrees/w/a.txt': '' });
  expect(await asked('.codex/worktrees/w/a.txt', 'write')).toEqual(PROTECTED('.codex/worktrees/w/a.txt'));
});

test('what is watched is guarded: what is listed for a path, with all below, and what is named later', async () => {
  const root = temporary({ 'docs/Rules.md': '', 'docs/other.md': '', 'flag.md': '', 'hooks2/a': '' });
  const asked: string[] = [];
  const listWatched = async (path: string) => {
    asked.push(path);
    return ['docs/Rules.md', 'docs/later.md', 'hooks'].map((name) => join(root, name));
  };
  const { place, protect, isGuarded } = await createFence({ roots: [root], listWatched });
  const areGuarded = (names: readonly string[]) => Promise.all(names.map((name) => isGuarded(join(root, name))));
  expect(await areGuarded(['flag.md'])).toEqual([false]);
  protect([join(root, 'other.md'), join(root, 'flag.md')]);
  const guarded = ['flag.md', 'docs/rules.md', 'docs/later.md', 'hooks', 'hooks/a', 'HOOKS/b/c'];
  expect(await areGuarded(guarded)).toEqual(guarded.map(() => true));
  expect(await areGuarded(['docs/other.md', 'hooks2/a', 'docs', '.'])).toEqual([false, false, false, false]);
  expect(asked).toContain(join(root, 'docs/other.md'));
  asked.length = 0;
  for (const use of ['read', 'write'] as const) expect((await place('docs/Rules.md', use)).name).toBe('docs/Rules.md');
  expect(asked).toEqual([]);
});

test('what belongs to a repository without .git is read, and not written', async () => {
  const { asked } = await fence({ 'x.git/HEAD': '', 'x.git/objects/x': '', 'x.git/refs/x': '', 'x.git/config': '' });
  expect(await asked('x.git/config')).toBe('x.git/config');
  expect(await asked('x.git/config', 'write')).toEqual(PROTECTED('x.git/config'));
});

test('the names of Windows are traps there alone', async () => {
  const windows = await fence({}, { isWindows: true });
  expect(await windows.asked('sub/NUL.txt')).toEqual(OUTSIDE(windows.root, 'sub/NUL.txt'));
  expect(await (await fence()).asked('sub/NUL.txt')).toBe('sub/NUL.txt');
  const { place } = await createFence({ roots: [windows.root] });
  const isHere = process.platform === 'win32';
  expect(await place('NUL', 'read').then(Boolean, () => false)).toBe(!isHere);
});

test('a file that others would take for the user’s own is not made anew, and may be changed where it is', async () => {
  const { asked } = await fence({ 'there/.env': '' });
  expect(await asked('.env', 'write')).toEqual(PROTECTED('.env'));
  expect(await asked('new/id_rsa', 'write')).toEqual(PROTECTED('new/id_rsa'));
  expect(await asked('.env')).toBe('.env');
  expect(await asked('there/.env', 'write')).toBe('there/.env');
  expect(await asked('.env.example', 'write')).toBe('.env.example');
});

test('errors of some work with a file get its name', async () => {
  const missing = Object.assign(new Error('x'), { code: 'ENOENT' });
  await expect(withFileName('a.txt', () => Promise.reject(missing))).rejects.toMatchObject({
    fault: 'usage',
    message: expect.stringContaining('a.txt'),
  });
  const told = new AppError('usage', 'told');
  await expect(withFileName('a.txt', () => Promise.reject(told))).rejects.toThrow('a.txt: told');
  expect(await withFileName('a.txt', async () => 7)).toBe(7);
});

posixTest('a context file that the user asks for may be written until it is closed, by its own path', async () => {
  const root = temporary({ 'sub/AGENTS.md': '', 'AGENTS.md': '', '.git/HEAD': '' });
  const listWatched = async () => [join(root, 'GEMINI.md')];
  const { place, permitInstruction, isGuarded } = await createFence({ roots: [root], listWatched });
  const isOpen = (path: string) =>
    place(path, 'write').then(
      () => true,
      () => false,
    );
  symlinkSync('sub/AGENTS.md', join(root, 'other.md'));
  const all = ['AGENTS.md', 'sub/AGENTS.md', 'GEMINI.md', 'other.md', '.git/AGENTS.md'];
  expect(await Promise.all(all.map(isOpen))).toEqual(all.map(() => false));
  const close = permitInstruction('AGENTS.md');
  const closeOther = permitInstruction('AGENTS.md');
  expect(await Promise.all(all.map(isOpen))).toEqual([true, false, false, false, false]);
  const names = ['AGENTS.md', 'sub/AGENTS.md', 'GEMINI.md'].map((name) => join(root, name));
  expect(await Promise.all(names.map(isGuarded))).toEqual([true, false, true]);
  // Each permit is its own.
  close();
  close();
  expect([await isOpen('AGENTS.md'), await isGuarded(join(root, 'AGENTS.md'))]).toEqual([true, true]);
  closeOther();
  expect([await isOpen('AGENTS.md'), await isGuarded(join(root, 'AGENTS.md'))]).toEqual([false, false]);
});

posixTest('one that is a link, or in a directory that is protected, stays closed', async () => {
  const root = temporary({ 'CLAUDE.md': '', '.gemini/a': '' });
  symlinkSync('CLAUDE.md', join(root, 'AGENTS.md'));
  const linked = await createFence({ roots: [root] });
  const inside = await createFence({ roots: [join(root, '.gemini')] });
  for (const { permitInstruction, place } of [linked, inside]) {
    permitInstruction('AGENTS.md');
    await expect(place('AGENTS.md', 'write')).rejects.toThrow('AGENTS.md is protected');
  }
});

posixTest('a directory that was opened for reading is read, never written, and no link leads out of it', async () => {
  const skill = temporary({ 'SKILL.md': '', 'scripts/run.sh': '', '.env': '', 'secret.txt': '' });
  symlinkSync('/etc/passwd', join(skill, 'out'));
  const root = temporary({});
  const opened = await createFence({ roots: [root], isWindows: false });
  const script = join(skill, 'scripts/run.sh');
  await expect(opened.place(script, 'read')).rejects.toThrow('outside the workspace');
  opened.allowReading(skill);
  expect(await opened.place(script, 'read')).toMatchObject({ path: script, isSensitive: false });
  expect(await opened.place(join(skill, '.env'), 'read')).toMatchObject({ isSensitive: true });
  for (const path of ['out', 'missing', '../other'].map((name) => join(skill, name)))
    await expect(opened.place(path, 'read'), path).rejects.toThrow('outside the workspace');
  await expect(opened.place(script, 'write')).rejects.toThrow('outside the workspace');
  expect([script, join(skill, '.env')].map(opened.isListed)).toEqual([true, false]);
  expect([script, join(skill, '.env')].map(opened.isSecretEntry)).toEqual([false, true]);
});
