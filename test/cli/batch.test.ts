import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { gate } from '../support/gate.ts';
import { answerEach, events, failure, fakeGemini, finish } from '../support/gemini.ts';
import {
  callGmnIn,
  firstNotice,
  GMN_LINE,
  isStandalone,
  parseLines,
  place,
  runShell,
  startGmn,
} from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

interface OutputLine {
  readonly id: string;
  readonly index: number;
  readonly ok: boolean;
  readonly response?: string;
  readonly json?: unknown;
  readonly error?: { readonly code: number; readonly type: string; readonly message: string };
}

function readOutput(cwd: string, name = 'out.jsonl'): readonly OutputLine[] {
  const text = readFileSync(join(cwd, name), 'utf8');
  return parseLines(text);
}

const ECHO = answerEach((prompt) => `re: ${prompt}`);
const OUT = ['--output-file', 'out.jsonl'];

test('every row gets one line, and a row that cannot be asked is a failed one', async (t) => {
  const server = await fakeGemini(t, ECHO);
  const rows = [
    '"hello @notes.txt"',
    '{"id":"sys","prompt":"with a system","system":"Be brief.","model":"gemini-2.5-pro"}',
    '{"id":"file","prompt":"read it","files":["notes.txt"]}',
    '{"id":"turns","contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b"}]},{"role":"user","parts":[{"text":"c"}]}],"files":["notes.txt"]}',
    '{"id":"sys","prompt":"the same id"}',
    '{"id":"outside","prompt":"x","files":["../outside.txt"]}',
    '{"id":"link","prompt":"x","files":["link.txt"]}',
    '{"id":"secret","prompt":"x","files":[".env"]}',
    '{"id":"missing","prompt":"x","files":["nothing.txt"]}',
    '{"id":"empty"}',
    'not json',
  ];
  const setting = place(t, {
    gemini: server,
    files: { 'in.jsonl': rows.join('\n'), 'notes.txt': 'the notes', '.env': 'KEY=1', 'shared.md': 'for all' },
  });
  writeFileSync(join(setting.root, 'outside.txt'), 'private');
  symlinkSync('../outside.txt', join(setting.cwd, 'link.txt'));
  const { stdout, stderr, exitCode } = await callGmnIn(t, setting, ['batch', 'in.jsonl', ...OUT, '-f', 'shared.md']);
  expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 3 });
  expect(stderr).toContain('4 rows answered in');
  expect(stderr).toContain('7 failed');
  const lines = readOutput(setting.cwd);
  const byIndex = new Map(lines.map((line) => [line.index, line]));
  expect([...byIndex.keys()].toSorted((a, b) => a - b)).toEqual(rows.map((_, at) => at));
  expect(byIndex.get(0)).toMatchObject({ ok: true, response: 're: === shared.md ===\nfor all\n\nhello @notes.txt' });
  expect(byIndex.get(2)?.response).toContain('=== notes.txt ===\nthe notes\n\nread it');
  expect(byIndex.get(3)).toMatchObject({ id: 'turns', response: 're: c' });
  const turns = server.requests.find(({ text }) => text.includes('"role":"model"'))?.body.contents;
  expect(turns.slice(0, 2).map(({ parts }: { parts: unknown }) => parts)).toEqual([[{ text: 'a' }], [{ text: 'b' }]]);
  expect(turns[2].parts).toEqual([
    { text: '=== shared.md ===\nfor all\n\n=== notes.txt ===\nthe notes' },
    { text: 'c' },
  ]);
  const messages = lines.filter(({ ok }) => !ok).toSorted((a, b) => a.index - b.index);
  expect(messages.map(({ error }) => error?.message)).toEqual([
    'row 5 has the id "sys", which an earlier row has',
    '../outside.txt is outside the workspace',
    'link.txt is outside the workspace',
    '.env may hold secrets, so a row cannot send it',
    'no such file: nothing.txt',
    'the row has nothing to ask: neither "prompt" nor "contents" nor "files"',
    expect.stringContaining('line 11 is not JSON'),
  ]);
  expect(server.requests.some(({ text }) => /private|KEY=1/.test(text))).toBe(false);
  expect(server.sockets.length).toBeLessThanOrEqual(4);
  const failed = readFileSync(join(setting.cwd, 'out.jsonl.failed.jsonl'), 'utf8');
  expect(failed).toContain('{"id":"secret","prompt":"x","files":[".env"]}\n');
  expect(failed).toContain('not json\n');
});

