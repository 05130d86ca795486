import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Schema, Validator } from '@cfworker/json-schema';
import { transform } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { call, chunk, endless, failure, fakeGemini, reply, type Scripted, stream } from '../support/gemini.ts';
import { callGmn, GMN_LINE, gmnCommand, parseLines, place, runGmn, runGmnIn, startProgram } from '../support/gmn.ts';
import { type ProcessEvent, startProcess } from '../support/json-lines.ts';
import { fifo, isWindows, posixTest } from '../support/posix.ts';

const FLAGS = ['--input-format', 'stream-json', '-o', 'stream-json'];
const isEnding = ({ type, turn }: ProcessEvent): boolean => turn !== undefined && (type === 'done' || type === 'error');
const ends =
  (turn: string) =>
  (event: ProcessEvent): boolean =>
    event.turn === turn && isEnding(event);
const prompt = (id: string, text: string, more: object = {}): object => ({ type: 'prompt', id, text, ...more });

/** Answers by the first word of the prompt, and after a tool result with `ok`. */
const answer: Scripted = (response, request) => {
  if (request.results.length > 0) return reply('ok')(response, request);
  const [word = '', number] = request.prompt.split(' ');
  const write = call('write_file', { file_path: `${word}-${number}.txt`, content: `model ${number}\n` });
  const answers: Record<string, Scripted> = {
    yes: reply(write),
    no: reply(write),
    change: reply(write),
    hang: stream('half'),
    shell: reply(call('run_shell_command', { command: 'echo x > pipe; sleep 100' })),
    refuse: failure(400, 'INVALID_ARGUMENT', 'not like this'),
    long: reply(...Array.from({ length: 10 }, () => 'x'.repeat(8000))),
  };
  return (answers[word] ?? reply(`answer ${number}`))(response, request);
};

/** Two of the rarest kinds, and more with `npm run test:faults`. */
const TURNS = Number(process.env.GMN_PROCESS_TURNS ?? 80);

/** Of each ten turns. Commands and long answers are rare, since they take longest. */
const WORDS = ['plain', 'yes', 'plain', 'no', 'change', 'hang', 'plain', 'refuse', 'waiting', 'plain'];

function chooseWord(index: number): string {
  if (index % 40 === 19) return 'shell';
  return index % 40 === 6 ? 'long' : (WORDS[index % 10] ?? '');
}

