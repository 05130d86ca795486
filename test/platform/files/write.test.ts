import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryPath } from '../../../src/platform/files/path.ts';
import { readFileState } from '../../../src/platform/files/read.ts';
import {
  createAtomic,
  quarantine,
  removeFiles,
  removeTemporaries,
  writeAtomic,
} from '../../../src/platform/files/write.ts';
import { nextReplacement, tryCreateExclusive } from '../../../src/platform/files/write-sync.ts';
import { fifo, isWindows, posixTest, systemMode } from '../../support/posix.ts';
import { temporary } from '../../support/temporary.ts';

posixTest('a replaced file keeps its mode, or gets the one given, whatever the umask', async () => {
  const path = join(temporary(), 'a');
  writeFileSync(path, 'old');
  chmodSync(path, 0o664);
  await writeAtomic(path, 'new');
  expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['new', 0o664]);
  await writeAtomic(path, 'newer', { mode: 0o600 });
  expect(statSync(path).mode & 0o777).toBe(systemMode(0o600));
  const fresh = join(temporary(), 'b');
  await writeAtomic(fresh, 'x');
  expect(statSync(fresh).mode & 0o777).toBe(systemMode(0o600));
});

test('a link stays a link, and its target is replaced', async () => {
  const root = temporary();
  writeFileSync(join(root, 'real'), 'old');
  symlinkSync('real', join(root, 'link'));
  await writeAtomic(join(root, 'link'), 'new');
  expect(lstatSync(join(root, 'link')).isSymbolicLink()).toBe(true);
  expect(readFileSync(join(root, 'real'), 'utf8')).toBe('new');
  expect(readdirSync(root).sort()).toEqual(['link', 'real']);
});

test('a file that stays open is not replaced where the system forbids it, and loses nothing', async () => {
  const root = temporary();
  const path = join(root, 'a');
  writeFileSync(path, 'old');
  const reader = openSync(path, 'r');
  const outcome = await writeAtomic(path, 'new').catch(({ fault }) => fault);
  closeSync(reader);
  expect([outcome, readFileSync(path, 'utf8')]).toEqual(isWindows ? ['config', 'old'] : ['written', 'new']);
  expect(await writeAtomic(path, 'newer')).toBe('written');
  expect([readFileSync(path, 'utf8'), readdirSync(root)]).toEqual(['newer', ['a']]);
});

test('on Windows a replacement waits for whoever reads the file, for two seconds', () => {
  const failed = (code: string) => Object.assign(new Error(code), { code });
  const delays = (thrown: Error, platform: NodeJS.Platform) =>
    Array.from({ length: 22 }, (_, attempt) => nextReplacement(attempt, thrown, platform) ?? 0);
  for (const code of ['EPERM', 'EBUSY', 'EACCES']) {
    expect(delays(failed(code), 'win32').reduce((sum, delay) => sum + delay)).toBe(1900);
    expect(delays(failed(code), 'linux')).toEqual(Array(22).fill(0));
  }
  expect(delays(failed('ENOSPC'), 'win32')).toEqual(Array(22).fill(0));
});

test('a file that changed since it was read is not replaced', async () => {
  const root = temporary();
  const path = join(root, 'a');
  writeFileSync(path, 'one');
  const before = await readFileState(path);
  writeFileSync(path, 'another');
  const expected = before.kind === 'text' ? before.version : '';
  expect(await writeAtomic(path, 'mine', { expected })).toBe('changed');
  expect(readFileSync(path, 'utf8')).toBe('another');
  const now = await readFileState(path);
  expect(await writeAtomic(path, 'mine', { expected: now.kind === 'text' ? now.version : '' })).toBe('written');
  expect(readFileSync(path, 'utf8')).toBe('mine');
  rmSync(path);
  expect(await writeAtomic(path, 'mine', { expected })).toBe('changed');
  expect(readdirSync(root)).toEqual([]);
});

test('what cannot be written is an error, and nothing is left behind', async () => {
  const root = temporary();
  writeFileSync(join(root, 'file'), '');
  await expect(writeAtomic(join(root, 'file', 'a'), 'x')).rejects.toMatchObject({ fault: 'config' });
  mkdirSync(join(root, 'taken'));
  await expect(writeAtomic(join(root, 'taken'), 'x')).rejects.toMatchObject({ fault: 'config' });
  expect(readdirSync(root).sort()).toEqual(['file', 'taken']);
});

