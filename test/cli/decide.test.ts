import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@cfworker/json-schema';
import { expect, test } from 'vitest';
import { signInFile } from '../support/account.ts';
import { failure, fakeGemini, json, type Scripted } from '../support/gemini.ts';
import { callGmn, callGmnIn, GMN_LINE, parseLines, place, runShell } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

const USAGE = { total_input_tokens: 40, total_output_tokens: 0, total_tokens: 40 };

const answer = (answers: object): Scripted => json({ answers, usage: USAGE });
const yesNo = (noul: number): Scripted => answer({ answer: { type: 'noul', noul, confidence: 0.9 } });
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const files = { 'in.txt': 'I want my money back.\n' };
const ASK = ['decide', '-f', 'in.txt', 'a refund?'];

const schema = new Validator(
  JSON.parse(readFileSync(new URL('../../docs/schemas/decide.schema.json', import.meta.url), 'utf8')),
  '2020-12',
);

test('the question, the files and stdin become one request, and the probability is printed', async (t) => {
  const files = { 'shot.png': PNG, 'notes.md': 'notes' };
  const words = ['decide', 'does', 'it', 'break?', '-f', 'notes.md', '-f', 'shot.png'];
  const { stdout, stderr, exitCode, requests } = await callGmn(t, words, {
    ...{ files, script: [yesNo(0.93)], stdin: 'the diff\n' },
    env: { GOOGLE_GENAI_API_VERSION: 'v1' },
  });
  expect([stdout, stderr, exitCode]).toEqual(['0.93\n', '', 0]);
  expect(requests.map(({ method, path, body }) => ({ method, path, body }))).toEqual([
    {
      method: 'POST',
      path: '/v1beta/decisions',
      body: {
        model: 'gemini-decision-1',
        input: [
          { type: 'image', mime_type: 'image/png', data: PNG.toString('base64') },
          { type: 'text', text: '=== notes.md ===\nnotes\n\nthe diff\n' },
        ],
        questions: { answer: { type: 'noul', instructions: 'does it break?' } },
      },
    },
  ]);
});

test.for([
  [
    ['--choice', 'feature, bug,question'],
    { type: 'choice', instructions: 'a refund?', criteria: { bug: null, feature: null, question: null } },
    { type: 'choice', choice: 'bug', probabilities: { bug: 0.8, feature: 0.1, question: 0.1 }, confidence: 0.8 },
    'bug\n',
  ],
  [
    ['--score', 'calm,annoyed,furious'],
    { type: 'score', instructions: 'a refund?', criteria: ['calm', 'annoyed', 'furious'] },
    { type: 'score', score: 1.4, probabilities: { '0': 0.1, '1': 0.4, '2': 0.5 }, legend: { '0': 'calm' } },
    '1.4\n',
  ],
] as const)('%j: the value is printed, and -o json has all of it', async ([flags, question, value, printed], t) => {
  const gemini = await fakeGemini(t, [answer({ answer: value }), answer({ answer: value })]);
  const text = await callGmn(t, [...ASK, ...flags], { gemini, files });
  expect([text.stdout, text.stderr, text.exitCode]).toEqual([printed, '', 0]);
  expect(gemini.requests[0]?.body.questions).toEqual({ answer: question });
  const document = JSON.parse((await callGmn(t, [...ASK, ...flags, '-o', 'json'], { gemini, files })).stdout);
  const usage = { promptTokenCount: 40, candidatesTokenCount: 0, totalTokenCount: 40 };
  expect(document).toEqual({ model: 'gemini-decision-1', answers: { answer: value }, usage });
  expect(schema.validate(document)).toMatchObject({ valid: true });
});

