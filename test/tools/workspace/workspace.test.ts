import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/core/error.ts';
import { UNTRUSTED } from '../../../src/core/tool.ts';
import { detectHandleMode } from '../../../src/platform/files/directory-handle.ts';
import { sha256 } from '../../../src/platform/runtime/native.ts';
import { openWorkspace } from '../../../src/tools/workspace/workspace.ts';
import { isWindows, posixTest } from '../../support/posix.ts';
import { NO_JOURNAL, place, placeAt, put, temporary } from '../place.ts';

const HOLDS = isWindows ? (['path'] as const) : (['descriptor', 'path'] as const);

test('on Linux, directory handles are descriptors', () => {
  expect(detectHandleMode()).toBe(process.platform === 'linux' ? 'descriptor' : 'path');
});

test('a root must be there', async () => {
  const open = (root: string) => openWorkspace({ roots: [root], journal: NO_JOURNAL });
  const top = temporary();
  symlinkSync('nowhere', join(top, 'dangling'));
  await expect(open(join(top, 'missing'))).rejects.toThrow('no such directory');
  await expect(open(join(top, 'dangling'))).rejects.toThrow('no such directory');
});

test('there is no workspace without a root', async () => {
  await expect(openWorkspace({ roots: [], journal: NO_JOURNAL })).rejects.toThrow('no directory to work in');
});

test('a walk shows neither secrets nor what is denied, and does not ask where a path is', async () => {
  const top = temporary();
  const { workspace } = await placeAt(top, { denied: [join(top, 'state')] });
  const paths = [join(top, 'a'), join(top, '.env'), join(top, 'state/x'), '/elsewhere/a', '/elsewhere/.env'];
  expect(paths.map((path) => workspace.isListed(path))).toEqual([true, false, false, true, false]);
});

test('a root that is named through a link can be used by both names', async () => {
  const top = temporary({ 'real/a.txt': 'a\n' });
  symlinkSync('real', join(top, 'link'));
  const here = await placeAt(join(top, 'link'));
  expect(here.workspace.roots).toEqual([realpathSync(join(top, 'real'))]);
  for (const path of ['a.txt', join(top, 'link/a.txt'), join(top, 'real/a.txt')]) {
    expect(await here.output('read_file', { path })).toBe('a');
  }
});

test('denied directories are closed although they lie inside, under every name', async () => {
  const top = temporary({ 'state/token': 'canary\n', 'b.txt': 'b\n' });
  symlinkSync('state', join(top, 'alias'));
  const denied = [join(top, 'state'), join(top, 'not-there'), join(top, 'alias')];
  symlinkSync('nowhere', join(top, 'dangling'));
  const here = await placeAt(top, { denied: [...denied, join(top, 'dangling')] });
  for (const path of ['state/token', 'alias/token', 'state', 'not-there/new']) {
    expect(await here.error('read_file', { path })).toContain('outside the workspace');
    expect(await here.error('write_file', { path, content: 'x' })).toContain('outside the workspace');
  }
  expect(await here.output('glob', { pattern: '**/*' })).toEqual({ files: ['b.txt'] });
  expect(await here.output('search_file_content', { pattern: 'canary' })).toEqual({ matches: [] });
});

posixTest('with / as its root, the kernel’s directories and denied ones stay closed', async () => {
  const home = temporary({ '.gemini/oauth_creds.json': 'canary', '.ssh/id_rsa': 'canary', 'a.txt': 'a\n' });
  const here = await placeAt('/', { denied: [join(home, '.gemini')] });
  expect(await here.output('read_file', { path: join(home, 'a.txt') })).toBe('a');
  for (const path of ['/proc/self/environ', '/dev/null', '/sys/kernel', join(home, '.gemini/oauth_creds.json')]) {
    expect(await here.error('read_file', { path })).toContain('outside the workspace');
  }
  expect(await here.error('read_file', { path: join(home, '.ssh/id_rsa') })).toContain('may hold secrets');
  expect(await here.error('read_file', { path: '/' })).toContain('it is a directory');
});

test('names mean to Windows what they mean to Windows', async () => {
  const files = { 'aux.c': 'a\n', 'a.txt': 'a\n' };
  const here = await place(files, { isWindows: true });
  expect(await here.error('read_file', { path: 'aux.c' })).toContain('outside the workspace');
  expect(await here.error('read_file', { path: 'a.txt::$DATA' })).toContain('outside the workspace');
  expect(await (await place(files, { isWindows: false })).output('read_file', { path: 'aux.c' })).toBe('a');
});

