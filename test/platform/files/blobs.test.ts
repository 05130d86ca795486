import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createBlobStore } from '../../../src/platform/files/blobs.ts';
import { temporary } from '../../support/temporary.ts';

const BYTES = Buffer.from('pixels');

test('damaged bytes are repaired when they are stored again, of the same size or not', async () => {
  const path = temporary();
  const blobs = createBlobStore(path);
  const print = await blobs.put(BYTES);
  for (const damage of ['PIXELS', '', 'longer than before']) {
    writeFileSync(join(path, print), damage);
    expect(await blobs.get(print)).toBeUndefined();
    expect(await blobs.put(BYTES)).toBe(print);
    expect(await blobs.get(print)).toEqual(BYTES);
  }
  expect(readdirSync(path)).toEqual([print]);
});

test('bytes that cannot get their name leave nothing behind', async () => {
  const path = temporary();
  const print = await createBlobStore(temporary()).put(BYTES);
  mkdirSync(join(path, print));
  await expect(createBlobStore(path).put(BYTES)).rejects.toThrow();
  expect(readdirSync(path)).toEqual([print]);
});

test('prune removes what is unwanted and old, and what was stored again is not old', async () => {
  const path = temporary();
  const blobs = createBlobStore(path);
  const kept: string[] = [];
  for (const text of ['wanted', 'old', 'kept again', 'fresh']) kept.push(await blobs.put(Buffer.from(text)));
  for (const print of kept.slice(0, 3)) utimesSync(join(path, print), 1, 1);
  await blobs.put(Buffer.from('kept again'));
  const left = `${kept[0]}.1.tmp`;
  writeFileSync(join(path, left), 'half');
  utimesSync(join(path, left), 1, 1);
  expect(await blobs.prune((name) => name !== kept[0], 1_000_000)).toBe(2);
  expect(readdirSync(path).sort()).toEqual([kept[0], kept[2], kept[3]].sort());
});
