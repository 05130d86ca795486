import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join, sep } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { acquireLock } from '../../src/platform/files/lock.ts';
import { callGmnIn, type GmnResult, place } from '../support/gmn.ts';
import { fifo, posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

const OLD = '2020-01-01T00:00:00.000Z';

function start(t: TestContext) {
  const here = place(t);
  const cwd = realpathSync(here.cwd);
  const directory = join(here.home, '.gmn', 'sessions');
  /** A session as an older run would have left it. */
  const put = (digit: string, { at = OLD, name, dir = cwd, text = `hello ${digit}` }: Partial<Saved> = {}): string => {
    const id = `${digit.repeat(8)}-1111-4111-8111-111111111111`;
    const named = name === undefined ? {} : { name };
    const lines = [
      { v: 1, type: 'session', id, t: at, cwd: dir, by: 'prompt', gmn: '0.1.0', title: text, ...named },
      { seq: 1, t: at, type: 'prompt', turn: 1, ...named, content: { role: 'user', parts: [{ text }] } },
      {
        seq: 2,
        t: at,
        type: 'reply',
        turn: 1,
        ...named,
        model: 'gemini-2.5-flash',
        content: { role: 'model', parts: [{ text: 'hi' }] },
        usage: {},
        finishReason: 'STOP',
      },
    ];
    mkdirSync(directory, { recursive: true });
    const file = join(directory, `${at.replace(/[-:]|\.\d+/g, '')}-${id}.jsonl`);
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    return file;
  };
  const gmn = (...args: readonly string[]): Promise<GmnResult> => callGmnIn(t, { ...here, cwd }, args);
  return { ...here, cwd, directory, put, gmn };
}

interface Saved {
  readonly at: string;
  readonly name: string;
  readonly dir: string;
  readonly text: string;
}

test('the list is of this directory, newest first, and its numbers are those of all', async (t) => {
  const { put, gmn, home, cwd } = start(t);
  put('a', { at: '2026-01-01T00:00:00.000Z', name: '京都旅行' });
  put('b', { at: '2026-01-02T00:00:00.000Z', dir: join(home, 'elsewhere') });
  put('c', { at: '2026-01-03T00:00:00.000Z', text: 'a\u001b[31m long question that goes on and on and on' });
  const head = '#  ID        NAME                                      FROM      TURNS  UPDATED     DIRECTORY';
  const first = `1  cccccccc  "a\\x1b[31m long question that goes on …"  one-shot  1      2026-01-03  ${cwd}`;
  const second =
    '2  bbbbbbbb  "hello b"                                 one-shot  1      2026-01-02  ~/elsewhere'.replace('/', sep);
  const third = `3  aaaaaaaa  京都旅行                                  one-shot  1      2026-01-01  ${cwd}`;
  expect(await gmn('sessions', 'list')).toMatchObject({
    stdout: `${[head, first, third].join('\n')}\n`,
    stderr: 'gmn: 1 more of other directories; to see them all: gmn sessions list --all\n',
    exitCode: 0,
  });
  const all = { stdout: `${[head, first, second, third].join('\n')}\n`, stderr: '', exitCode: 0 };
  expect(await gmn('sessions', 'list', '--all')).toMatchObject(all);
  const { sessions } = JSON.parse((await gmn('--list-sessions', '-o', 'json')).stdout);
  expect(sessions.map((session: { number: number; name?: string }) => [session.number, session.name])).toEqual([
    [1, undefined],
    [3, '京都旅行'],
  ]);
});

test('--list-sessions has whole ids, and in the official dialect the official lines', async (t) => {
  const { put, gmn } = start(t);
  expect((await gmn('--list-sessions', '--output-dialect', 'gemini')).stdout).toBe(
    'No previous sessions found for this project.\n',
  );
  put('a', { at: '2026-01-01T00:00:00.000Z', name: '京都旅行' });
  put('b', { at: '2026-01-02T00:00:00.000Z', text: 'a\u001b[31m (b) [c]' });
  const ids = ['a', 'b'].map((digit) => `${digit.repeat(8)}-1111-4111-8111-111111111111`);
  expect((await gmn('--list-sessions')).stdout.split('\n')).toEqual([
    expect.stringMatching(/^# {2}ID {36}NAME /),
    expect.stringMatching(`^1  ${ids[1]}  `),
    expect.stringMatching(`^2  ${ids[0]}  `),
    '',
  ]);
  expect(await gmn('--list-sessions', '--output-dialect', 'gemini')).toMatchObject({
    stdout: `
Available sessions for this project (2):

  2. 京都旅行 (2026-01-01) [${ids[0]}]
  1. a\\x1b[31m (b) [c] (2026-01-02) [${ids[1]}]
`,
    stderr: '',
    exitCode: 0,
  });
  const json = JSON.parse((await gmn('--list-sessions', '--output-dialect', 'gemini', '-o', 'json')).stdout);
  expect(json.sessions.map(({ id }: { id: string }) => id)).toEqual(ids.toReversed());
  expect(await gmn('--delete-session', '1', '--output-dialect', 'gemini')).toMatchObject({ exitCode: 0 });
  expect(await gmn('sessions', 'list', '--from', 'chat')).toMatchObject({
    stdout: '',
    stderr: 'gmn: no chat sessions are saved yet\n',
  });
});

test.for<readonly [args: readonly string[], what: string]>([
  [['--list-sessions', 'a prompt'], '--list-sessions cannot be combined with a prompt'],
  [['--list-sessions', '-p', 'a prompt'], '--list-sessions cannot be combined with --prompt'],
  [['--list-sessions', '-r', 'last'], '--list-sessions cannot be combined with --resume'],
  [['--list-sessions', '--delete-session', 'a'], '--delete-session cannot be combined with --list-sessions'],
  [['--delete-session', 'a', '-i', 'x'], '--delete-session cannot be combined with --prompt-interactive'],
  [['--delete-session', 'a', '--tools', 'read'], '--delete-session cannot be combined with --tools'],
])('%j asks for two things at once, and does neither', async ([args, what], t) => {
  const { put, gmn } = start(t);
  const file = put('a', { name: 'a' });
  expect(await gmn(...args)).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: `Error: ${what}\nDo one after the other.\n`,
  });
  expect(existsSync(file)).toBe(true);
});

