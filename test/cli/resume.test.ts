import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { screenOf } from '../support/chat-terminal.ts';
import { gate } from '../support/gate.ts';
import { call, chunk, END, events, fakeGemini, finish, reply, type Scripted, stream } from '../support/gemini.ts';
import { callGmnIn, type GmnResult, place, runGmnIn, startGmn } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Several runs in one home, against one server. */
async function home(t: TestContext, script: readonly Scripted[], env: Record<string, string> = {}) {
  const gemini = await fakeGemini(t, script);
  const here = place(t, { gemini, env });
  const cwd = realpathSync(here.cwd);
  return {
    ...here,
    cwd,
    gemini,
    gmn: (...args: readonly string[]): Promise<GmnResult> => callGmnIn(t, { ...here, cwd }, args),
    sessions: (): readonly string[] =>
      readdirSync(join(here.home, '.gmn', 'sessions')).filter((name) => name.endsWith('.jsonl')),
  };
}

function contents(requests: readonly { readonly body: unknown }[], index: number): unknown {
  return (requests[index]?.body as { contents: unknown } | undefined)?.contents;
}

const textContent = (role: string, text: string) => ({ role, parts: [{ text }] });

test('a one-shot is saved, and -c asks with what was said before', async (t) => {
  const { gmn, gemini, sessions } = await home(t, [reply('November.'), reply('April.'), reply('Why not.')]);
  const first = await gmn('best month?', '-o', 'json');
  const { sessionId } = JSON.parse(first.stdout);
  expect([first.stderr, sessionId]).toEqual(['', expect.stringMatching(UUID)]);
  const second = await gmn('-c', 'and the second?', '-o', 'json');
  expect(JSON.parse(second.stdout)).toMatchObject({ response: 'April.', sessionId });
  const third = await gmn('-c', 'third?', '-o', 'stream-json');
  expect(JSON.parse(third.stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ type: 'done', sessionId });
  expect(contents(gemini.requests, 2)).toEqual([
    textContent('user', 'best month?'),
    textContent('model', 'November.'),
    textContent('user', 'and the second?'),
    textContent('model', 'April.'),
    textContent('user', 'third?'),
  ]);
  expect(sessions().length).toBe(1);
});

test('every kind of reference finds the session, in text too', async (t) => {
  const { gmn, gemini } = await home(t, [
    reply('one'),
    reply('two'),
    ...Array.from({ length: 7 }, () => reply('more')),
  ]);
  const { sessionId } = JSON.parse((await gmn('--session-name', '京都 旅行', 'first', '-o', 'json')).stdout);
  const other = JSON.parse((await gmn('second', '-o', 'json')).stdout).sessionId;
  expect(other).not.toBe(sessionId);
  const references = ['京都 旅行', sessionId, sessionId.slice(0, 8), 'last', 'latest', '1', '2'];
  for (const [index, reference] of references.entries()) {
    expect(await gmn('-r', reference, 'go on')).toMatchObject({ stdout: 'more\n', stderr: '', exitCode: 0 });
    const firstWord = index === 6 ? 'second' : 'first';
    expect((contents(gemini.requests, 2 + index) as object[])[0]).toEqual(textContent('user', firstWord));
  }
});

test('a resume that fails is an error with the next step, and nothing is asked or saved', async (t) => {
  const { gmn, sessions } = await home(t, [reply('hello')]);
  expect(await gmn('-c', 'hi')).toMatchObject({
    stdout: '',
    stderr: 'Error: there is no saved session yet\nThe next prompt makes one: gmn "…"\n',
    exitCode: 1,
  });
  await gmn('hi');
  const failed = await gmn('-r', 'nobody', 'hi', '-o', 'json');
  expect(failed.exitCode).toBe(1);
  expect(JSON.parse(failed.stdout)).toEqual({
    error: {
      code: 1,
      type: 'UsageError',
      message: 'there is no session "nobody"',
      suggestion: 'Run: gmn sessions list --all',
    },
  });
  expect(sessions().length).toBe(1);
});