test('a file of questions gets a line for each, and in JSON the verdicts', async (t) => {
  const questions = {
    refund: {
      type: 'noul',
      instructions: 'Money?',
      criteria: { true_description: 'wants it', false_description: 'no' },
    },
    team: { type: 'choice', instructions: 'Who?', criteria: { support: null, billing: 'Charges' } },
  };
  const answers = { refund: { type: 'noul', noul: 0.1 }, team: { type: 'choice', choice: 'billing' } };
  const gemini = await fakeGemini(t, [answer(answers), answer(answers)]);
  const given = { gemini, files: { ...files, 'q.json': JSON.stringify(questions) } };
  const words = ['decide', '--questions', 'q.json', '-f', 'in.txt'];
  expect((await callGmn(t, words, given)).stdout).toBe('refund\t0.1\nteam\tbilling\n');
  expect(gemini.requests[0]?.body.questions).toEqual(questions);
  const document = JSON.parse((await callGmn(t, [...words, '--json'], given)).stdout);
  expect(document.answers.refund).toEqual({ type: 'noul', noul: 0.1, decision: 'no' });
  expect(document).not.toHaveProperty('decision');
  expect(schema.validate(document)).toMatchObject({ valid: true });
});

/** What the service answers, the flags, what is printed, and the exit code. */
const EXITS: readonly (readonly [answer: Scripted | undefined, flags: string, seen: string, isTriedInShell?: true])[] =
  [
    [yesNo(0.93), '', '0.93 yes', true],
    [yesNo(0.7), '', '0.7 yes'],
    [yesNo(0.69), '', '0.69 11'],
    [yesNo(0.5), '', '0.5 11', true],
    [yesNo(0.31), '', '0.31 11'],
    [yesNo(0.3), '', '0.3 10'],
    [yesNo(0.01), '', '0.01 10', true],
    [yesNo(0.5), '--unsure 0', '0.5 yes'],
    [yesNo(0.49), '--unsure 0', '0.49 10'],
    [yesNo(0.94), '--threshold 0.9', '0.94 11'],
    [yesNo(0.95), '--threshold 0.9', '0.95 yes'],
    [yesNo(0.85), '--threshold 0.9', '0.85 10'],
    // An error is never a no, nor a yes.
    [json({ prompt_feedback: { block_reason: 'SAFETY' }, usage: USAGE }), '', ' 3', true],
    [answer({}), '', ' 3', true],
    [json({}), '', ' 3'],
    [answer({ answer: { type: 'maybe', noul: 0.1 } }), '', ' 3', true],
    [answer({ answer: { type: 'choice', choice: 'no' } }), '', ' 3'],
    [answer({ answer: { type: 'noul', noul: 7 } }), '', ' 3'],
    [answer({ answer: { type: 'noul', noul: '0.1' } }), '', ' 3'],
    [failure(429, 'RESOURCE_EXHAUSTED'), '--retries 0', ' 3'],
    [failure(503, 'UNAVAILABLE'), '--retries 0', ' 3'],
    [failure(400, 'INVALID_ARGUMENT'), '', ' 3'],
    [(response) => void response.destroy(), '--retries 0', ' 3'],
    [failure(401, 'UNAUTHENTICATED'), '', ' 2', true],
    [undefined, '--threshold 2', ' 1', true],
    [undefined, '--choice a,b', ' 1'],
    [undefined, '-f missing.txt', ' 1'],
    [undefined, '--backend vertex', ' 1'],
  ];

test('every answer and every error has its exit code, and no error has that of a no', async (t) => {
  const script = EXITS.flatMap(([scripted]) => (scripted === undefined ? [] : [scripted]));
  const at = place(t, { gemini: await fakeGemini(t, script), files });
  const seen: string[] = [];
  for (const [, flags] of EXITS) {
    const words = ['decide', '--exit-code', ...flags.split(' ').filter(Boolean), '-f', 'in.txt', 'a refund?'];
    const { stdout, exitCode } = await callGmnIn(t, at, words);
    seen.push(`${stdout.trimEnd()} ${exitCode === 0 ? 'yes' : exitCode}`);
  }
  expect(seen).toEqual(EXITS.map(([, , each]) => each));
});

