import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CANARIES, canariesIn, plantedHome } from '../support/canaries.ts';
import { call, chunk, events, failure, fakeGemini, finish, reply, type Scripted } from '../support/gemini.ts';
import { callGmnIn, type GmnResult, place, startGmn } from '../support/gmn.ts';
import { isWindows } from '../support/posix.ts';

const SIGNED = { thoughtSignature: Buffer.from('a signature').toString('base64') };

/** Two tool calls in one reply, one of them signed, then an answer that ends with a signature. */
const LOOP: readonly Scripted[] = [
  events([
    chunk([{ text: 'Let me look. ' }]),
    chunk([call('read_file', { file_path: 'a.txt' }, { id: 'one', ...SIGNED }), call('glob', { pattern: '*.txt' })]),
    finish(),
  ]),
  events([chunk([{ text: '東京 says: ' }]), chunk([{ text: 'alpha' }]), finish('STOP', [{ text: '', ...SIGNED }])]),
];

const FORMATS: readonly (readonly string[])[] = [
  ['-o', 'text'],
  ['-o', 'json'],
  ['-o', 'stream-json'],
  ['-o', 'json', '--output-dialect', 'gemini'],
  ['-o', 'stream-json', '--output-dialect', 'gemini'],
];

/** What a run prints in the official CLI's words, but for how long it took and when. gmn's own formats have no such times. */
function withoutTimes(text: string): string {
  return text
    .replace(/("(?:\w*[dD]uration\w*|totalLatencyMs|latency\w*)":\s*)\d+/g, '$1…')
    .replace(/"timestamp":\s*"[^"]+"/g, '"timestamp":"…"');
}

test.for(FORMATS)('a run with tools is replayed byte by byte: %j', async (format, t) => {
  const gemini = await fakeGemini(t, LOOP);
  const at = place(t, { gemini, files: { 'a.txt': 'alpha' }, env: { GMN_RECORD: 'calls.jsonl' } });
  const words = ['what is in a.txt?', '--tools', 'read', '--no-session', ...format];
  const recorded = await callGmnIn(t, at, words);
  expect(recorded).toMatchObject({ exitCode: 0, stderr: expect.not.stringMatching(/not recorded/) });
  const calls = readFileSync(join(at.cwd, 'calls.jsonl'));
  // Another directory, another day, no account, no server.
  const elsewhere = place(t, { files: { 'a.txt': 'alpha', 'calls.jsonl': calls } });
  const again = async (): Promise<GmnResult> => callGmnIn(t, elsewhere, [...words, '--replay', 'calls.jsonl']);
  const [first, second] = [await again(), await again()];
  expect(first).toMatchObject({ exitCode: 0 });
  const compare = format.includes('gemini') ? withoutTimes : (text: string): string => text;
  expect(compare(first.stdout)).toBe(compare(recorded.stdout));
  expect(second).toEqual(first);
});

test('retries, refusals and errors of the service are replayed as they came', async (t) => {
  const gemini = await fakeGemini(t, [
    failure(503, 'UNAVAILABLE', 'busy'),
    reply('there'),
    failure(400, 'INVALID_ARGUMENT', 'no such thing'),
  ]);
  const at = place(t, { gemini, env: { GMN_RECORD: 'calls.jsonl' } });
  const recorded = [await callGmnIn(t, at, ['Hello']), await callGmnIn(t, at, ['Bad'])];
  expect(recorded.map(({ exitCode }) => exitCode)).toEqual([0, 3]);
  const env = { ...at.env, GMN_RECORD: '' };
  const lines = readFileSync(join(at.cwd, 'calls.jsonl'), 'utf8').split(/(?<=\n)/);
  writeFileSync(join(at.cwd, 'one.jsonl'), lines.slice(0, 2).join(''));
  writeFileSync(join(at.cwd, 'two.jsonl'), lines.slice(2).join(''));
  const replayed = [
    await callGmnIn(t, { ...at, env }, ['Hello', '--replay', 'one.jsonl']),
    await callGmnIn(t, { ...at, env }, ['Bad', '--replay', 'two.jsonl']),
  ];
  expect(replayed).toEqual(recorded);
});