test('with the offline model, a resume that finds no session says how one is saved', async (t) => {
  const at = place(t, { env: { GMN_DEMO: '1' } });
  const gmn = (...args: readonly string[]): Promise<GmnResult> => callGmnIn(t, at, args);
  await gmn('hi');
  for (const args of [
    ['-c', 'and?'],
    ['-r', 'last', 'and?'],
    ['chat', '-c'],
  ]) {
    expect((await gmn(...args)).stderr).toBe(
      'Error: there is no saved session yet\n' +
        'With --demo a session is saved only if you name it: gmn --demo --session-name trip "…"\n',
    );
  }
  await gmn('--demo', '--session-name', 'trip', 'best month?');
  expect(await gmn('-c', 'and?')).toMatchObject({ stderr: '', exitCode: 0 });
});

test('flags that contradict each other are refused before anything is asked', async (t) => {
  const { gmn } = await home(t, []);
  for (const [args, message] of [
    [['-c', '-r', 'last', 'x'], '-c cannot be combined with -r'],
    [['-r', 'last', '--session-name', 'x', 'x'], '-r cannot be combined with --session-name'],
    [['--no-session', '--session-name', 'x', 'x'], '--session-name cannot be combined with --no-session'],
    [
      ['--session-id', '../mine', 'x'],
      '"../mine" cannot be the id of a session: it has characters other than letters, digits, - and _',
    ],
    [['--session-name', '12', 'x'], 'a session cannot be named "12": it is a number'],
  ] as const) {
    const { stderr, exitCode } = await gmn(...args);
    expect([stderr.split('\n')[0], exitCode]).toEqual([`Error: ${message}`, 1]);
  }
});

test('a name or an id that is taken names -r', async (t) => {
  const { gmn } = await home(t, [reply('one')]);
  const id = '7c1e90aa-0000-4000-8000-000000000001';
  expect(await gmn('--session-id', id, '--session-name', 'trip', 'hi')).toMatchObject({ exitCode: 0 });
  expect(await gmn('--session-name', 'trip', 'hi')).toMatchObject({
    stderr: 'Error: there is a session with the name "trip"\nTo continue it: -r 7c1e90aa\n',
    exitCode: 1,
  });
  expect(await gmn('--session-id', id, 'hi')).toMatchObject({
    stderr: `Error: there is a session with the id ${id}\nTo continue it: -r ${id}\n`,
    exitCode: 1,
  });
});

test('an id that a wrapper gives is kept as it is, and -r finds it', async (t) => {
  const { gmn, gemini, sessions } = await home(t, [reply('one'), reply('two')]);
  const first = await gmn('--session-id', 'Abc-123', 'hi', '--output-dialect', 'gemini', '-o', 'stream-json');
  expect(JSON.parse(first.stdout.split('\n')[0] ?? '')).toMatchObject({ type: 'init', session_id: 'Abc-123' });
  expect(sessions()).toEqual([expect.stringMatching(/Z-Abc-123\.jsonl$/)]);
  const second = await gmn('-r', 'Abc-123', 'more', '-o', 'json');
  expect(JSON.parse(second.stdout)).toMatchObject({ response: 'two', sessionId: 'Abc-123' });
  expect(contents(gemini.requests, 1)).toHaveLength(3);
  expect(await gmn('--session-id', 'Abc-123', 'hi')).toMatchObject({
    stderr: 'Error: there is a session with the id Abc-123\nTo continue it: -r Abc-123\n',
    exitCode: 1,
  });
  expect((await gmn('sessions', 'list')).stdout).toContain('  Abc-123  ');
});