test('variables that shape one-shots do not get in the way of --list-sessions', async (t) => {
  const here = start(t);
  here.put('a', { at: '2026-01-01T00:00:00.000Z' });
  const env = { ...here.env, GMN_MODEL: 'flash', GMN_TIMEOUT: '5s', GMN_NO_SESSION: '1', GMN_RENDER: 'never' };
  const { stdout, exitCode } = await callGmnIn(t, { cwd: here.cwd, env }, ['--list-sessions', '-q', '-C', '.']);
  expect([stdout.split('\n').length, exitCode]).toEqual([3, 0]);
});

test('where nothing is saved, the list is empty and says so', async (t) => {
  expect(await start(t).gmn('sessions', 'list')).toMatchObject({
    stdout: '',
    stderr: 'gmn: no sessions are saved yet\n',
    exitCode: 0,
  });
});

test('a session is shown, renamed and deleted by any reference', async (t) => {
  const { put, gmn, directory } = start(t);
  put('a', { name: 'old' });
  put('b');
  expect(await gmn('sessions', 'show', 'old')).toMatchObject({
    stdout: '> hello a\n\nhi\n\n',
    stderr: '',
    exitCode: 0,
  });
  const { records } = JSON.parse((await gmn('sessions', 'show', 'bbbb', '--json')).stdout);
  expect(records.map(({ kind, time }: { kind: string; time: string }) => [kind, time])).toEqual([
    ['prompt', OLD],
    ['reply', OLD],
  ]);
  expect(await gmn('sessions', 'rename', 'old', '新しい', '名前')).toMatchObject({
    stdout: 'aaaaaaaa is now 新しい 名前\n',
    exitCode: 0,
  });
  expect(await gmn('sessions', 'rename', 'bbbb', '新しい 名前')).toMatchObject({
    stderr: 'Error: there is a session with the name "新しい 名前"\nTo continue it: -r aaaaaaaa\n',
    exitCode: 1,
  });
  expect(await gmn('sessions', 'delete', '1', 'nobody')).toMatchObject({ exitCode: 1 });
  expect(readdirSync(directory).filter((name) => name.endsWith('.jsonl')).length).toBe(2);
  expect(await gmn('sessions', 'delete', '1', '2')).toMatchObject({
    stdout: 'deleted 新しい 名前 (aaaaaaaa) "hello a"\ndeleted bbbbbbbb "hello b"\n',
    stderr: "gmn: to bring them back within 7 days: gmn sessions restore '新しい 名前' bbbbbbbb\n",
  });
  expect(readdirSync(directory).filter((name) => name.endsWith('.jsonl'))).toEqual([]);
});