test('a replay has nothing of the account: no request, no price in the log, no cached upload', async (t) => {
  const gemini = await fakeGemini(t, [reply('hi')]);
  const at = place(t, { gemini, env: { GMN_RECORD: 'calls.jsonl' } });
  await callGmnIn(t, at, ['Hello', '--no-session']);
  const other = place(t, { files: { 'calls.jsonl': readFileSync(join(at.cwd, 'calls.jsonl')) } });
  expect(await callGmnIn(t, other, ['Hello', '--replay', 'calls.jsonl'])).toMatchObject({
    exitCode: 0,
    stdout: 'hi\n',
  });
  expect(existsSync(join(other.home, '.gmn/usage.jsonl'))).toBe(false);
});

test('a request that differs fails with the difference, and exchanges that are not used fail at the end', async (t) => {
  const gemini = await fakeGemini(t, [reply('one'), reply('two')]);
  const at = place(t, { gemini, env: { GMN_RECORD: 'calls.jsonl' } });
  for (const prompt of ['first question', 'second question']) await callGmnIn(t, at, [prompt, '--no-session']);
  const env = { ...at.env, GMN_RECORD: '' };
  const replay = (prompt: string) => callGmnIn(t, { ...at, env }, [prompt, '--no-session', '--replay', 'calls.jsonl']);
  expect(await replay('first question')).toMatchObject({
    exitCode: 1,
    stdout: 'one\n',
    stderr: 'gmn: 1 recorded exchange not used: #2 POST /v1beta/models/gemini-2.5-flash:streamGenerateContent\n',
  });
  expect(await replay('first quest')).toMatchObject({
    exitCode: 3,
    stdout: '',
    stderr: expect.stringMatching(
      /^Error: the request is not in calls.jsonl: contents\[0\]\.parts\[0\]\.text differs at character 12: "first quest", recorded was "first question"/,
    ),
  });
});

/** A folder `work` in a home of its own, with a memory of the user's. */
function homeWith(t: Parameters<typeof place>[0], more: Partial<Parameters<typeof place>[1]> = {}) {
  const home = { '.gemini/GEMINI.md': 'remember: my cat is called Canary', 'work/a.txt': 'alpha', ...more?.home };
  const at = place(t, { ...more, home });
  return { ...at, cwd: join(at.home, 'work') };
}

test('a recording names nobody: without the memory of the home and its paths, it is replayed in any other', async (t) => {
  const gemini = await fakeGemini(t, async (response, request) => {
    const file = join(cwd, 'a.txt');
    const text = `it is in ${cwd}, ${file}, and ${home}2 is another`;
    const script = JSON.stringify(request.body).includes('functionResponse')
      ? events([...(text.match(/.{1,7}/g) ?? []).map((piece) => chunk([{ text: piece }])), finish()])
      : events([chunk([call('read_file', { file_path: file })]), finish()]);
    return script(response, request);
  });
  const at = homeWith(t, { gemini, env: { GMN_RECORD: 'calls.jsonl' } });
  const { cwd, home } = at;
  const ask = ['read a.txt', '--tools', 'read', '--no-session'];
  const recorded = await callGmnIn(t, at, ask);
  expect(recorded).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`it is in ${cwd}, ${cwd}/a.txt`) });
  const calls = readFileSync(join(cwd, 'calls.jsonl'), 'utf8');
  expect(calls.replaceAll(`${home}2`, '')).not.toContain(home);
  expect(calls).not.toContain('Canary');
  const other = homeWith(t, { home: { '.gemini/GEMINI.md': 'something else', 'work/calls.jsonl': calls } });
  const replayed = await callGmnIn(t, other, [...ask, '--replay', 'calls.jsonl']);
  expect(replayed).toMatchObject({ exitCode: 0, stdout: recorded.stdout.replaceAll(cwd, other.cwd) });
});

test('the memory of the home is recorded, and replayed, where it is asked for', async (t) => {
  const gemini = await fakeGemini(t, [reply('hi')]);
  const at = homeWith(t, { gemini, env: { GMN_RECORD: 'calls.jsonl', GMN_RECORD_HOME: '1' } });
  await callGmnIn(t, at, ['Hello', '--no-session']);
  expect(readFileSync(join(at.cwd, 'calls.jsonl'), 'utf8')).toContain('Canary');
  const replay = (env: Record<string, string>) =>
    callGmnIn(t, { ...at, env: { ...at.env, GMN_RECORD: '', ...env } }, [
      'Hello',
      '--no-session',
      '--replay',
      'calls.jsonl',
    ]);
  expect(await replay({})).toMatchObject({ exitCode: 0, stdout: 'hi\n' });
  expect((await replay({ GMN_RECORD_HOME: '' })).stderr).toContain('systemInstruction is missing');
});

