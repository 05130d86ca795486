import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { placeAt, put, snapshot, temporary } from '../place.ts';

/** Swaps `sub` for a link to outside and back, as fast as it can, until it is killed. */
const SWAPPER = `
const { renameSync, symlinkSync, existsSync } = require('node:fs');
const [root, outside] = process.argv.slice(1);
symlinkSync(outside, root + '/link');
console.log('ready');
for (;;) {
  try { renameSync(root + '/sub', root + '/aside'); renameSync(root + '/link', root + '/sub'); } catch {}
  try { renameSync(root + '/sub', root + '/link'); renameSync(root + '/aside', root + '/sub'); } catch {}
}
`;

async function swapping(root: string, outside: string): Promise<void> {
  const child = spawn(process.execPath, ['-e', SWAPPER, root, outside], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  await once(child.stdout, 'data');
}

test('of 500 files written while a directory is swapped for a link, none lands outside', async () => {
  const top = realpathSync(temporary());
  const [root, outside] = [join(top, 'app'), join(top, 'outside')];
  mkdirSync(join(root, 'sub'), { recursive: true });
  put(outside, { 'kept.txt': 'kept\n' });
  const before = snapshot(outside);
  const here = await placeAt(root);
  await swapping(root, outside);
  let written = 0;
  for (let index = 0; index < 500; index += 1) {
    const { ok } = await here.call('write_file', { path: `sub/deep-${index % 7}/file-${index}.txt`, content: 'x' });
    if (ok) written += 1;
  }
  expect(snapshot(outside)).toEqual(before);
  // Both happen: some get through, some meet the link.
  expect(written).toBeGreaterThan(0);
  expect(written).toBeLessThan(500);
  const names = [root, join(root, 'sub'), join(root, 'aside')].flatMap((path) => {
    try {
      return readdirSync(path);
    } catch {
      return [];
    }
  });
  expect(names.filter((name) => name.endsWith('.tmp'))).toEqual([]);
}, 60_000);

test('reading and searching while a directory is swapped for a link shows nothing from outside', async () => {
  const top = realpathSync(temporary());
  const [root, outside] = [join(top, 'app'), join(top, 'outside')];
  put(root, { 'sub/a.txt': 'inside needle\n', 'sub/deep/b.txt': 'inside needle\n' });
  put(outside, { 'a.txt': 'canary needle\n', 'deep/b.txt': 'canary needle\n' });
  const here = await placeAt(root);
  await swapping(root, outside);
  let seen = 0;
  for (let index = 0; index < 300; index += 1) {
    const outcomes = [
      await here.call('read_file', { path: 'sub/a.txt' }),
      await here.call('read_file', { path: 'sub/deep/b.txt' }),
      await here.call('list_directory', { path: 'sub' }),
      ...(index % 6 === 0 ? [await here.call('search_file_content', { pattern: 'needle' })] : []),
    ];
    const text = JSON.stringify(outcomes);
    expect(text).not.toContain('canary');
    if (text.includes('inside')) seen += 1;
  }
  expect(seen).toBeGreaterThan(0);
}, 60_000);