test('sessions deleted before a failure are reported', async (t) => {
  const { put, gmn, directory } = start(t);
  put('a');
  put('b');
  const id = 'aaaaaaaa-1111-4111-8111-111111111111';
  const clock = { now: Date.now, sleep: async () => {} };
  const { signal } = new AbortController();
  const lock = join(directory, `${id}.lock`);
  const held = await acquireLock(lock, { clock, signal, maxWaitMs: 0, isDone: async () => false });
  expect(await gmn('sessions', 'delete', 'bbbbbbbb', 'aaaaaaaa')).toMatchObject({
    stdout: 'deleted bbbbbbbb "hello b"\n',
    stderr:
      'gmn: to bring it back within 7 days: gmn sessions restore bbbbbbbb\n' +
      'Error: the session aaaaaaaa is open elsewhere\nClose it there first.\n',
    exitCode: 1,
  });
  await held?.release();
});

test.for<readonly [reference: string, error: string]>([
  ['99', 'there is no session number 99'],
  ['9', 'there is no session number 9'],
  ['e', '"e" is too short to be the beginning of an id'],
  ['999', 'there is no session number 999'],
  ['eee', '"eee" is too short to be the beginning of an id'],
  ['9999', 'there is no session number 9999'],
])('nothing is deleted, renamed, shown or continued that "%s" does not name', async ([reference, error], t) => {
  const { put, gmn } = start(t);
  const kept = [put('9'), put('e')];
  for (const words of [
    ['sessions', 'delete', reference],
    ['sessions', 'rename', reference, 'trip'],
    ['--delete-session', reference],
    ['sessions', 'show', reference],
    ['--demo', '-r', reference, 'hi'],
  ]) {
    expect(await gmn(...words)).toMatchObject({
      stdout: '',
      stderr: expect.stringContaining(`Error: ${error}\n`),
      exitCode: 1,
    });
  }
  expect(kept.map((file) => existsSync(file))).toEqual([true, true]);
});

test.for(['1', 'last'])('"delete %s" takes no session of another directory', async (reference, t) => {
  const { put, gmn, home } = start(t);
  put('a');
  const other = put('b', { at: '2026-01-02T00:00:00.000Z', dir: join(home, 'elsewhere') });
  expect(await gmn('sessions', 'delete', reference)).toMatchObject({
    stdout: '',
    stderr:
      `Error: "${reference}" is bbbbbbbb "hello b" of another directory, ${join(home, 'elsewhere')}\n` +
      'If that is the one, give its id: bbbbbbbb. Those of this directory: gmn sessions list\n',
    exitCode: 1,
  });
  expect(existsSync(other)).toBe(true);
  expect(await gmn('sessions', 'delete', '2')).toMatchObject({ stdout: 'deleted aaaaaaaa "hello a"\n', exitCode: 0 });
  expect(await gmn('sessions', 'delete', 'bbbb')).toMatchObject({ stdout: 'deleted bbbbbbbb "hello b"\n' });
});

