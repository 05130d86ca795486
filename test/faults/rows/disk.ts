import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { CANARIES } from '../../support/canaries.ts';
import { call } from '../../support/gemini.ts';
import { COMMAND, type Fault, PLAIN_PIPE, row } from '../fault.ts';
import { copied, limited, needsMounts, onSmallDisk } from '../poor-disks.ts';
import type { Scene } from '../scene.ts';
import { brokenSessions, leftovers } from '../traces.ts';
import { answer, reply } from '../wire-answers.ts';
import { DISK_ACCESS } from './disk-access.ts';
import { ANSWERS, CHAT, EDITING, HELLO, LONG, told, UNSAVED, writing } from './runs.ts';

/** Everything of the small disk that can be looked at: no piece of a file, and every session loads. */
async function checkCopied(scene: Scene, firstWords: string): Promise<void> {
  const home = copied(scene);
  expect(leftovers(home)).toEqual([]);
  expect(await brokenSessions(home)).toEqual([]);
  const [file = ''] = readdirSync(join(home, 'sessions')).filter((name) => name.endsWith('.jsonl'));
  expect(readFileSync(join(home, 'sessions', file), 'utf8')).toContain(firstWords);
}

const granted = answer(200, JSON.stringify({ access_token: CANARIES.granted, expires_in: 3599 }));