test('a conversation is asked with the words of -p; it has no place for a template, and the row says so', async (t) => {
  const server = await fakeGemini(t, ECHO);
  const row = '{"id":"talk","contents":[{"role":"user","parts":[{"text":"the mail"}]}]}';
  const setting = place(t, { gemini: server, files: { 'in.jsonl': row, 'mood.md': 'How is {{city}}?' } });
  await callGmnIn(t, setting, ['batch', 'in.jsonl', ...OUT, '-p', 'Is it a complaint?']);
  expect(server.requests[0]?.parts).toEqual([{ text: 'Is it a complaint?' }, { text: 'the mail' }]);
  await callGmnIn(t, setting, ['batch', 'in.jsonl', ...OUT, '--restart', '--template', 'mood.md']);
  expect(readOutput(setting.cwd)).toMatchObject([
    { ok: false, error: { message: 'the row has "contents", in which --template has no place' } },
  ]);
  expect(server.requests).toHaveLength(1);
});

test('rows that cannot be read are corrected in the input, and are then no failed rows any more', async (t) => {
  const server = await fakeGemini(t, ECHO);
  const setting = place(t, { gemini: server });
  const run = async (...words: string[]) => {
    const { exitCode, stderr } = await callGmnIn(t, setting, ['batch', ...words, ...OUT]);
    return { exitCode, stderr };
  };
  const failed = join(setting.cwd, 'out.jsonl.failed.jsonl');
  const write = (...rows: readonly string[]): void =>
    writeFileSync(join(setting.cwd, 'in.jsonl'), `${rows.join('\n')}\n`, 'latin1');
  const missing = '{"id":"m","prompt":"x","files":["none.txt"]}';
  write('"a"', '{"id":"b"', '"caf\u00e9"', '{"id":"d","prompt":"1"}', '{"id":"d","prompt":"2"}', missing);
  const first = await run('in.jsonl');
  expect(first).toMatchObject({ stderr: expect.stringContaining('gmn: 4 failed'), exitCode: 3 });
  expect(first.stderr).toContain('to try them again, run the same command with --retry-failed');
  expect(first.stderr).toContain('3 of them cannot be read, or have the id of another row: correct in.jsonl');
  expect(readFileSync(failed, 'utf8').trimEnd().split('\n').toSorted()).toEqual([
    expect.stringMatching(/^\{"id":"5-\w+","prompt":"2"\}$/),
    '{"id":"b"',
    missing,
  ]);
  write('"a"', '{"id":"b","prompt":"y"}', '"cafe"', '{"id":"d","prompt":"1"}', '{"id":"e","prompt":"2"}', missing);
  const second = await run('in.jsonl');
  expect(second).toMatchObject({ stderr: expect.stringContaining('gmn: 1 failed'), exitCode: 3 });
  expect(second.stderr).not.toContain('cannot be read');
  expect(readFileSync(failed, 'utf8')).toBe(`${missing}\n`);
  // Edited by hand, and still wrong: not read again as what it adds to the file itself.
  writeFileSync(failed, '{"id": "m", "prompt": "x", "files": ["nil"]}\n{"prompt": "z", "files": ["nil"]}\n');
  const before = readOutput(setting.cwd).length;
  expect((await run(failed, '--retry-failed')).exitCode).toBe(3);
  expect(readOutput(setting.cwd)).toHaveLength(before + 2);
  expect(readFileSync(failed, 'utf8')).toMatch(/^\{"id": "m".*\n\{"prompt": "z".*\n\{"prompt":"z".*"id":"2-\w+"\}\n$/s);
  writeFileSync(join(setting.cwd, 'none.txt'), 'here');
  expect((await run('in.jsonl', '--retry-failed')).exitCode).toBe(0);
  expect(existsSync(failed)).toBe(false);
});

test('a template is filled with the columns of a CSV, the answer checked against a schema, a bad one asked for again', async (t) => {
  const server = await fakeGemini(
    t,
    answerEach((prompt) => {
      if (prompt.includes('does not match')) return '{"mood":"good"}';
      return prompt.includes('Paris') ? '{"mood":"good"}' : 'I feel fine';
    }),
  );
  const setting = place(t, {
    gemini: server,
    files: {
      'in.csv': 'id,city,unused\na,Paris,1\nb,"Rome, Italy",2\n',
      'mood.md': 'How is {{city}} in {{ season }}?',
      'shell.toml': 'prompt = "List !{ls} and {{args}}"\n',
    },
  });
  const schema = '{"type":"object","properties":{"mood":{"type":"string"}},"required":["mood"]}';
  const words = ['batch', 'in.csv', '--template', 'mood.md', '--param', 'season=May', '--schema', schema, ...OUT];
  const { exitCode, stdout } = await callGmnIn(t, setting, [...words, '--json']);
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ rows: 2, ok: 2, failed: 0, answered: 2 });
  expect(
    readOutput(setting.cwd)
      .map(({ id, json }) => [id, json])
      .toSorted(),
  ).toEqual([
    ['a', { mood: 'good' }],
    ['b', { mood: 'good' }],
  ]);
  expect(server.requests.map(({ prompt }) => prompt).toSorted()).toEqual([
    'How is Paris in May?',
    'How is Rome, Italy in May?',
    expect.stringContaining('does not match the JSON Schema'),
  ]);
  const changed = await callGmnIn(t, setting, [...words, '--temperature', '0.5']);
  expect(changed.exitCode).toBe(1);
  expect(changed.stderr).toContain('was made with other settings: temperature was 1 then, and is 0.5 now');
  const unsafe = await callGmnIn(t, setting, [
    ...'batch in.csv --template shell.toml --output-file o2.jsonl'.split(' '),
  ]);
  expect(unsafe.exitCode).toBe(1);
  expect(unsafe.stderr).toContain('runs commands or reads files (!{…}, @{…})');
  expect(existsSync(join(setting.cwd, 'o2.jsonl'))).toBe(false);
});