posixTest(
  'reading tells apart what is absent, what is not a file and what is too large, without ever waiting',
  async () => {
    const root = temporary();
    mkdirSync(join(root, 'directory'));
    fifo(join(root, 'fifo'));
    symlinkSync('nowhere', join(root, 'dangling'));
    writeFileSync(join(root, 'large'), 'x'.repeat(1_000_001));
    writeFileSync(join(root, 'small'), 'text', { mode: 0o640 });
    const state = (name: string) => readFileState(join(root, name));
    expect(await state('nothing')).toEqual({ kind: 'absent' });
    expect(await state('small/below')).toEqual({ kind: 'absent' });
    expect(await state('dangling')).toEqual({ kind: 'absent' });
    expect(await state('directory')).toEqual({ kind: 'unreadable', why: 'it is not a regular file' });
    expect(await state('fifo')).toEqual({ kind: 'unreadable', why: 'it is not a regular file' });
    expect(await state('large')).toEqual({ kind: 'unreadable', why: 'it is larger than 1 MB' });
    expect(await state('small')).toMatchObject({ kind: 'text', text: 'text', mode: 0o640, isOurs: true });
  },
);

test('a file of another user is read, and never replaced', async () => {
  const root = temporary();
  const path = join(root, 'a');
  writeFileSync(path, 'theirs');
  const uid = statSync(path).uid + 1;
  const file = await readFileState(path, uid);
  expect(file).toMatchObject({ text: 'theirs', isOurs: false });
  const refusal = {
    fault: 'config',
    message: `cannot write ${path}: it belongs to another user`,
    hint: 'Remove it, or run chown on it, and try again.',
  };
  await expect(writeAtomic(path, 'mine', { uid })).rejects.toMatchObject(refusal);
  const expected = file.kind === 'text' ? file.version : '';
  await expect(writeAtomic(path, 'mine', { uid, expected })).rejects.toMatchObject(refusal);
  expect([readFileSync(path, 'utf8'), readdirSync(root)]).toEqual(['theirs', ['a']]);
});

test('a file is created once', async () => {
  const root = temporary();
  const path = join(root, 'below', 'marker');
  expect([tryCreateExclusive(path, 'x'), tryCreateExclusive(path, 'y')]).toEqual(['created', 'exists']);
  expect(readFileSync(path, 'utf8')).toBe('x');
  if (!isWindows) expect(statSync(join(root, 'below')).mode & 0o777).toBe(systemMode(0o700));
  expect(tryCreateExclusive(join(path, 'z'), '')).toBe('failed');
});

test('a new file has its name only when it is whole, and replaces nothing', async () => {
  const root = temporary();
  const path = join(root, 'a');
  let names: readonly string[] = [];
  const prepare = async () => {
    names = readdirSync(root);
  };
  expect(await createAtomic(path, 'x', { mode: 0o600, prepare })).toBe('created');
  expect(names).toHaveLength(1);
  expect(names).not.toContain('a');
  expect(await createAtomic(path, 'y')).toBe('exists');
  expect([readFileSync(path, 'utf8'), readdirSync(root)]).toEqual(['x', ['a']]);
});

test('a broken file is quarantined with a time stamp, and files are removed by name', async () => {
  const root = temporary();
  writeFileSync(join(root, 'a.json'), '{');
  await quarantine(join(root, 'a.json'), Date.UTC(2026, 0, 2, 3, 4, 5));
  expect(readdirSync(root)).toEqual(['a.json.corrupt-20260102T030405Z']);
  writeFileSync(join(root, 'keep'), '');
  expect(await removeFiles(root, (name) => name.startsWith('a.json'))).toBe(1);
  expect(readdirSync(root)).toEqual(['keep']);
});

test('temporary files that a killed process left are removed when they are old, and nothing else is', async () => {
  const path = temporary();
  const [old, fresh, other] = [
    temporaryPath(join(path, 'a.json')),
    temporaryPath(join(path, 'a.json')),
    join(path, 'a'),
  ];
  for (const file of [old, fresh, other]) writeFileSync(file, '');
  for (const file of [old, other]) utimesSync(file, 1, 1);
  await removeTemporaries(path, 1_000_000);
  expect(readdirSync(path).sort()).toEqual([basename(fresh), 'a'].sort());
});

test('a name as long as a name can be is written all the same', async () => {
  const path = join(temporary(), '가'.repeat(85));
  await writeAtomic(path, 'text');
  expect(readFileSync(path, 'utf8')).toBe('text');
});