/** The rows D1 to D17; these are about room, and what is left of it. */
export const DISK: readonly Fault[] = [
  row('D1', 'ENOSPC on session append', [
    {
      ...CHAT,
      name: 'the second answer does not fit',
      skip: needsMounts,
      play: (scene) =>
        scene.run(undefined, { under: onSmallDisk(scene, { directory: scene.gmnHome, limits: 'size=128k' }) }),
      expect: { code: 0, says: /no longer being saved: the disk is full/, text: ANSWERS },
      check: (scene) => checkCopied(scene, 'first'),
    },
    {
      ...HELLO,
      name: 'a one-shot on a disk without room',
      skip: needsMounts,
      play: (scene) =>
        scene.run(undefined, { under: onSmallDisk(scene, { directory: scene.gmnHome, limits: 'size=4k' }) }),
      expect: { ...UNSAVED, says: /this run was not saved: the disk is full/ },
    },
  ]),
  row(
    'D2',
    'ENOSPC on token store',
    [
      {
        ...HELLO,
        name: 'no room for the granted token',
        skip: needsMounts,
        signIn: 'stale',
        token: [granted],
        play: (scene) =>
          scene.run(undefined, {
            under: onSmallDisk(scene, { directory: join(scene.gmnHome, 'tokens'), limits: 'nr_inodes=1' }),
          }),
        expect: { code: 0, text: 'Hello.' },
        check: (scene) => expect(readdirSync(copied(scene))).toEqual([]),
      },
    ],
    ['test/auth/crowd.test.ts', 'a full disk costs the cache, not the answer, and leaves nothing half written'],
  ),
  row('D3', 'ENOSPC on write_file', [
    {
      name: 'a file that does not fit, over one that was read',
      skip: needsMounts,
      ways: PLAIN_PIPE,
      files: { 'a.txt': 'old\n' },
      args: EDITING,
      model: [reply(call('read_file', { file_path: 'a.txt' })), ...writing('a.txt', LONG)],
      play: (scene) =>
        scene.run(undefined, { under: onSmallDisk(scene, { directory: scene.cwd, limits: 'size=64k' }) }),
      expect: { code: 0, text: 'done' },
      check(scene) {
        expect(told(scene)).toMatch(/disk is full|ENOSPC|no space/i);
        expect(readdirSync(copied(scene))).toEqual(['a.txt']);
        expect(readFileSync(join(copied(scene), 'a.txt'), 'utf8')).toBe('old\n');
      },
    },
  ]),
  row(
    'D4',
    'ENOSPC on stdout',
    [
      {
        ...HELLO,
        name: '/dev/full',
        skip: () => (existsSync('/dev/full') ? undefined : 'there is no /dev/full here'),
        play: (scene) => scene.run(undefined, { under: ['sh', '-c', 'exec "$@" > /dev/full', 'sh'] }),
        expect: { code: 1, says: /cannot write|could not be written|No space|full/i },
      },
    ],
    ['test/cli/process.test.ts', 'a full disk is an error with a next step'],
  ),
  row('D10', 'EFBIG (ulimit -f)', [
    {
      ...CHAT,
      name: 'the session may not grow further',
      play: (scene) => scene.run(undefined, { under: limited('-f 64') }),
      expect: {
        code: 0,
        text: ANSWERS,
        says: /no longer being saved: the file would be larger than allowed/,
      },
    },
  ]),
  row('D11', 'EXDEV: target directory on another device than temp', [
    {
      name: 'the folder is a disk of its own',
      ways: PLAIN_PIPE,
      skip: needsMounts,
      args: EDITING,
      model: [...writing('sub/new.txt', 'x')],
      play: (scene) => scene.run(undefined, { under: onSmallDisk(scene, { directory: scene.cwd, limits: 'size=1m' }) }),
      expect: { code: 0, text: 'done' },
      check: (scene) => expect(readFileSync(join(copied(scene), 'sub/new.txt'), 'utf8')).toBe('x'),
    },
  ]),
  row('D14', 'inode exhaustion', [
    {
      ...CHAT,
      name: 'no name is left for a session',
      skip: needsMounts,
      play: (scene) =>
        scene.run(undefined, { under: onSmallDisk(scene, { directory: scene.gmnHome, limits: 'nr_inodes=3' }) }),
      expect: { code: 0, says: /no longer being saved: the disk is full/, text: ANSWERS },
    },
  ]),
  row('D15', 'rename onto an immutable file', [
    {
      ...HELLO,
      name: 'a file that chattr has locked',
      skip: () => (canLock() ? undefined : 'chattr +i does not work here'),
      files: { 'a.txt': 'old\n' },
      args: EDITING,
      model: [reply(call('read_file', { file_path: 'a.txt' })), ...writing('a.txt', 'new\n')],
      play(scene) {
        const file = join(scene.cwd, 'a.txt');
        spawnSync('chattr', ['+i', file]);
        return scene.run().finally(() => spawnSync('chattr', ['-i', file]));
      },
      expect: { code: 0, text: 'done' },
      check(scene) {
        expect(told(scene)).toMatch(/not permitted|permission|EPERM/i);
        expect(readdirSync(scene.cwd)).toEqual(['a.txt']);
        expect(readFileSync(join(scene.cwd, 'a.txt'), 'utf8')).toBe('old\n');
      },
    },
  ]),
  row(
    'D16',
    'leftover temp and lock files of a dead process',
    [
      {
        name: 'fifty of each, two days old',
        ways: COMMAND,
        // Not `list`: tidying by the way may leave the rest for tomorrow when the machine is busy.
        args: ['sessions', 'prune'],
        play(scene) {
          plantLeftovers(scene);
          return scene.run();
        },
        expect: { code: 0 },
        check: (scene) => expect(readdirSync(join(scene.gmnHome, 'sessions'))).toEqual(['.pruned']),
      },
    ],
    ['test/session/prune.test.ts', 'what dead processes left behind goes, once it is old'],
  ),
  row(
    'D17',
    'session directory with 10,000 sessions, one 500 MB',
    [],
    ['test/session/store-limits.test.ts', 'thousands of sessions are listed'],
    ['test/session/store-limits.test.ts', 'of a session that is listed only the ends are read'],
  ),
  ...DISK_ACCESS,
];

function canLock(): boolean {
  const file = `${process.env.TMPDIR ?? '/tmp'}/gmn-lock-${process.pid}`;
  writeFileSync(file, '');
  const isLocked = spawnSync('chattr', ['+i', file]).status === 0;
  spawnSync('chattr', ['-i', file]);
  spawnSync('rm', ['-f', file]);
  return isLocked;
}

function plantLeftovers({ gmnHome }: Scene): void {
  mkdirSync(join(gmnHome, 'sessions'), { recursive: true, mode: 0o700 });
  const before = Date.now() / 1000 - 2 * 86_400;
  for (let index = 0; index < 50; index += 1) {
    const id = `aaaaaaaa-1111-4111-8111-1111111111${String(index).padStart(2, '0')}`;
    for (const ending of ['lock', 'lock.1.tmp', 'jsonl.99.ab.tmp']) {
      const file = join(gmnHome, 'sessions', `20260501T120000Z-${id}.${ending}`);
      writeFileSync(file, '{"pid":4194305,"host":"","began":"","nonce":""}', { mode: 0o600 });
      utimesSync(file, before, before);
    }
  }
  const marker = join(gmnHome, 'sessions', '.pruned');
  writeFileSync(marker, '', { mode: 0o600 });
  utimesSync(marker, before, before);
}