test("last and -c are in a chat the newest chat, in a one-shot the newest of the person, and never an agent's", async (t) => {
  const {
    gmn,
    gemini,
    home: directory,
    cwd,
  } = await home(t, [reply('in a chat'), reply('in a one-shot'), ...Array.from({ length: 5 }, () => reply('more'))]);
  await gmn('chat', 'chatted');
  await gmn('shot');
  const at = new Date(Date.now() + 60_000).toISOString();
  const id = '7c1e90aa-0000-4000-8000-000000000001';
  const turn = { role: 'user', parts: [{ text: 'delegated' }] };
  const lines = [
    { v: 1, type: 'session', id, t: at, cwd, by: 'mcp', gmn: '0.1.0', title: 'delegated' },
    { seq: 1, t: at, type: 'prompt', turn: 1, content: turn },
  ];
  const file = join(directory, '.gmn', 'sessions', `${at.replace(/[-:]|\.\d+/g, '')}-${id}.jsonl`);
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const begun = (index: number): unknown =>
    (contents(gemini.requests, index) as { parts: { text: string }[] }[])[0]?.parts[0]?.text;
  await gmn('chat', '-r', 'last', 'go on');
  await gmn('-r', 'last', 'go on');
  expect([begun(2), begun(3)]).toEqual(['chatted', 'chatted']);
  await gmn('another');
  await gmn('chat', '-c', 'go on');
  await gmn('-r', '3', 'go on');
  expect([begun(5), begun(6)]).toEqual(['chatted', 'another']);
  const listed = async (...args: readonly string[]): Promise<readonly unknown[]> =>
    JSON.parse((await gmn('sessions', 'list', '--json', ...args)).stdout).sessions.map(
      ({ from, title }: Record<string, unknown>) => [from, title],
    );
  expect(await listed()).toEqual([
    ['served', 'delegated'],
    ['one-shot', 'another'],
    ['chat', 'chatted'],
    ['one-shot', 'shot'],
  ]);
  expect(await listed('--from', 'served')).toEqual([['served', 'delegated']]);
  expect(await listed('--from', 'chat')).toEqual([['chat', 'chatted']]);
});

test('--no-session, GMN_NO_SESSION and --demo save nothing', async (t) => {
  const { gmn, home: directory, env, cwd } = await home(t, [reply('one'), reply('two')]);
  await gmn('--no-session', 'hi');
  await callGmnIn(t, { cwd, env: { ...env, GMN_NO_SESSION: '1' } }, ['hi']);
  await gmn('--demo', 'hi');
  expect(existsSync(join(directory, '.gmn', 'sessions'))).toBe(false);
  await gmn('--demo', '--session-name', 'kept', 'hi');
  expect(readdirSync(join(directory, '.gmn', 'sessions')).length).toBeGreaterThan(0);
});

test('what the model said before the run failed is saved; a run without an answer is not', async (t) => {
  const cut = stream('Once upon', END);
  const silent = events([finish('SAFETY')]);
  const { gmn, gemini, sessions } = await home(t, [silent, cut, reply('a time.')]);
  expect((await gmn('tell me')).exitCode).toBe(3);
  expect((await gmn('tell me')).exitCode).toBe(3);
  expect(sessions().length).toBe(1);
  await gmn('-c', 'go on');
  expect(contents(gemini.requests, 2)).toEqual([
    textContent('user', 'tell me'),
    textContent('model', 'Once upon'),
    textContent('user', 'go on'),
  ]);
});

const CALL = call('list_directory', { dir_path: '.' }, { id: 'c1', thoughtSignature: 'c2ln' });

/** Where a one-shot with a tool is killed, and what the model is told by the run that goes on. */
const MOMENTS = [
  [
    'in the middle of its first words',
    0,
    [textContent('user', 'look'), textContent('model', `I am${' '.repeat(70_000)}`), textContent('user', 'go on')],
  ],
  [
    'before the reply to an answer',
    1,
    [
      textContent('user', 'look'),
      { role: 'model', parts: [CALL] },
      { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'list_directory' } }, { text: 'go on' }] },
    ],
  ],
] as const;