test('--replay takes --match and --ignore: another order, other words, or another instruction', async (t) => {
  const gemini = await fakeGemini(t, [reply('one')]);
  const at = place(t, { gemini, env: { GMN_RECORD: 'calls.jsonl' } });
  await callGmnIn(t, at, ['on 2026-11-18', '--no-session', '--system', 'Be brief.']);
  const env = { ...at.env, GMN_RECORD: '' };
  const replay = async (...words: string[]) =>
    (await callGmnIn(t, { ...at, env }, ['--no-session', '--replay', 'calls.jsonl', ...words])).exitCode;
  expect(await replay('other words')).toBe(3);
  expect(await replay('other words', '--match', 'order')).toBe(0);
  expect(await replay('on 2026-11-18')).toBe(3);
  expect(await replay('on 2026-11-18', '--match', 'last-user')).toBe(0);
  expect(await replay('on 2026-11-18', '--ignore', 'systemInstruction')).toBe(0);
  expect(await replay('on 2026-11-18', '--system', 'Be long.', '--ignore', 'systemInstruction')).toBe(0);
  expect(await replay('on 2027-01-01', '--ignore', 'systemInstruction')).toBe(3);
  expect(await replay('on 2027-01-01', '--ignore', 'systemInstruction', '--ignore', 'date')).toBe(0);
});

