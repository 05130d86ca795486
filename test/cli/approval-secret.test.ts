import { renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createApprover } from '../../src/approval/approve.ts';
import { createTerminalPerson } from '../../src/approval/person.ts';
import { approvalPolicy } from '../../src/approval/policy.ts';
import { secretFiles } from '../../src/approval/targets.ts';
import type { JsonObject } from '../../src/core/json.ts';
import type { Tty } from '../../src/platform/terminal/tty.ts';
import { posixTest } from '../support/posix.ts';
import { CALM, place } from '../tools/place.ts';

/** A workspace with two secrets, and a link to one; the person presses these keys, and something happens before each. */
async function openSecretQuestion(keys: readonly string[], meanwhile: (root: string) => void = () => {}) {
  const here = await place({ '.env': 'A=1', '.env.prod': 'B=2' });
  symlinkSync('.env', join(here.root, 'notes.txt'));
  const left = [...keys];
  let screen = '';
  const write = async (text: string): Promise<void> => {
    screen += text;
  };
  const key: Tty['key'] = async (_, show) => {
    await show();
    meanwhile(here.root);
    return left.shift() ?? 'q';
  };
  const approve = createApprover({
    policy: approvalPolicy({ mode: 'yolo', allowed: [], isTrusted: () => false }),
    withPerson: createTerminalPerson({
      err: { write, isTerminal: true, isStyled: false, columns: 200 },
      env: {},
      runPaused: (work) => work(),
      openTty: () => ({
        ...{ columns: 200, rows: 24, key, close: () => {} },
        ...{ line: async () => '', edit: async () => undefined, page: async () => false },
      }),
    }),
    explainDenial: () => Promise.reject(new Error('somebody is there')),
    ...secretFiles(here.workspace),
  });
  const tool = here.tools.get('read_file')!;
  const read = async (args: JsonObject) => {
    const verdict = await approve(tool, { id: '1', name: 'read_file', args }, { signal: CALM });
    return verdict.kind === 'run' ? here.call('read_file', args) : verdict;
  };
  return { read, root: here.root, screen: () => screen };
}

function swap(root: string): void {
  rmSync(join(root, 'notes.txt'));
  symlinkSync('.env.prod', join(root, 'notes.txt'));
}

posixTest('the question names the file that would be read, and why it is asked', async () => {
  const { read, root, screen } = await openSecretQuestion(['y']);
  expect(await read({ file_path: 'notes.txt' })).toMatchObject({ ok: true, response: { output: 'A=1' } });
  expect(screen()).toBe(
    [
      '╭ read_file',
      '│ {',
      '│   "file_path": "notes.txt"',
      '│ }',
      `│ ${root}/.env`,
      '│ This file may hold keys or passwords, and would be sent to the model.',
      '╰ [y]es [N]o [a]lways this file [e]dit [r]eply [q]uit turn [?] › y',
      '',
    ].join('\n'),
  );
});

posixTest('a yes is for the file that was shown, not for where its name leads by then', async () => {
  const { read } = await openSecretQuestion(['y'], swap);
  const answer = await read({ file_path: 'notes.txt' });
  expect(answer).toMatchObject({ ok: false });
  expect(JSON.stringify(answer)).toContain('.env.prod may hold secrets');
});

posixTest('a file whose place was taken by a link is not let through', async () => {
  const { read } = await openSecretQuestion(['y'], (root) => {
    rmSync(join(root, '.env'));
    symlinkSync('.env.prod', join(root, '.env'));
  });
  expect(await read({ file_path: '.env' })).toMatchObject({
    kind: 'deny',
    reason: expect.stringContaining('is a different file now'),
  });
});

posixTest('"always" is for the file, whatever it is called, and for no other', async () => {
  const { read, root, screen } = await openSecretQuestion(['a', 'n']);
  await read({ file_path: 'notes.txt' });
  expect(await read({ absolute_path: join(root, '.env') })).toMatchObject({ ok: true });
  swap(root);
  expect(await read({ file_path: 'notes.txt' })).toMatchObject({ kind: 'deny' });
  expect(screen().split('╭').length - 1).toBe(2);
});

posixTest.for(['file_path', 'path', 'absolute_path'])('a secret named by %s is asked about', async (name) => {
  const { read } = await openSecretQuestion(['y']);
  expect(await read({ [name]: '.env' })).toMatchObject({ ok: true, response: { output: 'A=1' } });
});

posixTest('only a reading of a file that may hold secrets has one', async () => {
  const here = await place({ '.env': 'A=1', 'a.txt': 'a' });
  const { findSecret } = secretFiles(here.workspace);
  const read = here.tools.get('read_file')!;
  expect(await findSecret(read, { file_path: '.env' })).toBe(join(here.root, '.env'));
  expect(await findSecret(read, { file_path: 'a.txt' })).toBeUndefined();
  expect(await findSecret(read, {})).toBeUndefined();
  expect(await findSecret(read, { file_path: '../outside' })).toBeUndefined();
  for (const name of ['glob', 'write_file'])
    expect(await findSecret(here.tools.get(name)!, { file_path: '.env' })).toBeUndefined();
});

posixTest('a file that is another by the time of the yes is not let through', async () => {
  const here = await place({ '.env': 'A=1', '.env.prod': 'B=2' });
  const { permit, findSecret } = secretFiles(here.workspace);
  const path = join(here.root, '.env');
  await expect(permit(path)).rejects.toThrow('is a different file now');
  await findSecret(here.tools.get('read_file')!, { path });
  await permit(path);
  renameSync(join(here.root, '.env.prod'), path);
  await expect(permit(path)).rejects.toThrow('is a different file now');
  rmSync(path);
  await expect(permit(path)).rejects.toThrow('is a different file now');
});
