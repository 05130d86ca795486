import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundledProgram } from '../../support/asking.ts';
import { temporary } from '../../support/temporary.ts';

test('what is gathered into one write keeps its order, also beside stderr in the same file', async () => {
  const directory = temporary();
  const program = await bundledProgram(directory, 'writing-program');
  const file = join(directory, 'both');
  const both = openSync(file, 'a');
  const { status } = spawnSync(process.execPath, [program], { stdio: ['ignore', both, both] });
  closeSync(both);
  expect(status).toBe(0);
  expect(readFileSync(file, 'utf8')).toBe(`1234${'x'.repeat(120_000)}5678`);
  const { stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' });
  expect([stdout, stderr]).toEqual([`124${'x'.repeat(120_000)}67`, '358']);
});

test.skipIf(!existsSync('/dev/full'))('a last write that fails is not taken for one that has left', async () => {
  const directory = temporary();
  const program = await bundledProgram(directory, 'failing-program');
  const full = openSync('/dev/full', 'w');
  const { status, stderr } = spawnSync(process.execPath, [program], {
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
  });
  closeSync(full);
  expect([status, stderr]).toEqual([7, '']);
});
