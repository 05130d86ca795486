import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createOutputFile } from '../../../src/platform/files/write.ts';
import { resolveWritingTarget } from '../../../src/platform/files/writing-target.ts';
import { posixTest } from '../../support/posix.ts';
import { temporary } from '../../support/temporary.ts';

test.skipIf(!existsSync('/dev/shm'))('a link in a disk in memory is no link of the system', (t) => {
  const root = mkdtempSync('/dev/shm/gmn-test-');
  t.onTestFinished(() => rmSync(root, { recursive: true }));
  const work = join(root, 'work');
  mkdirSync(work);
  writeFileSync(join(root, 'mine'), 'mine');
  symlinkSync('../mine', join(work, 'out.md'));
  expect(() => resolveWritingTarget('out.md', work)).toThrow('it is a link to');
});

posixTest(
  'a new file goes through no directory out of the working directory, and takes the place of no link',
  async () => {
    const root = temporary({ 'home/mine': 'mine', 'work/kept': '' });
    const [work, home] = [join(root, 'work'), join(root, 'home')];
    symlinkSync(home, join(work, 'away'));
    symlinkSync(join(home, 'mine'), join(work, 'link'));
    symlinkSync(join(home, 'new'), join(work, 'nowhere'));
    await expect(createOutputFile('away/fox.png', work, Buffer.from('x'))).rejects.toThrow(
      'outside of the working directory',
    );
    expect(await createOutputFile('link', work, Buffer.from('x'))).toBe('exists');
    expect(await createOutputFile('nowhere', work, Buffer.from('x'))).toBe('exists');
    expect(readdirSync(home)).toEqual(['mine']);
  },
);