posixTest(
  `${TURNS} turns of all kinds: each has one ending, in the order of the prompts`,
  async (t) => {
    const gemini = await fakeGemini(t, answer);
    const at = place(t, { gemini });
    fifo(join(at.cwd, 'pipe'));
    const turns = Array.from({ length: TURNS }, (_, index) => ({
      id: `t${index}`,
      word: chooseWord(index),
      index,
    }));
    const wordOf = (id: string): string => turns[Number(id.slice(1))]?.word ?? '';
    const decisions: Record<string, object> = {
      yes: { decision: 'yes' },
      no: { decision: 'no', reason: 'not this file' },
      shell: { decision: 'always' },
    };
    const gmn = startProcess(t, ['--tools', 'all', '--relay-approvals'], {
      at,
      onEvent(event, { send, pause }) {
        const { type, turn = '' } = event;
        if (type === 'approval') {
          const args = { ...event.args, content: `program ${turn}\n` };
          const decided = decisions[wordOf(turn)] ?? { decision: 'yes', args };
          send({ type: 'approve', call: event.call, ...decided });
        } else if (type === 'content' && wordOf(turn) === 'hang') send({ type: 'cancel', id: turn });
        else if (type === 'content' && wordOf(turn) === 'long') setImmediate(pause());
        else if (type === 'tool_call' && wordOf(turn) === 'shell')
          void readFile(join(at.cwd, 'pipe')).then(() => send({ type: 'cancel', id: turn }));
      },
    });
    for (const { id, word, index } of turns) {
      gmn.send(prompt(id, `${word} ${index}`), ...(word === 'no' ? ['{"type":\n'] : []));
      if (word === 'waiting') gmn.send({ type: 'cancel', id }, { type: 'ping' });
    }
    await gmn.until(ends(`t${TURNS - 1}`));
    gmn.endInput();
    const { exitCode, stderr } = await gmn.ended;
    expect({ exitCode, stderr }).toEqual({ exitCode: 3, stderr: '' });

    const endings = gmn.events.filter(isEnding);
    const cancelled = endings.filter(({ turn }) => wordOf(turn) === 'waiting');
    const run = endings.filter(({ turn }) => wordOf(turn) !== 'waiting');
    expect(run.map(({ turn }) => turn)).toEqual(turns.filter(({ word }) => word !== 'waiting').map(({ id }) => id));
    expect(cancelled.map(({ turn }) => turn)).toEqual(
      turns.filter(({ word }) => word === 'waiting').map(({ id }) => id),
    );
    const codes = new Set(endings.map(({ type, turn, error }) => `${wordOf(turn)} ${error?.type ?? type}`));
    expect([...codes].sort()).toEqual([
      ...['change done', 'hang Interrupted', 'long done', 'no done', 'plain done', 'refuse ApiError'],
      ...['shell Interrupted', 'waiting Interrupted', 'yes done'],
    ]);
    for (const { id } of turns) {
      const own = gmn.events.filter(({ turn }) => turn === id);
      expect(own[0].type).toBe(id === 't0' ? 'accepted' : 'queued');
      expect(isEnding(own.at(-1))).toBe(true);
    }
    const schema: Schema = JSON.parse(
      readFileSync(new URL('../../docs/schemas/stream-json.schema.json', import.meta.url), 'utf8'),
    );
    const validator = new Validator(schema, '2020-12');
    expect(gmn.events.filter((event) => !validator.validate(event).valid)).toEqual([]);
    const malformed = gmn.events.filter(({ line }) => line !== undefined);
    expect(malformed.map(({ line }) => line)).toEqual(Array.from({ length: TURNS / 10 }, (_, index) => 5 + 13 * index));
    expect(gmn.events.filter(({ type }) => type === 'pong')).toHaveLength(TURNS / 10);
    // The same command again is not asked about: `always`.
    expect(gmn.events.filter(({ type, name }) => type === 'approval' && name === 'run_shell_command')).toHaveLength(1);
    expect(readFileSync(join(at.cwd, 'yes-1.txt'), 'utf8')).toBe('model 1\n');
    expect(existsSync(join(at.cwd, 'no-3.txt'))).toBe(false);
    expect(readFileSync(join(at.cwd, 'change-4.txt'), 'utf8')).toBe('program t4\n');
  },
  60_000 + 100 * TURNS,
);

test('an approval shows what would be done, and changed arguments are checked like those of the model', async (t) => {
  const gemini = await fakeGemini(t, [
    reply(call('write_file', { file_path: 'a.txt', content: 'one\n' }, { id: 'c1' })),
    reply('ok'),
  ]);
  const at = place(t, { gemini });
  const gmn = startProcess(t, ['--tools', 'edit', '--relay-approvals'], { at });
  gmn.send(prompt('1', 'write'));
  const asked = await gmn.until(({ type }) => type === 'approval');
  expect(asked).toEqual({
    type: 'approval',
    turn: '1',
    call: 'c1',
    name: 'write_file',
    args: { file_path: 'a.txt', content: 'one\n' },
    diff: expect.stringContaining('+one'),
    title: 'write_file a.txt  +1 −0',
    view: ['╭ write_file a.txt  +1 −0', '│ @@ -0,0 +1,1 @@', '│ +one'],
    default: 'no',
  });
  gmn.send({ type: 'approve', call: 'other', decision: 'yes' });
  gmn.send({ type: 'approve', call: 'c1', decision: 'yes', args: { file_path: '../out.txt', content: 'x' } });
  const again = await gmn.until(({ type, note }) => type === 'approval' && note !== undefined);
  expect(again).toMatchObject({ call: 'c1', args: { file_path: 'a.txt', content: 'one\n' }, note: /outside/ });
  gmn.send({ type: 'approve', call: 'c1', decision: 'yes', args: { file_path: 'b.txt', content: 'two\n' } });
  await gmn.until(ends('1'));
  gmn.endInput();
  expect(await gmn.ended).toMatchObject({ exitCode: 0 });
  expect(readFileSync(join(at.cwd, 'b.txt'), 'utf8')).toBe('two\n');
  expect(existsSync(join(at.cwd, 'a.txt'))).toBe(false);
  expect(gmn.events.find(({ line }) => line === 2)).toMatchObject({ type: 'error', id: 'other' });
  expect(gmn.events.find(({ type }) => type === 'tool_result')).toMatchObject({
    id: 'c1',
    result: { editedArgs: { file_path: 'b.txt', content: 'two\n' } },
  });
});