posixTest.for(MOMENTS)('a one-shot with tools that is killed %s goes on by the id in its start', async (moment, t) => {
  const [, step, wanted] = moment;
  let kill = (): void => {};
  const said = gate();
  // Long enough to be written down at once, which it is when the next words are shown.
  const killer = step > 0 ? stream(() => kill()) : stream(`I am${' '.repeat(70_000)}`, said.opened, 'looking');
  const script = step === 0 ? [killer] : [reply(CALL), killer];
  const { gmn, gemini, cwd, env, sessions } = await home(t, [...script, reply('done')]);
  const args = ['--tools', 'read', '-o', 'stream-json', '--session-id', 'mine', 'look'];
  const { child, ended } = await startGmn(t, args, {
    at: { cwd, env },
    onStdout(text) {
      if (text.includes('I am')) said.open();
      if (text.includes('looking')) kill();
    },
  });
  kill = () => void child.kill('SIGKILL');
  const { stdout } = await ended;
  const [start = ''] = stdout.split('\n');
  expect(JSON.parse(start)).toEqual({ type: 'start', model: expect.any(String), sessionId: 'mine' });
  expect(sessions()).toEqual([expect.stringContaining('-mine.jsonl')]);
  const next = await gmn('--tools', 'read', '-r', 'mine', '-o', 'stream-json', 'go on');
  expect(JSON.parse(next.stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ type: 'done', sessionId: 'mine' });
  expect(contents(gemini.requests, step + 1)).toMatchObject(wanted);
});

test('start names the session only where the run is saved as it goes', async (t) => {
  const { gmn, home: directory } = await home(
    t,
    Array.from({ length: 5 }, () => reply('yes')),
  );
  const started = async (...args: readonly string[]) => {
    const { stdout } = await gmn(...args, '-o', 'stream-json', 'hi');
    const lines = stdout.trimEnd().split('\n');
    return [JSON.parse(lines[0] ?? ''), JSON.parse(lines.at(-1) ?? '')];
  };
  const [start, done] = await started('--tools', 'read');
  expect([start.sessionId, done.sessionId]).toEqual([expect.stringMatching(UUID), start.sessionId]);
  const [plain] = await started();
  expect(plain).not.toHaveProperty('sessionId');
  const [again] = await started('--tools', 'read', '-r', start.sessionId);
  expect(again.sessionId).toBe(start.sessionId);
  expect((await started('--tools', 'read', '--no-session'))[0]).not.toHaveProperty('sessionId');
  rmSync(join(directory, '.gmn'), { recursive: true });
  writeFileSync(join(directory, '.gmn'), '');
  const [lost, end] = await started('--tools', 'read');
  expect(lost).not.toHaveProperty('sessionId');
  expect(end).not.toHaveProperty('sessionId');
  expect(end.warnings).toEqual([expect.stringMatching(/^this session is no longer being saved: /)]);
});

test('a one-shot with tools whose prompt got no answer keeps it, and does not send it again with the next', async (t) => {
  const { gmn, gemini } = await home(t, [events([finish('SAFETY')]), reply('yes')]);
  const failed = await gmn('--tools', 'read', '-o', 'json', 'one');
  const { sessionId } = JSON.parse(failed.stdout).error;
  expect([sessionId, failed.exitCode]).toEqual([expect.stringMatching(UUID), 3]);
  expect((await gmn('--tools', 'read', '-c', 'two')).stdout).toBe('yes\n');
  expect(contents(gemini.requests, 1)).toEqual([textContent('user', 'two')]);
});