test.each(HOLDS)('handles by %s: system errors become messages', async (handleMode) => {
  const here = await place({ 'a.txt': 'a\n', 'dir/x': '' }, { handleMode });
  expect(await here.error('read_file', { path: 'a.txt/b' })).toBe(
    'a.txt/b: a part of the path is a file, not a directory. Look with list_directory.',
  );
  const long = isWindows ? 'there is no such file' : 'the name is too long';
  expect(await here.error('read_file', { path: 'n'.repeat(300) })).toContain(long);
  expect(await here.error('write_file', { path: 'dir', content: 'x' })).toContain('dir: it is a directory');
  symlinkSync('self', join(here.root, 'self'));
  expect(await here.error('read_file', { path: 'self' })).toContain('too many symbolic links');
});

test.each(HOLDS)('handles by %s: files are created, replaced and read', async (handleMode) => {
  const here = await place({ 'a.txt': 'old\n' }, { handleMode });
  await here.output('read_file', { path: 'a.txt' });
  await here.output('write_file', { path: 'a.txt', content: 'new\n' });
  await here.output('write_file', { path: 'x/y/z.txt', content: 'deep\n' });
  expect(readFileSync(join(here.root, 'a.txt'), 'utf8')).toBe('new\n');
  expect(readFileSync(join(here.root, 'x/y/z.txt'), 'utf8')).toBe('deep\n');
  expect(statSync(join(here.root, 'x/y/z.txt')).mode & 0o777).toBe(0o666 & ~process.umask());
});

const rootTest = test.skipIf(process.getuid?.() !== 0);

rootTest('a file keeps its owner and its group', async () => {
  const here = await place({ 'a.txt': 'old\n' });
  const path = join(here.root, 'a.txt');
  chownSync(path, 1234, 5678);
  chmodSync(path, 0o640);
  await here.output('read_file', { path: 'a.txt' });
  await here.output('edit_file', { path: 'a.txt', old_string: 'old', new_string: 'new' });
  expect(statSync(path)).toMatchObject({ uid: 1234, gid: 5678, mode: 0o100640 });
  const print = sha256(readFileSync(path));
  await here.workspace.restore(path, { bytes: Buffer.from('old\n'), mode: 0o640, expected: print });
  expect(readFileSync(path, 'utf8')).toBe('old\n');
  expect(statSync(path)).toMatchObject({ uid: 1234, gid: 5678, mode: 0o100640 });
});

const python = (code: string, ...args: string[]) => spawnSync('python3', ['-c', code, ...args], { encoding: 'utf8' });

/** Sets an attribute; false where the system has none, or nothing to set it with. */
function setAttribute(path: string): boolean {
  return python("import os,sys; os.setxattr(sys.argv[1], 'user.note', b'kept')", path).status === 0;
}

const hasAttributes = (() => {
  if (process.platform !== 'linux') return false;
  const directory = mkdtempSync(join(tmpdir(), 'gmn-attributes-'));
  writeFileSync(join(directory, 'a'), '');
  const isGnu = spawnSync('/bin/cp', ['--version'], { encoding: 'utf8' }).stdout?.includes('GNU');
  const found = isGnu === true && setAttribute(join(directory, 'a'));
  rmSync(directory, { recursive: true });
  return found;
})();

test.skipIf(!hasAttributes)('a file keeps its extended attributes', async () => {
  const here = await place({ 'a.txt': 'old\n' });
  const path = join(here.root, 'a.txt');
  setAttribute(path);
  await here.output('read_file', { path: 'a.txt' });
  await here.output('write_file', { path: 'a.txt', content: 'new\n' });
  expect(readFileSync(path, 'utf8')).toBe('new\n');
  const { stdout } = python("import os,sys; print(os.getxattr(sys.argv[1], 'user.note').decode())", path);
  expect(stdout).toBe('kept\n');
});