test('what was deleted rests in the trash, is listed and brought back', async (t) => {
  const { put, gmn, home, cwd } = start(t);
  const file = put('a', { name: 'trip' });
  put('b', { at: '2026-01-02T00:00:00.000Z' });
  const before = readFileSync(file, 'utf8');
  expect(await gmn('sessions', 'restore')).toMatchObject({
    stdout: '',
    stderr: 'gmn: the trash is empty\n',
    exitCode: 0,
  });
  await gmn('sessions', 'delete', 'trip', '1', '--quiet');
  expect(await gmn('sessions', 'list')).toMatchObject({ stdout: '', stderr: 'gmn: no sessions are saved yet\n' });
  const { stdout, stderr } = await gmn('sessions', 'restore');
  expect(stdout.split('\n')).toEqual([
    'ID        NAME       TURNS  DELETED   KEPT FOR  DIRECTORY',
    `bbbbbbbb  "hello b"  1      just now  7 days    ${cwd}`,
    `aaaaaaaa  trip       1      just now  7 days    ${cwd}`,
    '',
  ]);
  expect(stderr).toBe('gmn: to bring one back: gmn sessions restore <id or name>\n');
  const { trash } = JSON.parse((await gmn('sessions', 'restore', '--json')).stdout);
  expect(trash).toMatchObject([{ id: expect.stringMatching(/^b{8}-/) }, { name: 'trip', title: 'hello a' }]);
  expect(Date.parse(trash[0].keptUntil) - Date.parse(trash[0].deletedAt)).toBe(7 * 86_400_000);
  expect(await gmn('sessions', 'restore', 'aaa')).toMatchObject({
    stderr: 'Error: "aaa" is not in the trash\nTo see what is in the trash: gmn sessions restore\n',
    exitCode: 1,
  });
  expect(await gmn('sessions', 'restore', 'trip')).toMatchObject({ stdout: 'restored trip (aaaaaaaa) "hello a"\n' });
  expect(readFileSync(file, 'utf8')).toMatch(before);
  expect(JSON.parse((await gmn('sessions', 'restore', 'bbbb', '--json')).stdout)).toMatchObject({
    restored: [expect.stringMatching(/^b{8}-/)],
  });
  expect(readdirSync(join(home, '.gmn', 'trash'))).toEqual([]);
  expect((await gmn('sessions', 'show', 'trip')).stdout).toBe('> hello a\n\nhi\n\n');
  await gmn('sessions', 'delete', 'trip', '--permanently');
  expect(await gmn('sessions', 'restore')).toMatchObject({ stdout: '' });
});

test('delete --permanently removes what was named, saved or in the trash, and nothing that begins like it', async (t) => {
  const { gmn, home, directory } = start(t);
  for (const id of ['review', 'review-2']) await gmn('--demo', '--session-id', id, `hello ${id}`);
  const saved = () => readdirSync(directory).filter((name) => name.endsWith('.jsonl'));
  await gmn('sessions', 'delete', 'review');
  expect(await gmn('sessions', 'delete', 'review')).toMatchObject({
    stdout: '',
    stderr:
      'Error: "review" is only the beginning of the id review-2\nIf that is the one, give the whole id: review-2\n',
    exitCode: 1,
  });
  expect(await gmn('sessions', 'delete', '--permanently', 'review')).toMatchObject({
    stdout: 'deleted review "hello review"\n',
    stderr: '',
    exitCode: 0,
  });
  expect([readdirSync(join(home, '.gmn', 'trash')), saved()]).toEqual([
    [],
    [expect.stringMatching(/Z-review-2.jsonl$/)],
  ]);
  expect(await gmn('sessions', 'delete', '--permanently', 'review')).toMatchObject({ stdout: '', exitCode: 1 });
  expect(saved()).toHaveLength(1);
});

test('sessions that a typed age takes away can be brought back', async (t) => {
  const { put, gmn } = start(t);
  const file = put('a', { at: '2026-01-02T00:00:00.000Z' });
  expect(await gmn('sessions', 'prune', '--older-than', '1h')).toMatchObject({
    stdout: 'deleted aaaaaaaa  2026-01-02  "hello a"\n',
    stderr: 'gmn: for 7 days they can be brought back: gmn sessions restore\n',
  });
  expect(existsSync(file)).toBe(false);
  await gmn('sessions', 'restore', 'last');
  expect(existsSync(file)).toBe(true);
});