test.for(['json', 'stream-json'])(
  'a failed run in %s names its session exactly when it is saved',
  async (format, t) => {
    const cut = events([chunk([{ text: 'Once upon' }])]);
    const script = [events([finish('SAFETY')]), cut, cut, cut, cut];
    const { gmn, sessions, home: directory } = await home(t, script);
    const failed = async (...args: readonly string[]) => {
      const { stdout, exitCode } = await gmn(...args, '-o', format, 'tell me');
      expect(exitCode).toBe(3);
      return JSON.parse(format === 'json' ? stdout : (stdout.trimEnd().split('\n').at(-1) ?? '')).error;
    };
    expect(await failed()).not.toHaveProperty('sessionId');
    const { sessionId, partialResponse } = await failed();
    expect(partialResponse).toBe('Once upon');
    expect(sessions()).toEqual([expect.stringContaining(sessionId)]);
    expect((await failed('-r', sessionId)).sessionId).toBe(sessionId);
    expect(await failed('--no-session')).not.toHaveProperty('sessionId');
    rmSync(join(directory, '.gmn'), { recursive: true });
    writeFileSync(join(directory, '.gmn'), '');
    const unsaved = await failed();
    expect(unsaved.warnings).toEqual([expect.stringMatching(/^this run was not saved: /)]);
    expect(unsaved).not.toHaveProperty('sessionId');
  },
);

test('a session of another directory continues, and a notice says where it began', async (t) => {
  const { gmn, cwd, env } = await home(t, [reply('one'), reply('two')]);
  await gmn('hi');
  const other = join(cwd, 'other');
  mkdirSync(other);
  expect(await callGmnIn(t, { cwd: other, env }, ['-r', 'last', 'go on'])).toMatchObject({
    stdout: 'two\n',
    stderr: `gmn: this session was started in ${cwd}\n`,
    exitCode: 0,
  });
});

test('two runs that continue one session at once both answer, and one of them reports its copy', async (t) => {
  let waiting = 0;
  const release: (() => void)[] = [];
  const held: Scripted = async (response, request) => {
    waiting += 1;
    await new Promise<void>((resolve) => {
      release.push(resolve);
      if (waiting === 2) for (const go of release) go();
    });
    return reply('yes')(response, request);
  };
  const { gmn, sessions, ...here } = await home(t, [reply('one'), held, held]);
  await gmn('hi');
  const both = await Promise.all(['a', 'b'].map((word) => runGmnIn(t, here, ['-c', word])));
  expect(both.map(({ stdout, exitCode }) => [stdout, exitCode])).toEqual([
    ['yes\n', 0],
    ['yes\n', 0],
  ]);
  expect(both.map(({ stderr }) => stderr).sort()).toEqual([
    '',
    expect.stringMatching(/^gmn: this session is open elsewhere; continuing in a copy, [0-9a-f]{8}\n$/),
  ]);
  expect(sessions().length).toBe(2);
});

test('-r with --no-session asks with the session and adds nothing to it', async (t) => {
  const { gmn, gemini, home: directory, sessions } = await home(t, [reply('one'), reply('two')]);
  await gmn('hi');
  const file = join(directory, '.gmn', 'sessions', sessions()[0] ?? '');
  const before = readFileSync(file);
  const { sessionId } = JSON.parse((await gmn('-c', '--no-session', 'go on', '-o', 'json')).stdout);
  expect([sessionId, readFileSync(file)]).toEqual([undefined, before]);
  expect(contents(gemini.requests, 1)).toEqual([
    textContent('user', 'hi'),
    textContent('model', 'one'),
    textContent('user', 'go on'),
  ]);
});

test('sessions.oneShot: false saves nothing, unless a flag asks for it', async (t) => {
  const { gmn, home: directory, sessions } = await home(t, [reply('one'), reply('two')]);
  mkdirSync(join(directory, '.gmn'), { recursive: true });
  writeFileSync(join(directory, '.gmn', 'config.json'), '{"sessions": {"oneShot": false}}');
  const { sessionId } = JSON.parse((await gmn('hi', '-o', 'json')).stdout);
  expect(sessionId).toBeUndefined();
  await gmn('--session-name', 'kept', 'hi');
  expect(sessions().length).toBe(1);
});