test('a hard link keeps the old content, and a notice says so', async () => {
  const here = await place({ 'a.txt': 'old\n' });
  const outside = temporary();
  linkSync(join(here.root, 'a.txt'), join(outside, 'other'));
  await here.output('read_file', { path: 'a.txt' });
  const edited = await here.call('edit_file', { path: 'a.txt', old_string: 'old', new_string: 'new' });
  expect(edited).toEqual({
    ok: true,
    response: { output: 'Changed. The file had 1 other hard link: the old content is still there.' },
    change: { added: 1, removed: 1, cutLinks: 1 },
  });
  expect(readFileSync(join(outside, 'other'), 'utf8')).toBe('old\n');
  expect(readFileSync(join(here.root, 'a.txt'), 'utf8')).toBe('new\n');
  expect(await here.output('write_file', { path: 'a.txt', content: 'newer\n' })).toBe('Replaced.');
});

test('more than a file may hold is not written, whoever asks', async () => {
  const here = await place();
  await expect(here.workspace.write('a', new Uint8Array(20_000_001))).rejects.toThrow('would be larger than 20 MB');
});

posixTest('a file whose owner lends his rights is not changed', async () => {
  const here = await place({ tool: 'a\n' });
  chmodSync(join(here.root, 'tool'), 0o4755);
  await here.output('read_file', { path: 'tool' });
  expect(await here.error('write_file', { path: 'tool', content: 'b' })).toContain('runs with the rights of its owner');
});

test('more than 20 MB is not written', async () => {
  const here = await place();
  expect(await here.error('write_file', { path: 'a', content: 'x'.repeat(20_000_001) })).toContain('larger than 20 MB');
});

test('what somebody writes at the last moment is not lost', async () => {
  const root = temporary({ 'a.txt': 'old\n' });
  const meddle = { record: async (path: string) => writeFileSync(path, 'theirs\n') };
  const here = await placeAt(root, { journal: meddle });
  await here.output('read_file', { path: 'a.txt' });
  for (const path of ['a.txt', 'b.txt']) {
    expect(await here.error('write_file', { path, content: 'ours\n' })).toContain(
      'another program changed it at the same moment',
    );
    expect(readFileSync(join(root, path), 'utf8')).toBe('theirs\n');
  }
});

test('a directory that is swapped for a link after it was looked at is noticed', async () => {
  const top = temporary({ 'app/sub/a.txt': 'inside\n', 'outside/a.txt': 'canary\n' });
  const swap = {
    record: async () => {
      renameSync(join(top, 'app/sub'), join(top, 'app/aside'));
      symlinkSync('../outside', join(top, 'app/sub'));
    },
  };
  const here = await placeAt(join(top, 'app'), { handleMode: 'path', journal: swap });
  await here.output('read_file', { path: 'sub/a.txt' });
  expect(await here.error('write_file', { path: 'sub/a.txt', content: 'x' })).toContain('are being changed');
  expect(readFileSync(join(top, 'outside/a.txt'), 'utf8')).toBe('canary\n');
});

test('a bug in the journal is not taken for a refusal', async () => {
  const bug = new TypeError('bug');
  const here = await place({}, { journal: { record: () => Promise.reject(bug) } });
  await expect(here.call('write_file', { path: 'a', content: 'x' })).rejects.toBe(bug);
});

test('a file that vanishes between two checks is reported as missing', async () => {
  const here = await place({ 'a.txt': 'a\n' });
  const found = await here.workspace.place('a.txt', 'read');
  rmSync(join(here.root, 'a.txt'));
  expect(found).toEqual({ path: join(here.root, 'a.txt'), name: 'a.txt', missing: 0, isSensitive: false });
  expect(await here.error('read_file', { path: 'a.txt' })).toContain('there is no such file');
});

test('restoring is done only over what is expected, and only if it is still there at the end', async () => {
  const here = await place({ 'a.txt': 'a\n' });
  const change = { bytes: Buffer.from('b'), mode: 0o644, expected: 'no such print' };
  await expect(here.workspace.restore('a.txt', change)).rejects.toThrow(AppError);
  await expect(here.workspace.restore('missing.txt', change)).rejects.toThrow('was changed since');
  mkdirSync(join(here.root, 'd'));
  put(here.root, { 'd/x': '' });
  await expect(here.workspace.restore('d', change)).rejects.toThrow('it is a directory');
});