test.for([
  [['--ignore', 'date'], {}, '--ignore means nothing without --replay'],
  [['--match', 'order'], {}, '--match means nothing without --replay'],
  [['--replay', 'none.jsonl'], {}, 'there is no file none.jsonl'],
  [['--replay', 'bad.jsonl'], {}, 'bad.jsonl:1: not JSON'],
  [['--replay', 'bad.jsonl', '--demo'], {}, 'cannot be combined'],
  [['--replay', 'bad.jsonl'], { GMN_RECORD: 'x.jsonl' }, '--replay cannot be combined with GMN_RECORD'],
  [[], { GMN_RECORD: 'bad.jsonl' }, 'bad.jsonl:1: not JSON'],
  [[], { GMN_RECORD: '.' }, 'is not a file'],
  [['demo', 'serve', '--match', 'order'], {}, '--match means nothing without --replay'],
  [['demo', 'serve', '--upstream', 'http://example.com'], {}, '--upstream means nothing without --record'],
  [['demo', 'serve', '--record', 'x.jsonl', '--upstream', 'http://example.com'], {}, '--upstream must use https'],
  [['demo', 'serve', '--record', 'x.jsonl', '--replay', 'y.jsonl'], {}, 'cannot be combined'],
  [['demo', 'serve', '--replay', 'bad.jsonl', '--speed', '-1'], {}, '--speed -1 is not a speed'],
] as const)('%j with %j is refused: %s', async ([args, env, message], t) => {
  const at = place(t, { files: { 'bad.jsonl': 'oops\n' }, env: { GEMINI_API_KEY: 'test-key-0123456789', ...env } });
  const words = args[0] === 'demo' ? args : ['Hello', ...args];
  const { exitCode, stderr, stdout } = await callGmnIn(t, at, words);
  expect({ exitCode: exitCode === 4 ? 1 : exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toContain(message);
});

test('the secrets of a signed-in user are in no recording', async (t) => {
  const leaking = events([chunk([{ text: `your token is ${CANARIES.storedKey}` }]), finish()]);
  const gemini = await fakeGemini(t, [leaking, reply('fine')]);
  const at = place(t, {
    gemini,
    home: plantedHome(),
    env: { GMN_RECORD: 'calls.jsonl', GEMINI_API_KEY: CANARIES.geminiKey },
  });
  await callGmnIn(t, at, [`Hello ${CANARIES.googleKey}`, '--no-session']);
  await callGmnIn(t, at, ['again', '--no-session']);
  const calls = readFileSync(join(at.cwd, 'calls.jsonl'), 'utf8');
  expect(calls.split('\n')).toHaveLength(3);
  expect(canariesIn(calls)).toEqual([]);
});

/** Until the condition holds. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

test('a recorder that is killed leaves whole lines, and what a client has got is among them', async (t) => {
  const demo = await startGmn(t, ['demo', 'serve', '--quiet'], { stdout: 'pipe' });
  const at = place(t);
  const url = await firstLine(demo);
  const recorder = await startGmn(t, ['demo', 'serve', '--record', 'calls.jsonl', '--upstream', url], { at });
  const proxy = await firstLine(recorder);
  const ask = (text: string) =>
    fetch(`${proxy}/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse`, {
      method: 'POST',
      headers: { 'x-goog-api-key': 'canary-0123456789' },
      body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text }] }] }),
    }).then((response) => response.text());
  const got: string[] = [];
  const busy = Array.from({ length: 30 }, (_, index) =>
    ask(`question ${index}`).then(
      () => void got.push(`question ${index}`),
      () => {},
    ),
  );
  await until(() => got.length >= 5);
  recorder.child.kill('SIGKILL');
  await Promise.all(busy);
  const whole = readFileSync(join(at.cwd, 'calls.jsonl'), 'utf8');
  const lines = whole
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  expect(whole.endsWith('\n')).toBe(true);
  const kept = lines.map(({ request }) => request.body.contents[0].parts[0].text);
  expect(got.filter((prompt) => !kept.includes(prompt))).toEqual([]);
  expect(readdirSync(at.cwd)).toEqual(['calls.jsonl']);
  demo.child.kill();
});

test('a served replay ends with 0 if all was asked for, else with 1 and the reason', async (t) => {
  const gemini = await fakeGemini(t, [reply('one')]);
  const at = place(t, { gemini, env: { GMN_RECORD: 'calls.jsonl' } });
  await callGmnIn(t, at, ['Hello', '--no-session']);
  const env = { ...at.env, GMN_RECORD: '' };
  const server = await startGmn(t, ['demo', 'serve', '--replay', 'calls.jsonl', '--quiet'], { at: { ...at, env } });
  const url = await firstLine(server);
  const client = { ...at, env: { ...env, GOOGLE_GEMINI_BASE_URL: url } };
  expect(await callGmnIn(t, client, ['Hello', '--no-session'])).toMatchObject({ exitCode: 0, stdout: 'one\n' });
  const other = await callGmnIn(t, client, ['Hullo', '--no-session']);
  expect(other).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining('differs at character 2: "Hullo", recorded was "Hello"'),
  });
  server.child.kill('SIGTERM');
  // On Windows the signal kills it.
  const end = { exitCode: 1, stderr: 'gmn: 1 request not in calls.jsonl\n' };
  expect(await server.ended).toMatchObject(isWindows ? { exitCode: null, stderr: '' } : end);
});

test.for([[], ['--record', 'new.jsonl', '--upstream', 'http://127.0.0.1:1'], ['--replay', 'calls.jsonl']])(
  'demo serve %j answers no web page, and to no name but those of this machine',
  async (flags, t) => {
    const at = place(t, { files: { 'calls.jsonl': '' } });
    const server = await startGmn(t, ['demo', 'serve', ...flags], { at });
    const { port } = new URL(await firstLine(server));
    const ask = async (headers: Record<string, string>): Promise<number | undefined> => {
      const sent = request({ host: '127.0.0.1', port, path: '/none', headers });
      const [response] = (await once(sent.end(), 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    const foreign: readonly Record<string, string>[] = [
      { host: `evil.example:${port}` },
      { host: `127.0.0.1.evil.example:${port}` },
      { host: `evil@127.0.0.1:${port}` },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
    ];
    for (const headers of foreign) expect([headers, await ask(headers)]).toEqual([headers, 403]);
    const own: readonly Record<string, string>[] = [
      {},
      { host: `localhost:${port}` },
      { origin: `http://localhost:${port}` },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
      { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' },
    ];
    for (const headers of own) expect([headers, await ask(headers)]).not.toEqual([headers, 403]);
    server.child.kill();
  },
);

async function firstLine({ child }: Awaited<ReturnType<typeof startGmn>>): Promise<string> {
  let text = '';
  child.stdout?.on('data', (piece) => {
    text += piece;
  });
  await until(() => text.includes('\n'));
  return text.slice(0, text.indexOf('\n'));
}
