import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { CANARIES } from '../../support/canaries.ts';
import { type Fault, PLAIN_PIPE, row } from '../fault.ts';
import { asStranger, failing, limited, needsMounts, needsStrace, needsStranger, readOnly } from '../poor-disks.ts';
import type { Scene } from '../scene.ts';
import { answer, reply } from '../wire-answers.ts';
import { ANSWERS, CHAT, EDITING, HELLO, told, UNSAVED, writing } from './runs.ts';

const granted = answer(200, JSON.stringify({ access_token: CANARIES.granted, expires_in: 3599 }));

/** Those of the rows D1 to D17 that are about what may be read and written. */
export const DISK_ACCESS: readonly Fault[] = [
  row(
    'D5',
    'EACCES on ~/.gmn (0500), on ~/.gemini (0000), on a session (0400), on cwd',
    [
      {
        ...HELLO,
        leaves: ['foreign-mode'],
        name: 'nothing can be made in ~/.gmn',
        skip: needsStranger,
        play(scene) {
          const under = asStranger(scene);
          chmodSync(scene.gmnHome, 0o500);
          return scene.run(undefined, { under });
        },
        expect: { ...UNSAVED, says: /this run was not saved: permission denied/ },
      },
      {
        name: 'the official directory is closed',
        ways: PLAIN_PIPE,
        skip: needsStranger,
        signIn: 'fresh',
        leaves: ['gemini'],
        play(scene) {
          const under = asStranger(scene);
          chmodSync(join(scene.home, '.gemini'), 0o000);
          return scene.run(undefined, { under });
        },
        expect: { code: [2, 4], says: /permission denied|may not be read|EACCES/i },
      },
      {
        ...HELLO,
        name: 'a session that may only be read goes on in memory',
        skip: needsStranger,
        model: [reply('one'), reply('Hello.')],
        async play(scene) {
          const under = asStranger(scene);
          await scene.run(undefined, { under });
          const [file = ''] = sessionsOf(scene);
          chmodSync(file, 0o400);
          return scene.run(['-c', 'again'], { under });
        },
        expect: { code: 0, text: 'Hello.', says: /permission denied|not being saved|not saved/ },
      },
      {
        ...HELLO,
        name: 'a directory that may not be written',
        skip: needsStranger,
        args: EDITING,
        model: [...writing('new.txt', 'x')],
        play(scene) {
          const under = asStranger(scene);
          chmodSync(scene.cwd, 0o555);
          return scene.run(undefined, { under });
        },
        expect: { code: 0, text: 'done' },
        check(scene) {
          expect(told(scene)).toMatch(/permission denied|EACCES|may not/i);
          expect(readdirSync(scene.cwd)).toEqual([]);
        },
      },
    ],
    ['test/session/store-limits.test.ts', 'a session that may not be written is read, and gone on with in memory'],
  ),
  row('D6', 'EROFS home', [
    {
      ...HELLO,
      name: 'a home that is read-only',
      skip: needsMounts,
      play: (scene) => scene.run(undefined, { under: readOnly(scene.home) }),
      expect: { ...UNSAVED, says: /this run was not saved: the file system is read-only/ },
    },
    {
      ...CHAT,
      name: 'a chat in it',
      skip: needsMounts,
      play: (scene) => scene.run(undefined, { under: readOnly(scene.home) }),
      expect: { code: 0, says: /no longer being saved|not saved/, text: ANSWERS },
    },
  ]),
  row(
    'D7',
    'home missing / not a directory / HOME unset / HOME=',
    [
      {
        ...HELLO,
        name: 'a file',
        play: (scene) => scene.run(undefined, { env: { HOME: join(scene.gmnHome, 'key.json') } }),
        expect: { ...UNSAVED, says: /this run was not saved: a file is where a directory should be/ },
      },
      {
        ...HELLO,
        name: 'not there',
        play: (scene) => scene.run(undefined, { env: { HOME: join(scene.home, 'no/such') } }),
        expect: { code: 0, text: 'Hello.' },
      },
      {
        ...HELLO,
        name: 'not set: that of the user, which does not exist either',
        skip: needsStranger,
        play: (scene) => scene.run(undefined, { under: ['env', '-u', 'HOME', ...asStranger(scene)] }),
        expect: UNSAVED,
      },
      {
        ...HELLO,
        name: 'empty: the same',
        skip: needsStranger,
        play: (scene) => scene.run(undefined, { under: asStranger(scene), env: { HOME: '' } }),
        expect: UNSAVED,
      },
    ],
    ['test/cli/stubborn.test.ts', 'is not made of a home where nothing can be made'],
  ),
  row('D8', 'EIO on read/write/fsync/rename/close, each once', [
    {
      ...CHAT,
      name: 'what is written does not reach the disk',
      skip: needsStrace,
      play: (scene) => scene.run(undefined, { under: failing('fsync,fdatasync', 'error=EIO') }),
      expect: { code: 0, text: ANSWERS, says: /no longer being saved/ },
    },
    {
      ...HELLO,
      name: 'a new file does not get its name',
      skip: needsStrace,
      args: EDITING,
      model: [...writing('new.txt', 'x')],
      play: (scene) => scene.run(undefined, { under: failing('rename,renameat,renameat2,link,linkat', 'error=EIO') }),
      expect: { code: 0, text: 'done' },
      check: (scene) => expect(readdirSync(scene.cwd)).toEqual([]),
    },
    {
      ...HELLO,
      name: 'the settings cannot be read',
      skip: needsStrace,
      home: { '.gemini/settings.json': '{}' },
      model: [],
      play: (scene) =>
        scene.run(undefined, {
          under: failing('openat,open', 'error=EIO', [join(scene.home, '.gemini/settings.json')]),
        }),
      expect: { code: 4, says: /settings\.json/ },
    },
    {
      ...HELLO,
      name: 'the sign-in cannot be read',
      skip: needsStrace,
      signIn: 'fresh',
      model: [],
      play: (scene) =>
        scene.run(undefined, {
          under: failing('openat,open', 'error=EIO', [join(scene.home, '.gemini/oauth_creds.json')]),
        }),
      expect: { code: 2, says: /oauth_creds\.json/ },
    },
  ]),
  row(
    'D9',
    'EMFILE/ENFILE',
    [22, 20, 24, 28].map((limit) => ({
      ...HELLO,
      name: `${limit} files`,
      isEndless: true,
      play: (scene: Scene) => scene.run(undefined, { under: limited(`-n ${limit}`) }),
      // Below what Node itself needs it cannot start; that is not ours to say.
      expect: { code: [0, 1, 3, null] },
      check: async ({ started }: Scene) => {
        const ends = await Promise.all(started.map(({ ended }) => ended));
        expect(ends.map(({ stderr }) => stderr).join('')).not.toContain('bug in gmn');
      },
    })),
  ),
  row(
    'D12',
    'NFS-like: ESTALE, no O_EXCL guarantee',
    [
      {
        ...HELLO,
        name: 'no lock can be had: the write itself is guarded',
        skip: needsStrace,
        signIn: 'stale',
        token: [granted],
        play: (scene) =>
          scene.run(undefined, {
            under: failing('openat,open,link,linkat', 'error=ESTALE', [join(scene.gmnHome, 'locks/refresh')]),
          }),
        expect: { code: 0, text: 'Hello.' },
      },
    ],
    [
      'test/platform/files/lock.test.ts',
      'where nothing can be written, nobody has the lock, and work goes on without one',
    ],
  ),
  row(
    'D13',
    'file replaced by a directory, FIFO, socket, device for each state file',
    [
      {
        ...HELLO,
        name: 'the sign-in is a device',
        signIn: 'fresh',
        model: [],
        leaves: ['gemini'],
        play: (scene) => replaced(scene, '.gemini/oauth_creds.json', '/dev/zero'),
        expect: { code: 2, says: /oauth_creds\.json/ },
      },
      {
        ...HELLO,
        name: 'the settings are a device',
        model: [],
        leaves: ['gemini'],
        play: (scene) => replaced(scene, '.gemini/settings.json', '/dev/zero'),
        expect: { code: 4, says: /settings\.json/ },
      },
    ],
    [
      'test/platform/files/write.test.ts',
      'reading tells apart what is absent, what is not a file and what is too large, without ever waiting',
    ],
    ['test/session/damage.test.ts', 'what is no session is left out of the list, and is not waited for'],
  ),
];

function sessionsOf({ gmnHome }: Scene): readonly string[] {
  const directory = join(gmnHome, 'sessions');
  return readdirSync(directory).flatMap((name) => (name.endsWith('.jsonl') ? [join(directory, name)] : []));
}

/** Runs with something else in the place of a file of the home. */
function replaced(scene: Scene, name: string, target: string) {
  spawnSync('ln', ['-sfn', target, join(scene.home, name)]);
  return scene.run();
}