test('what was stored can be read, and is marked as data unless it is known to be from here', async () => {
  const shelf = temporary({ 'of an earlier run': 'from an earlier run\n' });
  const saved = new Set<string>();
  const save = async (text: string): Promise<string> => {
    const name = String(saved.size);
    put(shelf, { [name]: text });
    saved.add(join(shelf, name));
    return join(shelf, name);
  };
  const { workspace, call } = await place(
    {},
    { outputs: { save, has: (path) => saved.has(path), close: async () => {} } },
  );
  const read = async (path: string | undefined) => (await call('read_file', { path: path! })).response;
  expect(await read(await workspace.keep('from a command\n'))).toEqual({ output: 'from a command' });
  expect(await read(await workspace.keepUntrusted('from a page\n'))).toEqual({ output: 'from a page', ...UNTRUSTED });

  // A compaction stores the output of any tool, and a resumed conversation names what an earlier one stored.
  const compacted = await workspace.keep('from any tool\n', async (text) => {
    put(shelf, { compacted: text });
    return join(shelf, 'compacted');
  });
  expect(await read(compacted)).toEqual({ output: 'from any tool', ...UNTRUSTED });
  expect(await workspace.keep('lost', async () => undefined)).toBeUndefined();
  const earlier = join(shelf, 'of an earlier run');
  expect(await read(earlier)).toHaveProperty('error');
  workspace.allowStored([earlier]);
  expect(await read(earlier)).toEqual({ output: 'from an earlier run', ...UNTRUSTED });
});

test('an editor’s text is read in place of what is on disk, and changes go through it', async () => {
  const top = temporary({ 'a.txt': 'disk\n', 'b.txt': 'disk\n', 'big.txt': 'x'.repeat(20_000_001) });
  const written: string[] = [];
  const { workspace } = await placeAt(top, {
    buffers: {
      read: async (path) => (path.endsWith('a.txt') ? Buffer.from('unsaved\n') : undefined),
      write: async (path, bytes) => {
        if (path.endsWith('.bin')) return false;
        written.push(Buffer.from(bytes).toString());
        return true;
      },
    },
  });
  const read = async (path: string): Promise<string> => {
    const { place: at, file } = await workspace.open(path);
    const bytes = await file.read(0, Math.min(file.size, 20));
    await file.close();
    workspace.remember(at, bytes, { first: 1, last: 1, total: 1 });
    return Buffer.from(bytes).toString();
  };
  expect(await read('a.txt')).toBe('unsaved\n');
  expect(await read('b.txt')).toBe('disk\n');
  expect(await read('big.txt')).toBe('x'.repeat(20));
  expect(Buffer.from((await workspace.current('a.txt', 'whole')).old ?? []).toString()).toBe('unsaved\n');
  await workspace.write('a.txt', Buffer.from('new\n'));
  await workspace.write('made.txt', Buffer.from('made\n'));
  await workspace.write('made.bin', Buffer.from([0]));
  expect(written).toEqual(['new\n', 'made\n']);
  expect(readFileSync(join(top, 'a.txt'), 'utf8')).toBe('disk\n');
  expect(readFileSync(join(top, 'made.bin'))).toEqual(Buffer.from([0]));
});

test('an editor writes no file that has other names, nor one that changed at that moment', async () => {
  const top = temporary({ 'a.txt': 'one\n', 'b.txt': 'one\n' });
  linkSync(join(top, 'a.txt'), join(top, 'other.txt'));
  const written: string[] = [];
  let interfere = (): void => {};
  const journal = { record: async () => interfere() };
  const write = async (path: string) => written.push(path) > 0;
  const { workspace } = await placeAt(top, { journal, buffers: { write } });
  for (const path of ['a.txt', 'b.txt']) {
    const { place: at, file } = await workspace.open(path);
    workspace.remember(at, await file.read(0, file.size), { first: 1, last: 1, total: 1 });
    await file.close();
  }
  await workspace.write('a.txt', Buffer.from('two\n'));
  expect(readFileSync(join(top, 'other.txt'), 'utf8')).toBe('one\n');
  interfere = () => writeFileSync(join(top, 'b.txt'), 'somebody else\n');
  await expect(workspace.write('b.txt', Buffer.from('two\n'))).rejects.toThrow('another program changed it');
  expect(written).toEqual([]);
});

test('a file is closed if the editor cannot be asked', async () => {
  const top = temporary({ 'a.txt': 'one\n' });
  const read = async (): Promise<never> => {
    throw new AppError('interrupted', 'cancelled');
  };
  const { workspace } = await placeAt(top, { buffers: { read } });
  await expect(workspace.open('a.txt')).rejects.toThrow('cancelled');
});