posixTest('an if of the shell can tell them', async (t) => {
  const tried = EXITS.filter(([, , , isTried]) => isTried);
  const script = tried.flatMap(([scripted]) => (scripted === undefined ? [] : [scripted]));
  const at = place(t, { gemini: await fakeGemini(t, script), files });
  const lines = tried.map(
    ([, flags]) =>
      `if out=$(${GMN_LINE} decide --exit-code ${flags} -f in.txt 'a refund?' 2>>err); then echo "$out yes"; else echo "$out $?"; fi`,
  );
  const { stdout } = await runShell(t, at, lines.join('\n'));
  expect(stdout.split('\n').slice(0, -1)).toEqual(tried.map(([, , seen]) => seen));
  const said = readFileSync(join(at.cwd, 'err'), 'utf8');
  expect(said).toContain('prompt blocked: SAFETY');
  expect(said).toContain('the server sent no answer to "answer"');
  expect(said).toContain('the server sent an answer of the type maybe to "answer", which is a noul');
  expect(said).not.toContain('\n    at ');
});

posixTest('a reader that went away does not turn a no into a yes', async (t) => {
  const at = place(t, { gemini: await fakeGemini(t, [yesNo(0.02)]), files });
  const line = `(sleep 0.2; ${GMN_LINE} decide --exit-code -f in.txt 'x?'; echo $? >code) | true; while ! [ -s code ]; do sleep 0.05; done; cat code`;
  expect((await runShell(t, at, line)).stdout).toBe('10\n');
});

const many = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`q${at}`, { type: 'noul', instructions: 'x' }]));
const question = (fields: object): object => ({ q: { instructions: 'x', ...fields } });

test.for([
  [{}, 'there is no question'],
  [[], 'the questions are not an object'],
  [many(1001), 'there are 1001 questions, and at most 1000 are possible'],
  [{ 'a b': { type: 'noul', instructions: 'x' } }, '"a b" is no id'],
  [{ ['x'.repeat(65)]: { type: 'noul', instructions: 'x' } }, 'is no id'],
  [question({ type: 'yesno' }), '"type" is noul (yes or no), choice or score, not "yesno"'],
  [question({}), 'not null'],
  [{ q: { type: 'noul', instructions: ' ' } }, '"instructions" say what is asked'],
  [question({ type: 'noul', critera: {} }), '"critera" is not a field of a question'],
  [question({ type: 'noul', criteria: { yes: 'x' } }), '"criteria" of a noul'],
  [question({ type: 'choice' }), '"criteria" of a choice are its options'],
  [question({ type: 'choice', criteria: { a: null } }), 'it has 1 options, and needs 2 to 255'],
  [
    question({ type: 'choice', criteria: { a: null, ' b': null } }),
    'the option " b" is empty, or has spaces around it',
  ],
  [question({ type: 'choice', criteria: { a: null, ['x'.repeat(129)]: null } }), 'is longer than 128 characters'],
  [question({ type: 'choice', criteria: { a: null, b: 1 } }), 'the option "b" has no text, nor null'],
  [question({ type: 'score', criteria: ['a'] }), 'it has 1 levels'],
  [question({ type: 'score', criteria: ['a', ''] }), 'a level is empty'],
  [question({ type: 'score', criteria: Array.from({ length: 256 }, String) }), 'it has 256 levels'],
] as const)('questions beyond a limit are exit 1, and nothing is sent: %#', async ([questions, message], t) => {
  const given = { script: [], files: { ...files, 'q.json': JSON.stringify(questions) } };
  const gmn = await callGmn(t, ['decide', '--questions', 'q.json', '-f', 'in.txt'], given);
  expect(gmn).toMatchObject({ stdout: '', stderr: expect.stringContaining(message), exitCode: 1 });
});