test('a file per row, and lines of stdin, in the order of the input', async (t) => {
  const server = await fakeGemini(t, ECHO);
  const files = {
    'src/a.ts': 'one',
    'src/b/c.ts': 'two',
    'src/skip.js': 'no',
    '.gitignore': 'ignored\n',
    'ignored/d.ts': 'no',
  };
  const setting = place(t, { gemini: server, files });
  const each = await callGmnIn(t, setting, ['batch', '--each', '**/*.ts', '-p', 'Describe it.', '--ordered', ...OUT]);
  expect(each.exitCode).toBe(0);
  expect(readOutput(setting.cwd).map(({ id, response }) => [id, response])).toEqual([
    ['src/a.ts', 're: === src/a.ts ===\none\n\nDescribe it.'],
    ['src/b/c.ts', 're: === src/b/c.ts ===\ntwo\n\nDescribe it.'],
  ]);
  const words = ['batch', '--lines', '--ordered', '--output-file', 'lines.jsonl'];
  const lines = await callGmnIn(t, setting, words, 'first\n\n{"second"\n');
  expect(lines.exitCode).toBe(0);
  expect(readOutput(setting.cwd, 'lines.jsonl').map(({ response }) => response)).toEqual([
    're: first',
    're: {"second"',
  ]);
});

posixTest('Ctrl+C finishes what is in flight, says so with 130, and the next run does the rest', async (t) => {
  const { open, opened } = gate();
  let onFirst = (): void => {};
  const server = await fakeGemini(
    t,
    answerEach(async (prompt, count) => {
      if (count === 4) onFirst();
      if (count <= 4) await opened;
      return `re: ${prompt}`;
    }),
  );
  const input = Array.from({ length: 20 }, (_, at) => `"p${at}"\n`).join('');
  const setting = place(t, { gemini: server, files: { 'in.jsonl': input } });
  const { child, ended } = await startGmn(t, ['batch', 'in.jsonl', ...OUT], {
    at: setting,
    onStderr: (text) => void (text.includes('finishing what is in flight') && open()),
  });
  onFirst = () => void child.kill('SIGINT');
  const { exitCode, stderr } = await ended;
  expect(exitCode).toBe(130);
  expect(stderr).toContain('Run the same command again: it continues where it stopped.');
  expect(readOutput(setting.cwd)).toHaveLength(4);
  expect(server.requests).toHaveLength(4);
  expect((await callGmnIn(t, setting, ['batch', 'in.jsonl', ...OUT, '-q'])).exitCode).toBe(0);
  expect(readOutput(setting.cwd)).toHaveLength(20);
  expect(server.requests).toHaveLength(20);
});

