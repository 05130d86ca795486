import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Validator } from '@cfworker/json-schema';
import { expect, test } from 'vitest';
import { readRows } from '../../src/batch/rows/input.ts';
import type { Row } from '../../src/batch/rows/row.ts';
import { answerEach, fakeGemini } from '../support/gemini.ts';
import { callGmnIn, parseLines, place } from '../support/gmn.ts';

const ECHO = answerEach((prompt) => `re: ${prompt}`);
const OUT = ['--output-file', 'out.jsonl'];

test('a line has the row it answers, unless that is left out, and is as its schema says', async (t) => {
  const server = await fakeGemini(t, ECHO);
  const schema = new Validator(
    JSON.parse(readFileSync(new URL('../../docs/schemas/batch.schema.json', import.meta.url), 'utf8')),
    '2020-12',
  );
  const rows = ['{"id":"a","prompt":"one","city":"Rome"}', '"two"', 'no JSON', '{"id":"a","prompt":"twice"}'];
  const files = { 'in.jsonl': `${rows.join('\n')}\n` };
  const setting = place(t, { gemini: server, files, env: { GEMINI_API_KEY: 'a-key-0123456789' } });
  const batch = (...words: string[]) => callGmnIn(t, setting, ['batch', 'in.jsonl', '--ordered', ...OUT, ...words]);
  await batch('--limit', '3');
  const [first, second, third] = parseLines(readFileSync(join(setting.cwd, 'out.jsonl'), 'utf8'));
  expect(first.input).toEqual({ id: 'a', prompt: 'one', city: 'Rome' });
  expect(second.input).toEqual({ id: second.id, prompt: 'two' });
  expect(third).toMatchObject({ ok: false, input: 'no JSON' });
  await batch('--no-input');
  const lines = parseLines(readFileSync(join(setting.cwd, 'out.jsonl'), 'utf8'));
  expect(lines.map((line) => 'input' in line)).toEqual([true, true, true, false]);
  for (const line of lines) expect(schema.validate(line)).toMatchObject({ valid: true });
  expect(await callGmnIn(t, setting, ['batch', 'in.jsonl', '--output-file', 'out.csv', '--no-input'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('--no-input: a table has the columns of its rows'),
  });
});

test('context files are for rows with --context only, and one that changes is named', async (t) => {
  const server = await fakeGemini(t, ECHO);
  const home = { '.gemini/GEMINI.md': 'Answer in Latin.' };
  const setting = place(t, { gemini: server, home, files: { 'in.jsonl': '"a"\n"b"\n' } });
  const note = join(setting.home, '.gmn', 'AGENTS.md');
  const batch = (...words: string[]) => callGmnIn(t, setting, ['batch', 'in.jsonl', ...words]);
  expect((await batch('--limit', '1', '--output-file', 'plain.jsonl')).exitCode).toBe(0);
  expect(
    (await batch('--limit', '1', '--output-file', 'told.jsonl', '--context', '--system', 'Be brief.')).exitCode,
  ).toBe(0);
  expect(server.requests.map(({ body }) => JSON.stringify(body.systemInstruction ?? '').includes('Latin'))).toEqual([
    false,
    true,
  ]);
  writeFileSync(note, 'A note that # has written.');
  expect((await batch('--output-file', 'plain.jsonl')).exitCode).toBe(0);
  const told = (...words: string[]) => batch('--output-file', 'told.jsonl', '--context', '--system', ...words);
  expect(await told('Be brief.')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(
      /made with other settings: the context file \S*AGENTS\.md was not used then, and is used now\n/,
    ),
  });
  rmSync(note);
  writeFileSync(join(setting.home, '.gemini', 'GEMINI.md'), 'Answer in Greek.');
  expect((await told('Be long.')).stderr).toMatch(
    /other settings: the system instruction has changed; the context file \S*GEMINI\.md has changed\n/,
  );
  writeFileSync(join(setting.home, '.gemini', 'GEMINI.md'), 'Answer in Latin.');
  expect((await told('Be brief.')).exitCode).toBe(0);
});

/** What iconv makes of あ大,東京 and café,“Rome”, in the encodings of Excel. */
const TABLES = {
  shift_jis: { text: 'あ大,東京', bytes: Buffer.from('82a091e52c938c8b9e', 'hex') },
  'windows-1252': { text: 'café,“Rome”', bytes: Buffer.from('636166e92c93526f6d6594', 'hex') },
} as const;

test.for(Object.entries(TABLES))(
  'a CSV in %s is said to be no UTF-8, and is read with --encoding',
  async ([name, { text, bytes }], t) => {
    const server = await fakeGemini(t, ECHO);
    const line = Buffer.from('\r\n');
    const setting = place(t, {
      gemini: server,
      files: { 'in.csv': Buffer.concat([Buffer.from('a,b'), line, bytes, line]) },
    });
    const words = ['batch', 'in.csv', '-p', '{{a}} in {{b}}?', '--output-file', 'out.csv'];
    expect(await callGmnIn(t, setting, words)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/^Error: in\.csv is not UTF-8\nSay what it is: --encoding windows-1252.*shift_jis/),
    });
    expect(server.requests).toHaveLength(0);
    expect((await callGmnIn(t, setting, [...words, '--encoding', name])).exitCode).toBe(0);
    const [a, b] = text.split(',');
    expect(server.requests[0]?.prompt).toBe(`${a} in ${b}?`);
    // With a mark, so that the same spreadsheet reads what comes back.
    expect(readFileSync(join(setting.cwd, 'out.csv'), 'utf8')).toMatch(
      new RegExp(`^\ufeffa,b,response,ok,error,model,cost\\n${a},`),
    );
  },
);

test('a character that is cut between two reads is whole, in every encoding', async () => {
  for (const [encoding, { text, bytes }] of Object.entries(TABLES)) {
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const pieces = [Buffer.from('a,b\n'), bytes.subarray(0, cut), bytes.subarray(cut)];
      const rows: Row[] = [];
      for await (const row of readRows(Readable.from(pieces), { format: 'csv', name: 'x', encoding })) rows.push(row);
      expect(
        rows.map(({ line }) =>
          Object.values(JSON.parse(line ?? ''))
            .slice(0, 2)
            .join(),
        ),
      ).toEqual([text]);
    }
  }
});

test('a table in UTF-8 of which a row is damaged fails in that row alone, and what is not in the encoding named is refused', async (t) => {
  const server = await fakeGemini(t, ECHO);
  const damaged = Buffer.concat([Buffer.from('a\ncafé\nthé\n'), Buffer.from([0x63, 0xe9, 10])]);
  const setting = place(t, { gemini: server, files: { 'in.csv': damaged } });
  const words = ['batch', 'in.csv', '-p', '{{a}}?', ...OUT];
  expect(await callGmnIn(t, setting, words)).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining('1 failed'),
  });
  const lines = parseLines(readFileSync(join(setting.cwd, 'out.jsonl'), 'utf8'));
  expect(lines.find(({ ok }) => !ok).error.message).toBe('row 3 is not UTF-8');
  writeFileSync(join(setting.cwd, 'in.csv'), Buffer.from([0x61, 10, 0x82, 10]));
  const { exitCode, stderr } = await callGmnIn(t, setting, [...words, '--restart', '--encoding', 'shift_jis']);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('in.csv is not valid SHIFT_JIS')]);
});
