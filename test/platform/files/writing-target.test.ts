import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resolveWritingTarget } from '../../../src/platform/files/writing-target.ts';

test.skipIf(!existsSync('/dev/shm'))('a link in a disk in memory is no link of the system', (t) => {
  const root = mkdtempSync('/dev/shm/gmn-test-');
  t.onTestFinished(() => rmSync(root, { recursive: true }));
  const work = join(root, 'work');
  mkdirSync(work);
  writeFileSync(join(root, 'mine'), 'mine');
  symlinkSync('../mine', join(work, 'out.md'));
  expect(() => resolveWritingTarget('out.md', work)).toThrow('it is a link to');
});