test.for([
  [['decide', '-f', 'in.txt'], 'no question given'],
  [['decide', 'x?'], 'there is nothing to decide about'],
  [['decide', 'x?', '-f', 'in.txt', '--questions', 'in.txt'], '--questions cannot be combined with another question'],
  [['decide', '-f', 'in.txt', '--questions', 'in.txt'], '--questions: in.txt is not JSON'],
  [[...ASK, '--choice', 'a,b', '--score', 'a,b'], '--choice cannot be combined with --score'],
  [[...ASK, '--choice', 'a,b,a'], 'the option "a" is there twice'],
  [[...ASK, '--choice', 'a'], 'it has 1 options'],
  [[...ASK, '--choice', 'a,b', '--threshold', '0.5'], '--threshold is for a question that is answered with yes or no'],
  [[...ASK, '--score', 'a,b', '--exit-code'], '--exit-code needs one question that is answered with yes or no'],
  [[...ASK, '--threshold', '0.9', '--unsure', '0.2'], 'nothing could be a yes'],
  [[...ASK, '--threshold', '0.1', '--unsure', '0.1'], 'nothing could be a no'],
  [[...ASK, '--unsure', '-1'], '--unsure: -1 is not between 0 and 1'],
  [['batch', 'in.txt', '--choice', 'a,b', '--output-file', 'out.jsonl'], '--choice needs --decide'],
  [
    ['batch', 'in.txt', '--decide', 'is {{city}} large?', '--output-file', 'o'],
    '--decide: {{…}} is not filled in: the question is the same for all rows',
  ],
  [
    ['batch', 'in.txt', '--decide', 'x', '--engine', 'api', '--output-file', 'o'],
    '--decide cannot be combined with --engine api',
  ],
  [
    ['batch', 'in.txt', '--decide', 'x', '--system', 'y', '--output-file', 'o'],
    '--decide cannot be combined with --system',
  ],
] as const)('%j is a usage error', async ([words, message], t) => {
  const gmn = await callGmn(t, words, { script: [], files });
  expect(gmn).toMatchObject({ stdout: '', stderr: expect.stringContaining(message), exitCode: 1 });
});

test('an input that no window holds is refused before it is sent', async (t) => {
  const gmn = await callGmn(t, ASK, { script: [], files: { 'in.txt': 'x '.repeat(1_100_000) } });
  expect(gmn).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('too many to decide about at once') });
});

test.for([
  ['Vertex AI', { GOOGLE_API_KEY: 'test-key-0123456789', GOOGLE_GENAI_USE_VERTEXAI: 'true' }, {}],
  [
    'Code Assist',
    { CODE_ASSIST_ENDPOINT: 'http://127.0.0.1:9' },
    {
      '.gemini/oauth_creds.json': signInFile(),
      '.gemini/settings.json': '{"security":{"auth":{"selectedType":"oauth-personal"}}}',
    },
  ],
] as const)('%s has no decisions: exit 2 with the way out', async ([name, env, home], t) => {
  for (const words of [ASK, ['batch', 'in.txt', '--lines', '--decide', 'x?', '--output-file', 'out.jsonl']]) {
    const gmn = await callGmn(t, words, { env, home, files });
    expect(gmn).toMatchObject({ stdout: '', exitCode: 2 });
    expect(gmn.stderr).toContain(`Error: ${name}`);
    expect(gmn.stderr).toContain('Use an API key: gmn auth set-key');
  }
});

test("gmn's own key is not sent, and a dry run sends nothing", async (t) => {
  const key = 'test-key-0123456789';
  const secret = { 'in.txt': `GEMINI_API_KEY=${key}\n` };
  const { requests } = await callGmn(t, ASK, { script: [yesNo(0.5)], files: secret });
  expect(requests[0]?.text).not.toContain(key);
  const preview = await callGmn(t, [...ASK, '--dry-run'], { script: [], files: secret });
  expect(JSON.parse(preview.stdout)).toMatchObject({ method: 'POST', body: { model: 'gemini-decision-1' } });
  expect(preview.stdout).not.toContain(key);
});

test('errors are JSON beside -o json, and a price that is set makes a cost', async (t) => {
  const home = { '.gmn/config.json': '{"prices":{"gemini-decision-1":{"input":0.5}}}' };
  const at = place(t, { gemini: await fakeGemini(t, [answer({}), yesNo(0.9)]), files, home });
  const failed = await callGmnIn(t, at, [...ASK, '-o', 'json', '--exit-code']);
  expect(JSON.parse(failed.stdout)).toMatchObject({ error: { code: 3, type: 'ApiError' } });
  const { stdout } = await callGmnIn(t, at, [...ASK, '-o', 'json']);
  expect(JSON.parse(stdout)).toMatchObject({ decision: 'yes', cost: 0.00002 });
  const { stdout: usage } = await callGmnIn(t, at, ['usage', '--by', 'model', '--json']);
  expect(JSON.parse(usage).rows).toMatchObject([{ model: 'gemini-decision-1', cost: 0.00002 }]);
});