test('changed arguments that lead to a file with secrets are asked about once more, by its real path', async (t) => {
  const read = reply(call('read_file', { file_path: '.env' }, { id: 'c1' }));
  const gemini = await fakeGemini(t, [read, reply('ok')]);
  const at = place(t, { gemini, files: { '.env': 'KEY=1\n', '.env.local': 'KEY=2\n' } });
  const gmn = startProcess(t, ['--tools', 'read', '--relay-approvals'], { at });
  gmn.send(prompt('1', 'read'));
  const first = await gmn.until(({ type }) => type === 'approval');
  expect(first.title).toMatch(/^read_file .*\.env: this file may hold keys or passwords/);
  gmn.send({ type: 'approve', call: 'c1', decision: 'yes', args: { file_path: '.env.local' } });
  const second = await gmn.until(({ type, args }) => type === 'approval' && args.file_path === '.env.local');
  expect(second.title).toMatch(/\.env\.local: this file may hold/);
  gmn.send({ type: 'approve', call: 'c1', decision: 'no' });
  expect(await gmn.until(({ type }) => type === 'tool_result')).toMatchObject({ isError: true });
  await gmn.until(ends('1'));
  gmn.endInput();
  await gmn.ended;
});

test('a question that nobody can answer any more is withdrawn: cancelled, or the input has ended', async (t) => {
  const write = reply(call('write_file', { file_path: 'a.txt', content: 'one\n' }));
  const gemini = await fakeGemini(t, [write, write, reply('so be it')]);
  const gmn = startProcess(t, ['--tools', 'edit', '--relay-approvals'], { gemini });
  gmn.send(prompt('1', 'write'));
  await gmn.until(({ type }) => type === 'approval');
  gmn.send({ type: 'cancel', id: '1' }, prompt('2', 'write'));
  await gmn.until(({ type, turn }) => type === 'approval' && turn === '2');
  gmn.endInput();
  expect(await gmn.ended).toMatchObject({ exitCode: 130 });
  const types = gmn.events.map(({ type, turn }) => `${turn} ${type}`);
  expect(types).toEqual(
    [
      ...['1 accepted', '1 start', '1 tool_call', '1 approval', '1 approval_cancelled'],
      ...types.filter((type) => type === '2 queued' || type === '2 accepted'),
      ...['1 tool_result', '1 error', '2 start', '2 tool_call', '2 approval', '2 approval_cancelled'],
      ...['2 tool_result', '2 content', '2 done'],
    ].sort((one, other) => types.indexOf(one) - types.indexOf(other)),
  );
  expect(types).toHaveLength(15);
  expect(gmn.events.at(-1).warnings).toEqual([expect.stringMatching(/the input has ended/)]);
});

test('without --relay-approvals a call is denied as in other runs, and that is said once in each turn', async (t) => {
  const write = reply(call('write_file', { file_path: 'a.txt', content: 'one\n' }));
  const script = [write, write, reply('a'), write, reply('b')];
  const stdin = [prompt('1', 'x'), prompt('2', 'y')].map((line) => `${JSON.stringify(line)}\n`).join('');
  const gmn = await runGmn(t, [...FLAGS, '--tools', 'edit'], { script, stdin });
  const warning = expect.stringMatching(
    /write_file a\.txt was not run: nobody is asked in this output format\. .*--relay-approvals/,
  );
  expect(parseLines(gmn.stdout).filter(isEnding)).toMatchObject([
    { type: 'done', turn: '1', warnings: [warning] },
    { type: 'done', turn: '2', warnings: [warning] },
  ]);
});

