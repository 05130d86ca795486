import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import type { TurnRecord } from '../../src/core/history.ts';
import { exportSession } from '../../src/export/export.ts';
import { sessionStore } from '../../src/session/store.ts';
import { prompt, reply, small } from '../export/samples.ts';
import { callGmnIn, place } from '../support/gmn.ts';
import { systemMode } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

/** A home with one saved session, and gmn in a directory beside it. */
async function scene(t: TestContext, records: readonly TurnRecord[] = small.records) {
  const { home, cwd, env } = place(t);
  const gmnHome = join(home, '.gmn');
  const clock = { now: () => Date.UTC(2026, 0, 31), sleep: async () => {} };
  const store = sessionStore({ home: gmnHome, clock, version: '0', report: (message) => expect(message).toBe('') });
  const session = await store.create({ cwd, by: 'chat', name: 'notes' });
  for (const record of records) await session.append(record);
  await session.close();
  const saved = await store.read(await store.find('last'));
  const gmn = async (...args: readonly string[]) => {
    const { exitCode, stdout, stderr } = await callGmnIn(t, { cwd, env }, ['sessions', ...args]);
    return { exitCode, stdout, stderr };
  };
  return {
    cwd,
    gmnHome,
    id: session.id,
    /** What the formats make of it. */
    as: async (format: 'md' | 'json' | 'html') => [...(await exportSession(saved, format))].join(''),
    read: (name: string) => readFileSync(join(cwd, name), 'utf8'),
    run: (...args: readonly string[]) => gmn('export', ...args),
    show: (...args: readonly string[]) => gmn('show', ...args),
  };
}

test('without a file it is Markdown on stdout, and nothing else', async (t) => {
  const { run, as, id } = await scene(t);
  const expected = { exitCode: 0, stdout: await as('md'), stderr: '' };
  expect(expected.stdout).toContain('# What is in a.txt, and in the picture?\n');
  expect(await run('last')).toEqual(expected);
  expect(await run(id.slice(0, 8), '-')).toEqual(expected);
  expect(await run('notes', '--format', 'md')).toEqual(expected);
});

test.for(['json', 'html'] as const)('--format %s on stdout', async (format, t) => {
  const { run, as } = await scene(t);
  expect(await run('last', '--format', format)).toEqual({ exitCode: 0, stdout: await as(format), stderr: '' });
});

test.for([
  ['talk.md', 'md'],
  ['talk.json', 'json'],
  ['talk.HTML', 'html'],
] as const)('the ending of %s chooses the format, and nobody else may read the file', async ([file, format], t) => {
  const { run, as, read, cwd } = await scene(t);
  expect(await run('last', file)).toEqual({ exitCode: 0, stdout: '', stderr: `gmn: wrote ${file}\n` });
  expect(read(file)).toBe(await as(format));
  expect(statSync(join(cwd, file)).mode & 0o777).toBe(systemMode(0o600));
  expect(readdirSync(cwd)).toEqual([file]);
});

test('-q writes without a word', async (t) => {
  const { run } = await scene(t);
  expect(await run('-q', 'last', 'talk.md')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
});

test('a file that exists is left alone without --force, and made private with it', async (t) => {
  const { run, as, read, cwd } = await scene(t);
  writeFileSync(join(cwd, 'talk.md'), 'mine');
  chmodSync(join(cwd, 'talk.md'), 0o644);
  expect(await run('last', 'talk.md')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'Error: talk.md exists\nName another file, or add --force\n',
  });
  expect(read('talk.md')).toBe('mine');
  expect((await run('last', 'talk.md', '--force')).exitCode).toBe(0);
  expect(read('talk.md')).toBe(await as('md'));
  expect(statSync(join(cwd, 'talk.md')).mode & 0o777).toBe(systemMode(0o600));
});

test('a directory, a device or a link to one is never replaced', async (t) => {
  const { run, cwd } = await scene(t);
  mkdirSync(join(cwd, 'talk.md'));
  symlinkSync('/dev/null', join(cwd, 'null.md'));
  for (const file of ['talk.md', 'null.md', '/dev/null']) {
    expect(await run('last', file, '--force', ...(file.endsWith('.md') ? [] : ['--format', 'md']))).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `Error: ${file} is not a regular file\nName a file that gmn may write.\n`,
    });
  }
  expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
});