test('the demo decides the same about the same, and can fail in every way', async (t) => {
  const words = ['--demo', ...ASK];
  const first = await callGmn(t, words, { files });
  expect(first.stdout).toMatch(/^0\.\d+\n$/);
  expect((await callGmn(t, words, { files })).stdout).toBe(first.stdout);
  const other = await callGmn(t, words, { files: { 'in.txt': 'ありがとう\n' } });
  expect(other.stdout).not.toBe(first.stdout);
});

test('a batch decides about every row, and the questions belong to the run', async (t) => {
  const decide: Scripted = (response, { body }) => {
    const [{ text }] = body.input;
    return text === 'odd'
      ? json({ answers: {}, usage: USAGE })(response, {} as never)
      : yesNo(text.length / 10)(response, {} as never);
  };
  const rows = [
    '"12345678"',
    '{"id":"low","prompt":"1"}',
    '{"id":"odd","prompt":"odd"}',
    '{"id":"c","contents":[{"role":"user","parts":[{"text":"x"}]}]}',
  ];
  const graded = '{"id":"g","response":"1234567","model":"gemini-2.5-flash","usage":{"totalTokenCount":3}}';
  const gemini = await fakeGemini(t, decide);
  const at = place(t, { gemini, files: { 'in.jsonl': rows.join('\n'), 'graded.jsonl': graded } });
  const run = ['batch', 'in.jsonl', '--decide', 'long?', '--output-file', 'out.jsonl'];
  const gmn = await callGmnIn(t, at, run);
  expect(gmn.exitCode).toBe(3);
  const lines = parseLines(readFileSync(join(at.cwd, 'out.jsonl'), 'utf8')).toSorted((a, b) => a.index - b.index);
  expect(lines).toMatchObject([
    {
      ok: true,
      json: { type: 'noul', noul: 0.8, decision: 'yes' },
      model: 'gemini-decision-1',
      usage: { promptTokenCount: 40 },
    },
    { id: 'low', ok: true, json: { noul: 0.1, decision: 'no' } },
    { id: 'odd', ok: false, error: { code: 3, message: 'API error: the server sent no answer to "answer"' } },
    { id: 'c', ok: false, error: { code: 1, message: 'the row has "contents", which cannot be decided about' } },
  ]);
  const changed = await callGmnIn(t, at, [...run.slice(0, 3), 'short?', ...run.slice(4)]);
  expect(changed).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('the questions') });
  // What another run answered can be graded: its fields fill -p, and its model is not asked.
  const grade = ['batch', 'graded.jsonl', '--decide', 'good?', '-p', '{{response}}', '--output-file', 'grades.csv'];
  expect((await callGmnIn(t, at, grade)).exitCode).toBe(0);
  const [header, row] = readFileSync(join(at.cwd, 'grades.csv'), 'utf8').split('\n');
  expect(header).toContain('type,noul,confidence,decision');
  expect(row).toContain('noul,0.7,0.9,yes');
});

test('--max-cost needs a price of the model that decides', async (t) => {
  const at = place(t, { gemini: await fakeGemini(t, []), files: { 'in.jsonl': '"a"\n' } });
  const words = ['batch', 'in.jsonl', '--decide', 'x?', '--output-file', 'out.jsonl', '--max-cost', '1'];
  const gmn = await callGmnIn(t, at, words);
  expect(gmn).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('the price of gemini-decision-1 is not known'),
  });
});

test('the quota of the day stops a batch at once, whatever the column `model` of its rows says', async (t) => {
  const violations = [{ quotaId: 'GenerateRequestsPerDayPerProject' }];
  const details = [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations }];
  const gemini = await fakeGemini(t, failure(429, 'RESOURCE_EXHAUSTED', 'Slow.', details));
  const rows = Array.from({ length: 30 }, (_, at) => JSON.stringify({ prompt: `row ${at}`, model: 'a car' }));
  const at = place(t, { gemini, files: { 'in.jsonl': rows.join('\n') } });
  const words = ['batch', 'in.jsonl', '--decide', 'x?', '--concurrency', '1', '--output-file', 'out.jsonl'];
  const gmn = await callGmnIn(t, at, words);
  expect(gmn).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('daily quota exceeded') });
  expect(gemini.requests).toHaveLength(1);
});