test('a line that is not UTF-8 is refused, and no guess at its text is sent', async (t) => {
  const line = (text: string): Buffer => Buffer.from(`${JSON.stringify(prompt('1', text))}\n`, 'latin1');
  const stdin = Buffer.concat([line('caf\xe9'), Buffer.from(`${JSON.stringify(prompt('1', 'caf\xe9 \ufffd'))}\n`)]);
  const gmn = await callGmn(t, FLAGS, { script: [reply('a')], stdin });
  const [refused, accepted] = parseLines(gmn.stdout);
  expect(refused).toMatchObject({ type: 'error', line: 1, id: '1', error: { message: 'the line is not UTF-8' } });
  expect(accepted).toEqual({ type: 'accepted', turn: '1' });
  expect(gmn.requests.map((request) => request.prompt)).toEqual(['caf\xe9 \ufffd']);
});

test('a turn has a model, instruction, tools and schema of its own; set holds for those after it', async (t) => {
  const script = [reply('a'), reply('{"n":1}'), reply('c'), reply('d')];
  const lines = [
    prompt('1', 'one'),
    prompt('2', 'two', {
      ...{ model: 'gemini-3-flash-preview', system: 'Be brief.', tools: ['read_file'] },
      schema: { type: 'object', required: ['n'] },
    }),
    prompt('3', 'three'),
    { type: 'set', model: 'gemini-2.5-pro', mode: 'plan' },
    { type: 'set', mode: 'yolo' },
    prompt('4', 'four'),
    prompt('5', 'five', { tools: 'nosuch' }),
  ];
  const stdin = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const gmn = await runGmn(t, FLAGS, { script, stdin });
  const asked = gmn.requests.map(({ path, body, tools }) => [
    /models\/([\w.-]+)/.exec(path)?.[1],
    body.systemInstruction?.parts[0].text,
    tools,
    body.generationConfig?.responseMimeType,
    body.contents.length,
  ]);
  expect(asked).toEqual([
    ['gemini-2.5-flash', undefined, [], undefined, 1],
    ['gemini-3-flash-preview', 'Be brief.', ['read_file'], 'application/json', 3],
    ['gemini-2.5-flash', undefined, [], undefined, 5],
    ['gemini-2.5-pro', undefined, [], undefined, 7],
  ]);
  const events = parseLines(gmn.stdout);
  expect(events.find(({ type }) => type === 'set')).toEqual({ type: 'set', model: 'gemini-2.5-pro', mode: 'plan' });
  expect(events.find(({ line }) => line === 5)).toMatchObject({ error: { message: /command line/ } });
  expect(events.filter(isEnding).map(({ turn, type }) => `${turn} ${type}`)).toEqual([
    ...['1 done', '2 done', '3 done', '4 done', '5 error'],
  ]);
  expect(gmn.exitCode).toBe(1);
});

