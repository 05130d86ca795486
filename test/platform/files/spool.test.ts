import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { createSpool } from '../../../src/platform/files/spool.ts';

test('a spool that is closed leaves nothing behind, though a file of it is being written', async () => {
  const spool = createSpool();
  const [done, open] = [await spool.create(), await spool.create()];
  for (const file of [done, open]) await file.append(Buffer.from('a'));
  await done.finish();
  await spool.close();
  expect(existsSync(dirname(open.path))).toBe(false);
});