test('a quota of the day ends the run with 3 and the time to go on; a full disk with what to do', async (t) => {
  const violations = [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel', quotaValue: '5' }];
  const details = [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations }];
  const spent = failure(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded', details);
  const server = await fakeGemini(
    t,
    answerEach((prompt, count) => (count <= 5 ? `re: ${prompt}` : spent)),
  );
  const setting = place(t, { gemini: server, files: { 'in.jsonl': '"a"\n"b"\n"c"\n"d"\n"e"\n"f"\n"g"\n"h"\n' } });
  const { exitCode, stderr } = await callGmnIn(t, setting, ['batch', 'in.jsonl', ...OUT]);
  expect(exitCode).toBe(3);
  expect(stderr).toMatch(/daily quota exceeded.*\n.*It resets at midnight Pacific time.*it continues where it stopped/);
  expect(readOutput(setting.cwd)).toHaveLength(5);
  expect(readOutput(setting.cwd).every(({ ok }) => ok)).toBe(true);
});

test('a spending cap ends the run after one request, and what was left is asked for later', async (t) => {
  const capped = failure(429, 'RESOURCE_EXHAUSTED', 'Your project has exceeded its monthly spending cap.');
  let isCapped = true;
  const server = await fakeGemini(
    t,
    answerEach((prompt) => (isCapped ? capped : `re: ${prompt}`)),
  );
  const setting = place(t, {
    gemini: server,
    files: { 'in.jsonl': '{"prompt":"a","model":"gemini-2.5-pro"}\n"b"\n"c"\n' },
  });
  const run = () => callGmnIn(t, setting, ['batch', 'in.jsonl', '--concurrency', '1', ...OUT]);
  const { exitCode, stderr } = await run();
  expect([exitCode, server.requests.length]).toEqual([3, 1]);
  expect(stderr).toMatch(
    /monthly spending cap is reached.*\n.*https:\/\/ai\.studio\/spend.*it continues where it stopped/,
  );
  isCapped = false;
  expect((await run()).exitCode).toBe(0);
  expect(readOutput(setting.cwd).map(({ ok }) => ok)).toEqual([true, true, true]);
});

test.skipIf(process.platform === 'win32')('a disk that is full loses nothing that was written', async (t) => {
  const server = await fakeGemini(
    t,
    answerEach(() => 'x'.repeat(400)),
  );
  const input = Array.from({ length: 60 }, (_, at) => `"p${at}"\n`).join('');
  const setting = place(t, { gemini: server, files: { 'in.jsonl': input } });
  const line = `ulimit -f 16; trap '' XFSZ; exec ${GMN_LINE} batch in.jsonl --output-file out.jsonl`;
  const { exitCode, stderr } = await runShell(t, setting, line);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('cannot write');
  expect(stderr).toContain('EFBIG');
  const before = readOutput(setting.cwd).length;
  expect(before).toBeGreaterThan(5);
  expect((await callGmnIn(t, setting, ['batch', 'in.jsonl', ...OUT, '-q'])).exitCode).toBe(0);
  expect(new Set(readOutput(setting.cwd).map(({ id }) => id)).size).toBe(60);
  expect(readOutput(setting.cwd)).toHaveLength(60);
});

test('what cannot begin says why: no output, no input, a CSV without a header, a Google login', async (t) => {
  const setting = place(t, {
    files: { 'in.csv': '1,What?\n', 'in.jsonl': '"a"\n' },
    home: {
      '.gemini/oauth_creds.json': JSON.stringify({
        access_token: 'ya29.test',
        refresh_token: '1//test',
        expiry_date: Date.now() + 3_600_000,
        token_type: 'Bearer',
      }),
    },
  });
  mkdirSync(join(setting.cwd, 'dir'));
  const run = async (...words: string[]) => {
    const { exitCode, stderr } = await callGmnIn(t, setting, ['batch', ...words]);
    return [exitCode, stderr.split('\n')[0]];
  };
  expect(await run('in.jsonl', '--demo')).toEqual([
    1,
    'Error: gmn batch needs --output-file: a later run continues from that file',
  ]);
  expect(await run('--demo', ...OUT)).toEqual([1, 'Error: no input given']);
  expect(await run('in.csv', '--demo', ...OUT)).toEqual([
    1,
    'Error: in.csv has no header: its first line does not name columns',
  ]);
  expect(await run('--each', '*.md', '-p', 'x', '--demo', ...OUT)).toEqual([1, 'Error: --each: no file matches *.md']);
  const [code, message] = await run('in.jsonl', ...OUT);
  expect(code).toBe(2);
  expect(message).toContain('a Google login is not for batches');
  const [pictures, why] = await run('in.jsonl', ...OUT, '--demo', '-m', 'gemini-3.1-flash-image');
  expect([pictures, why]).toEqual([1, expect.stringContaining('makes pictures, which a batch cannot keep')]);
  expect(await run('in.jsonl', ...OUT, '--demo', '--engine', 'api', '--service-tier', 'flex')).toEqual([
    1,
    'Error: --service-tier is not possible with --engine api: a batch job costs half of the standard price and has no tiers',
  ]);
  expect(existsSync(join(setting.cwd, 'out.jsonl'))).toBe(false);
});

/** On Windows a file that is open cannot be removed. */
test.skipIf(process.platform !== 'linux' || isStandalone).for([
  [0, ['--demo', ...OUT, '--limit', '1']],
  [0, ['--demo', '--dry-run']],
  [2, ['--auth', 'vertex-ai', ...OUT, '--engine', 'api']],
] as const)('exit %i: however a batch ends, its input is closed: %j', async ([exitCode, words], t) => {
  const env = { GOOGLE_CLOUD_PROJECT: 'p', GOOGLE_CLOUD_LOCATION: 'global', GOOGLE_API_KEY: 'test-key-0123456789' };
  const setting = place(t, { env, files: { 'in.jsonl': `"a"\n"${'b'.repeat(900_000)}"\n` } });
  expect(await callGmnIn(t, setting, ['batch', 'in.jsonl', ...words])).toMatchObject({ exitCode });
  const open = readdirSync('/proc/self/fd').filter((id) => tryReadLink(`/proc/self/fd/${id}`)?.endsWith('in.jsonl'));
  expect(open).toEqual([]);
});

function tryReadLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

test.skipIf(isStandalone)('--estimate counts a sample and asks nothing', async (t) => {
  const setting = place(t, { files: { 'in.jsonl': '"hello"\n'.repeat(80) } });
  const { exitCode, stdout } = await callGmnIn(t, setting, ['batch', 'in.jsonl', '--estimate', '--demo', '--json']);
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ rows: 80, sampled: 50, promptTokensMargin: 0 });
  expect(JSON.parse(stdout).promptTokens).toBeGreaterThan(80);
});