test.skipIf(isWindows).for([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('%s ends every turn with an error', async ([signal, code], t) => {
  const gemini = await fakeGemini(t, [stream('half')]);
  const gmn = startProcess(t, [], { gemini });
  gmn.send(prompt('1', 'one'), prompt('2', 'two'));
  await gmn.until(({ type }) => type === 'content');
  gmn.kill(signal);
  expect(await gmn.ended).toMatchObject({ exitCode: code, stderr: '' });
  const error = { code, type: 'Interrupted' };
  expect(gmn.events.filter(isEnding)).toMatchObject([
    { turn: '1', error: { ...error, partialResponse: 'half' } },
    { turn: '2', error },
  ]);
});

test.skipIf(isWindows)('a process that is killed leaves a session that goes on', async (t) => {
  const gemini = await fakeGemini(t, [reply('blue'), stream('half'), reply('as I said')]);
  const at = place(t, { gemini });
  const gmn = startProcess(t, [], { at });
  gmn.send(prompt('1', 'a colour'));
  const { sessionId } = await gmn.until(ends('1'));
  expect(gmn.events.find(({ type }) => type === 'start')).toMatchObject({ sessionId });
  gmn.send(prompt('2', 'another'));
  await gmn.until(({ type, turn }) => type === 'content' && turn === '2');
  gmn.kill('SIGKILL');
  await gmn.ended;
  const next = await runGmnIn(t, at, [...FLAGS, '-r', sessionId], `${JSON.stringify(prompt('3', 'which?'))}\n`);
  expect(next.exitCode).toBe(0);
  const texts = gemini.requests.at(-1)?.body.contents.map(({ parts }: ProcessEvent) => parts[0].text);
  expect(texts.slice(0, 2)).toEqual(['a colour', 'blue']);
  expect(gemini.requests.at(-1)?.prompt).toBe('which?');
});

test('with --no-session the turns know each other, and nothing is kept', async (t) => {
  const at = place(t, { gemini: await fakeGemini(t, [reply('blue'), failure(400, 'INVALID_ARGUMENT'), reply('red')]) });
  const gmn = startProcess(t, ['--no-session'], { at });
  gmn.send(prompt('1', 'a colour'), prompt('2', 'bad'), prompt('3', 'another'));
  gmn.endInput();
  await gmn.ended;
  expect(gmn.events.at(-1)).not.toHaveProperty('sessionId');
  expect(existsSync(join(at.home, '.gmn', 'sessions'))).toBe(false);
});

test('a reader that goes away ends the process quietly', async (t) => {
  const gemini = await fakeGemini(t, [endless(chunk([{ text: 'line\n'.repeat(200) }]))]);
  const at = place(t, { gemini });
  const { child, ended } = startProgram(t, gmnCommand(FLAGS), at, {
    stdin: 'open',
    onStdout: (text, { stdout }) => void (text.includes('"content"') && stdout?.destroy()),
  });
  child.stdin?.write(`${JSON.stringify(prompt('1', 'count'))}\n`);
  expect(await ended).toMatchObject({ exitCode: 0, stderr: '' });
});

test.for<readonly [flags: readonly string[], message: string]>([
  [['--input-format', 'stream-json'], '--input-format stream-json needs -o stream-json'],
  [[...FLAGS, 'hello'], '--input-format stream-json cannot be combined with a prompt'],
  [[...FLAGS, '-f', 'x'], '--input-format stream-json cannot be combined with --file'],
  [[...FLAGS, '-r'], '-r needs a session here'],
  [['--relay-approvals', 'hello'], '--relay-approvals means nothing without --input-format stream-json'],
])('%j is an error: %s', async ([flags, message], t) => {
  const { exitCode, stdout, stderr } = await callGmn(t, flags);
  expect(exitCode).toBe(1);
  expect(`${stdout}${stderr}`).toContain(message);
});

/** The clients of docs/process.md; there is no Go where the tests run. */
const CLIENTS = [
  ...readFileSync(new URL('../../docs/process.md', import.meta.url), 'utf8').matchAll(/```(python|ts)\n(.*?)```/gs),
];

describe('the clients of docs/process.md', () => {
  test('are as short as they say', () => {
    expect(CLIENTS.map(([, language]) => language)).toEqual(['python', 'ts']);
    for (const [, , code = ''] of CLIENTS) expect(code.trim().split('\n').length).toBeLessThanOrEqual(36);
  });

  posixTest.for(CLIENTS.map(([, language = '', code = '']) => [language, code] as const))(
    '%s',
    async ([language, code], t) => {
      if (language === 'python' && spawnSync('python3', ['--version']).status !== 0) t.skip('there is no python3');
      const write = (name: string): Scripted => reply(call('write_file', { file_path: name, content: 'old pond\n' }));
      const gemini = await fakeGemini(t, [
        write('notes.txt'),
        write('other.txt'),
        reply('written \u2028 done'),
        reply('spring'),
      ]);
      const { code: script } = language === 'ts' ? await transform(code, { loader: 'ts' }) : { code };
      const files = { [`client.${language === 'ts' ? 'mjs' : 'py'}`]: script };
      const at = place(t, { gemini, files, home: { 'bin/gmn': `#!/bin/sh\nexec ${GMN_LINE} "$@"\n` } });
      chmodSync(join(at.home, 'bin', 'gmn'), 0o755);
      const env = { ...at.env, PATH: `${join(at.home, 'bin')}:${at.env.PATH}`, PYTHONIOENCODING: 'utf-8' };
      const program = language === 'ts' ? process.execPath : 'python3';
      const { ended } = startProgram(t, [program, Object.keys(files)], { cwd: at.cwd, env });
      expect(await ended).toMatchObject({ exitCode: 0, stderr: '', stdout: 'written \u2028 done\nspring\n' });
      expect(readFileSync(join(at.cwd, 'notes.txt'), 'utf8')).toBe('old pond\n');
      expect(existsSync(join(at.cwd, 'other.txt'))).toBe(false);
    },
  );
});