test('a link out of its directory is not followed, with --force either', async (t) => {
  const { run, cwd } = await scene(t);
  const kept = join(dirname(cwd), 'kept.md');
  writeFileSync(kept, 'mine');
  symlinkSync(kept, join(cwd, 'talk.md'));
  const { exitCode, stderr } = await run('last', 'talk.md', '--force');
  expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^Error: cannot write talk\.md: it is a link to /)]);
  expect(readFileSync(kept, 'utf8')).toBe('mine');
});

test.for([
  ['a new file', []],
  ['with --force', ['--force']],
] as const)('a directory that is a link out of the working directory is not followed (%s)', async ([, flags], t) => {
  const { run, cwd } = await scene(t);
  mkdirSync(join(dirname(cwd), 'elsewhere'));
  symlinkSync('../elsewhere', join(cwd, 'outd'));
  const { exitCode, stderr } = await run('last', 'outd/talk.md', ...flags);
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^Error: cannot write outd\/talk\.md: \S+\/outd is a link to \S+\/elsewhere, outside of the work/,
    ),
  ]);
  expect(readdirSync(join(dirname(cwd), 'elsewhere'))).toEqual([]);
});

test.for<readonly [args: readonly string[], what: string, hint: string]>([
  [
    ['last', 'talk.txt'],
    'cannot tell the format from the name talk.txt',
    'Use the ending .md, .json or .html, or add --format',
  ],
  [
    ['last', 'talk.md', '--format', 'html'],
    'talk.md is a name for md, and --format says html',
    'Omit --format, or give the file another ending.',
  ],
  [['my', 'long', 'name'], 'too many words: name', 'Put quotes around a name with spaces.'],
  [['nobody'], 'there is no session "nobody"', 'Run: gmn sessions list --all'],
  [
    [],
    "missing required argument 'session'",
    'Usage: gmn sessions export <session> [file]\nRun: gmn sessions export --help',
  ],
])('%j is refused', async ([args, what, hint], t) => {
  const { run, cwd } = await scene(t);
  expect(await run(...args)).toEqual({ exitCode: 1, stdout: '', stderr: `Error: ${what}\n${hint}\n` });
  expect(readdirSync(cwd)).toEqual([]);
});

test('a place that cannot be written to is named', async (t) => {
  const { run } = await scene(t);
  expect(await run('last', 'none/talk.md')).toMatchObject({ exitCode: 1, stdout: '' });
  expect((await run('last', 'none/talk.md')).stderr).toMatch(
    /^Error: cannot write .*none\/talk\.md: the directory does not exist\nCreate it, /,
  );
});

test('on a terminal nothing of a session is obeyed', async (t) => {
  const { gmnHome } = await scene(t, [prompt('hi\u001b]0;owned\u0007 there'), reply('red \u001b[31mtext')]);
  const { output, exitCode } = await runInTerminal(t, ['sessions', 'export', 'last'], { env: { GMN_HOME: gmnHome } })
    .ended;
  expect(exitCode).toBe(0);
  expect(output).toContain('hi there');
  expect(output).toContain('red text');
  expect(output).not.toContain('\u001b]0');
  expect(output).not.toContain('\u001b[31m');
});

test('--json is the session on stdout, and with a file what was written', async (t) => {
  const { run, as, read, id, cwd } = await scene(t);
  expect(await run('last', '--json')).toEqual({ exitCode: 0, stdout: await as('json'), stderr: '' });
  const { exitCode, stdout, stderr } = await run('last', 'talk.md', '--json');
  expect([exitCode, stderr, JSON.parse(stdout)]).toEqual([
    0,
    '',
    { sessionId: id, file: join(realpathSync(cwd), 'talk.md'), format: 'md' },
  ]);
  expect(read('talk.md')).toBe(await as('md'));
  const refusal = await run('last', '--json', '--format', 'md');
  expect([refusal.exitCode, JSON.parse(refusal.stdout).error.message]).toEqual([
    1,
    '--json cannot be combined with --format md',
  ]);
});

test('sessions show --md is the Markdown of the export', async (t) => {
  const { show, as } = await scene(t);
  expect(await show('last', '--md')).toEqual({ exitCode: 0, stdout: await as('md'), stderr: '' });
  expect(await show('last', '--md', '--json')).toMatchObject({ exitCode: 1 });
});