test('a wait that the service asks for is said in a pipe; one of a day ends the run, with 3', async (t) => {
  const server = await fakeGemini(t, (response, request) => {
    response.setHeader('retry-after', request.prompt === 'a' ? '86400' : '45');
    return failure(429, 'RESOURCE_EXHAUSTED', 'Slow down.')(response, request);
  });
  const setting = place(t, { gemini: server, files: { 'in.jsonl': '"a"\n', 'other.jsonl': '"b"\n' } });
  const { exitCode, stderr } = await callGmnIn(t, setting, ['batch', 'in.jsonl', ...OUT]);
  expect(exitCode).toBe(3);
  expect(stderr).toMatch(/Slow down\..*\nThe server asks to wait 24 h\. Run the same command again then/);
  const said = await firstNotice(t, setting, ['batch', 'other.jsonl', '--output-file', 'other-out.jsonl']);
  expect(said).toMatch(/^gmn: the service asks to wait; going on in 4\d s\n$/);
});

test('--max-cost shortens answers and stops, a higher one goes on, and what was paid is in the usage log', async (t) => {
  const server = await fakeGemini(t, ECHO);
  // An answer has 2 tokens, which are $0.002.
  const prices = { 'gemini-2.5-flash': { input: 0, output: 1000 } };
  const setting = place(t, {
    gemini: server,
    files: { 'in.jsonl': '"a"\n"b"\n"c"\n"d"\n"e"\n' },
    home: { '.gmn/config.json': JSON.stringify({ prices }) },
  });
  const words = ['batch', 'in.jsonl', '-m', 'gemini-2.5-flash', ...OUT];
  const stopped = await callGmnIn(t, setting, [...words, '--max-cost', '0.2615']);
  expect(stopped.exitCode).toBe(1);
  expect(stopped.stderr).toMatch(/stopped at --max-cost: \$0\.006 of \$0\.26 is spent.*\n.*higher --max-cost/);
  const limits = server.requests.map(({ body }) => body.generationConfig.maxOutputTokens);
  expect(limits).toEqual([261, 259, 257]);
  expect((await callGmnIn(t, setting, [...words, '--max-cost', '1000'])).exitCode).toBe(0);
  expect(readOutput(setting.cwd)).toHaveLength(5);
  const log = readFileSync(join(setting.home, '.gmn/usage.jsonl'), 'utf8').match(/.+/g) ?? [];
  const call = { model: 'gemini-2.5-flash', backend: 'gemini-api' };
  expect(log.map((line) => JSON.parse(line))).toMatchObject([
    { kind: 'batch', cwd: setting.cwd, calls: [{ ...call, usage: { candidatesTokenCount: 6 } }] },
    { kind: 'batch', cwd: setting.cwd, calls: [{ ...call, usage: { candidatesTokenCount: 4 } }] },
  ]);
});