test('prune removes what is old and has no name, with the media that only it had', async (t) => {
  const { put, gmn, home, directory } = start(t);
  const now = new Date().toISOString();
  const files = [put('a'), put('b', { name: 'kept' }), put('c', { at: now })];
  const blobs = join(home, '.gmn', 'blobs');
  mkdirSync(blobs);
  const [lost, kept] = ['1'.repeat(64), '2'.repeat(64)];
  for (const name of [lost, kept]) {
    writeFileSync(join(blobs, name), 'x');
    utimesSync(join(blobs, name), 1, 1);
  }
  const line = { seq: 3, t: OLD, type: 'name', turn: 1, name: 'kept', blobs: [[0, 0, kept]] };
  writeFileSync(files[1] ?? '', `${readFileSync(files[1] ?? '', 'utf8')}${JSON.stringify(line)}\n`);
  expect(await gmn('sessions', 'prune', '--dry-run')).toMatchObject({
    stdout: 'would delete aaaaaaaa  2020-01-01  "hello a"\n',
    exitCode: 0,
  });
  expect(files.map((file) => existsSync(file))).toEqual([true, true, true]);
  expect(await gmn('sessions', 'prune')).toMatchObject({ stdout: 'deleted aaaaaaaa  2020-01-01  "hello a"\n' });
  expect(files.map((file) => existsSync(file))).toEqual([false, true, true]);
  expect(readdirSync(blobs)).toEqual([kept]);
  expect(readdirSync(directory).filter((name) => name.endsWith('.lock'))).toEqual([]);
  expect(await gmn('sessions', 'prune', '--older-than', 'soon')).toMatchObject({
    stderr: 'Error: --older-than: "soon" is not a duration\nExamples: 30d, 2w, 12h\n',
    exitCode: 1,
  });
});

test('old sessions go by themselves, once a day, unless the settings keep them', async (t) => {
  const { put, gmn, home, directory } = start(t);
  const file = put('a');
  await gmn('sessions', 'list');
  expect(existsSync(file)).toBe(true);
  utimesSync(join(directory, '.pruned'), 1, 1);
  writeFileSync(join(home, '.gmn', 'config.json'), '{"sessions": {"retention": "never"}}');
  await gmn('sessions', 'list');
  expect(existsSync(file)).toBe(true);
  utimesSync(join(directory, '.pruned'), 1, 1);
  writeFileSync(join(home, '.gmn', 'config.json'), '{"sessions": {"retention": "90d"}}');
  await gmn('sessions', 'list');
  expect(existsSync(file)).toBe(false);
});

test('path says where they are', async (t) => {
  const { gmn, home } = start(t);
  expect(await gmn('sessions', 'path')).toMatchObject({ stdout: `${join(home, '.gmn', 'sessions')}\n`, exitCode: 0 });
});

test('an emoji in a name is shown as one', async (t) => {
  const { put, gmn } = start(t);
  put('a', { name: '👨‍👩‍👧 trip' });
  expect((await gmn('sessions', 'list')).stdout).toContain('  👨‍👩‍👧 trip  ');
});

test('an answer that was cut off is shown as such, and a call stands on a line of its own', async (t) => {
  const { put, gmn } = start(t);
  const file = put('a');
  const call = {
    role: 'model',
    parts: [{ text: 'Let me look.' }, { functionCall: { name: 'read_file', args: { a: 1 } } }],
  };
  const more = [
    { seq: 3, t: OLD, type: 'prompt', turn: 2, content: { role: 'user', parts: [{ text: 'more' }] } },
    { seq: 4, t: OLD, type: 'call', turn: 2, model: 'm', content: call, usage: {} },
    {
      seq: 5,
      t: OLD,
      type: 'reply',
      turn: 2,
      model: 'm',
      content: { role: 'model', parts: [{ text: 'It s' }] },
      usage: {},
    },
  ];
  appendFileSync(file, more.map((line) => `${JSON.stringify(line)}\n`).join(''));
  expect((await gmn('sessions', 'show', 'last')).stdout).toBe(
    '> hello a\n\nhi\n\n> more\n\nLet me look.\n[read_file {"a":1}]\n\nIt s\n[the answer was cut off here]\n\n',
  );
});