test('the official dialect has session_id in its first event and in its object', async (t) => {
  const { gmn } = await home(t, [reply('one'), reply('two')]);
  const { session_id: id } = JSON.parse((await gmn('hi', '-o', 'json', '--output-dialect', 'gemini')).stdout);
  expect(id).toMatch(UUID);
  const { stdout } = await gmn('-r', id, 'hi', '-o', 'stream-json', '--output-dialect', 'gemini');
  expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({ type: 'init', session_id: id });
});

test('an answer that is too long to be held in memory is shown but not saved, with a notice', async (t) => {
  const { gmn, home: directory } = await home(t, [reply('x'.repeat(1_500_000), 'y'.repeat(1_500_000))]);
  const { response, sessionId, warnings } = JSON.parse((await gmn('hi', '-o', 'json')).stdout);
  expect([response.length, sessionId, warnings]).toEqual([
    3_000_000,
    undefined,
    ['this run was not saved: the answer is longer than 2 million characters'],
  ]);
  expect(existsSync(join(directory, '.gmn', 'sessions'))).toBe(false);
});

posixTest('-r alone lets the person choose among the sessions of this directory', async (t) => {
  const at = place(t);
  const elsewhere = place(t, { env: { HOME: at.home } });
  for (const [name, where] of [
    ['first', at],
    ['京都 旅行', at],
    ['other', elsewhere],
  ] as const)
    await callGmnIn(t, where, ['--demo', '--session-name', name, `about ${name}`]);
  const open = (...args: readonly string[]): ReturnType<typeof runInTerminal> =>
    runInTerminal(t, args, { at, columns: 100 });
  const picks = (output: string): boolean =>
    /Continue which session\? ›\n› 2 {2}\w+ {2}京都 旅行 {2}about 京都 旅行 .*\n {2}3 {2}\w+ {2}first {6}about first .*$/.test(
      screenOf(output, 100),
    );
  const shot = open('--demo', 'and then?', '-r');
  await shot.until(picks);
  shot.type('\u001b[B\r');
  const answered = await shot.ended;
  expect([answered.exitCode, screenOf(answered.output, 100)]).toEqual([0, 'demo: and then?']);
  const { records } = JSON.parse((await callGmnIn(t, at, ['sessions', 'show', 'first', '--json'])).stdout);
  expect(records.length).toBe(4);
  const chat = open('--demo', '-r');
  await chat.until((output) => /› 1 {2}\w+ {2}first {2}/.test(screenOf(output, 100)));
  chat.type('京都\r');
  await chat.until((output) => /❯ about 京都 旅行\n[\s\S]*\n❯/.test(screenOf(output, 100)));
  chat.type('quit\r');
  const left = await chat.ended;
  expect([left.exitCode, screenOf(left.output, 100)]).toEqual([
    0,
    expect.stringMatching(/\nResume: gmn chat --demo -r "京都 旅行"$/),
  ]);
  for (const words of [['chat'], ['hello']]) {
    const none = open(...words, '--demo', '-r');
    await none.until((output) => /Continue which session/.test(screenOf(output, 100)));
    none.type('\u001b');
    const { exitCode, output } = await none.ended;
    expect([exitCode, screenOf(output, 100)]).toEqual([130, '']);
  }
});

test('-r alone continues the newest where there is no terminal to choose on', async (t) => {
  const at = place(t);
  for (const name of ['old', 'new'])
    await callGmnIn(t, at, ['chat', '--demo', '--session-name', name], `about ${name}\n`);
  for (const [args, stdin] of [
    [['-r'], 'one'],
    [['chat', '-r'], 'two\n'],
    [['three', '--resume'], ''],
  ] as const) {
    expect(await callGmnIn(t, at, ['--demo', ...args], stdin), args.join(' ')).toMatchObject({ exitCode: 0 });
  }
  const { stdout } = await callGmnIn(t, at, ['sessions', 'show', 'new']);
  expect(stdout.match(/^> .*/gm)).toEqual(['> about new', '> one', '> two', '> three']);
});