test('rows that fail with a count are paid for: they use up --max-cost, and are in the usage log', async (t) => {
  const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 100, totalTokenCount: 105 };
  const endings = ['MAX_TOKENS', 'SAFETY', 'RECITATION'];
  const ending = (count: number) => ({
    ...finish(),
    usageMetadata,
    candidates: [{ finishReason: endings[count % 3] }],
  });
  const server = await fakeGemini(
    t,
    answerEach((_, count) => events([ending(count)])),
  );
  // $0.1 for each row.
  const prices = { 'gemini-2.5-flash': { input: 0, output: 1000 } };
  const setting = place(t, {
    gemini: server,
    files: { 'in.jsonl': Array.from({ length: 50 }, (_, index) => `"row ${index}"\n`).join('') },
    home: { '.gmn/config.json': JSON.stringify({ prices }) },
  });
  const { exitCode, stderr } = await callGmnIn(t, setting, ['batch', 'in.jsonl', ...OUT, '--max-cost', '0.7']);
  expect([exitCode, server.requests.length]).toEqual([1, 5]);
  expect(stderr).toContain('stopped at --max-cost: $0.50 of $0.70 is spent');
  const [line = ''] = readFileSync(join(setting.home, '.gmn/usage.jsonl'), 'utf8').match(/.+/g) ?? [];
  expect(JSON.parse(line)).toMatchObject({ kind: 'batch', calls: [{ usage: { candidatesTokenCount: 500 } }] });
});

// Input and output share the window of the second, so its requests pass through one more function.
test.for(['gemini-2.5-flash', 'gemini-4-carbon'])('a failed row has its price, too: %s', async (model, t) => {
  const server = await fakeGemini(
    t,
    answerEach(() => 'not JSON'),
  );
  const setting = place(t, { gemini: server, files: { 'in.jsonl': '"a"\n' } });
  const words = ['batch', 'in.jsonl', '-m', model, '--output-schema', '{"type":"object"}', '--retries', '0'];
  const { exitCode, stdout } = await callGmnIn(t, setting, [...words, ...OUT, '--json']);
  expect(exitCode).toBe(3);
  // Asked twice, with 5 tokens of prompt and 2 of answer each time.
  expect(JSON.parse(stdout)).toMatchObject({ answered: 0, failedNow: 1, cost: 0.000013 });
});

test('a terminal has one live line; Ctrl+C twice stops at once, and nothing that was answered is lost', async (t) => {
  const server = await fakeGemini(
    t,
    answerEach((prompt) => (prompt === 'never' ? undefined : 'yes')),
  );
  const at = place(t, { gemini: server, files: { 'in.jsonl': '"now"\n"never"\n' } });
  const terminal = runInTerminal(t, ['batch', 'in.jsonl', '-m', 'gemini-2.5-flash', ...OUT], { at });
  await terminal.until(/\r\u001b\[K1\/2 · 100 % ok · .*\$0\.\d+/);
  terminal.type('\u0003');
  await terminal.until(/finishing what is in flight; Ctrl\+C again to stop at once/);
  terminal.type('\u0003');
  const { exitCode, output } = await terminal.ended;
  expect(exitCode).toBe(130);
  expect(output.split('1/2').at(-1)).toContain('\r\u001b[K');
  expect(readOutput(at.cwd)).toMatchObject([{ ok: true, response: 'yes' }]);
});

test('the offline model costs nothing, and is in no usage log', async (t) => {
  const setting = place(t, { files: { 'in.jsonl': '"a"\n"b"\n' } });
  const { exitCode, stderr } = await callGmnIn(t, setting, ['batch', 'in.jsonl', '--demo', ...OUT]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.not.stringContaining('$') });
  expect(readFileSync(join(setting.cwd, 'out.jsonl'), 'utf8')).not.toContain('"cost"');
  expect((await callGmnIn(t, setting, ['usage', '--json'])).stdout).not.toContain('"runs": 1');
});