posixTest.for<readonly [args: readonly string[]]>([
  [['sessions', 'list']],
  [['sessions', 'show', 'last']],
  [['sessions', 'prune', '--dry-run']],
  [['-c', 'hello']],
])('%j says that something else stands where the sessions should be', async ([args], t) => {
  const { gmn, directory } = start(t);
  mkdirSync(join(directory, '..'), { recursive: true });
  fifo(directory);
  expect(await gmn(...args)).toMatchObject({
    stdout: '',
    stderr: `Error: cannot read the sessions in ${directory}: a file is where a directory should be\nIt must be a directory that you may read: gmn sessions path\n`,
    exitCode: 4,
  });
});

test('an invalid retention is reported by every run, with its place', async (t) => {
  const { gmn, home } = start(t);
  mkdirSync(join(home, '.gmn'), { recursive: true });
  const file = join(home, '.gmn', 'config.json');
  writeFileSync(file, '{"sessions": {"retention": "zz"}}');
  for (const args of [
    ['--demo', 'hello'],
    ['sessions', 'prune'],
  ]) {
    const { stderr, exitCode } = await gmn(...args);
    expect([stderr.split('\n')[0], exitCode]).toEqual([
      `Error: ${file}:1:28: sessions.retention must be a duration like "30d" or "12h", or "never"`,
      4,
    ]);
  }
});

test('all that is a duration for pruning is one for the settings', async (t) => {
  const { gmn, home } = start(t);
  mkdirSync(join(home, '.gmn'), { recursive: true });
  for (const retention of ['never', '0', '1.5d', '2w', '1h30m', '.5s', '90s', '']) {
    writeFileSync(join(home, '.gmn', 'config.json'), JSON.stringify({ sessions: { retention } }));
    expect((await gmn('sessions', 'prune', '--dry-run')).exitCode).toBe(0);
  }
});

test('--grep finds sessions by name, first prompt and what was said, and --limit cuts the list', async (t) => {
  const { put, gmn } = start(t);
  put('a', { at: '2026-01-01T00:00:00.000Z', name: '京都旅行' });
  put('b', { at: '2026-01-02T00:00:00.000Z', text: 'Where to EAT in Kyoto?' });
  put('c', { at: '2026-01-03T00:00:00.000Z' });
  const list = async (...args: readonly string[]): Promise<readonly string[]> => {
    const { sessions } = JSON.parse((await gmn('sessions', 'list', '--json', ...args)).stdout);
    return sessions.map(({ id }: { id: string }) => id[0]);
  };
  expect(await list('--grep', '京都')).toEqual(['a']);
  expect(await list('--grep', 'kyoto eat')).toEqual(['b']);
  expect(await list('--grep', 'eat HI')).toEqual(['b']);
  expect(await list('--grep', 'eat hello')).toEqual([]);
  expect(await list('--limit', '2')).toEqual(['c', 'b']);
  expect(await list('--limit', '0')).toEqual(['c', 'b', 'a']);
  const cut = await gmn('sessions', 'list', '--grep', 'hi', '--limit', '1');
  expect(cut.stdout.split('\n')).toHaveLength(3);
  expect(cut.stderr).toBe('gmn: 2 more; to see them all: gmn sessions list --limit 0 --grep "hi"\n');
  expect(await gmn('sessions', 'list', '--grep', 'nowhere')).toMatchObject({
    stderr: 'gmn: there are no sessions with these words\n',
  });
  expect((await gmn('sessions', 'list', '--gemini', '--limit', '1')).exitCode).toBe(1);
});

posixTest('on a terminal the list has 20 sessions and says how many more there are; a long one is paged', async (t) => {
  const { put, cwd, home } = start(t);
  for (const [index, digit] of [...'0123456789abcdefghijklmno'].entries()) {
    put(digit, { at: new Date(Date.UTC(2026, 0, index + 1)).toISOString() });
  }
  const list = async (...args: readonly string[]): Promise<string> => {
    const env = { HOME: home, PAGER: 'sed s/^/paged:/' };
    return (await runInTerminal(t, ['sessions', 'list', '-C', cwd, ...args], { env, columns: 160 }).ended).output;
  };
  const short = await list();
  expect(short).not.toContain('paged:');
  expect(short.match(/"hello/g)).toHaveLength(20);
  expect(short).toMatch(/\r\ngmn: 5 more; to see them all: gmn sessions list --limit 0\r\n$/);
  expect((await list('--limit', '0')).match(/paged:\d/g)).toHaveLength(25);
});
