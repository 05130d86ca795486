import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'vitest';
import { killProcessTree } from '../../../src/platform/process/group.ts';
import { linuxTest } from '../../support/posix.ts';

linuxTest('a process tree is killed at once, with those that left its group', async () => {
  const marker = 'gmn-test-7f6c0a5e';
  const env = { PATH: process.env.PATH, MARK: marker };
  const leader = spawn('sleep', ['100'], { detached: true, env, stdio: 'ignore' });
  const other = spawn('sleep', ['100'], { detached: true, env, stdio: 'ignore' });
  const ends = [leader, other].map((child) => once(child, 'exit'));
  await Promise.all([leader, other].map((child) => once(child, 'spawn')));
  killProcessTree({ leader: leader.pid!, marker, sinceMs: 0, hasLeaderEnded: () => false });
  expect(await Promise.all(ends)).toEqual([
    [null, 'SIGKILL'],
    [null, 'SIGKILL'],
  ]);
});
