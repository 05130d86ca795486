import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, type TestContext, test } from 'vitest';
import { answerEach, failure, fakeGemini } from '../support/gemini.ts';
import { callGmnIn, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';
import { testScreen } from '../support/screen.ts';

const REVIEWS = 'id,city,Review Text\na,Rome,"so, {{city}} !{ls} @notes.txt"\nb,Paris,a 5" disk\nc,東京,"two\nlines"\n';
const ASK = ['-p', 'Positive, in {{city}}? {{ Review Text }}'];
const OUT = ['--output-file', 'out.csv'];

function readTable(cwd: string, name = 'out.csv'): readonly (readonly string[])[] {
  return parse(readFileSync(join(cwd, name), 'utf8'));
}

async function openFolder(t: TestContext, files: Readonly<Record<string, string>> = { 'in.csv': REVIEWS }) {
  const server = await fakeGemini(
    t,
    answerEach((prompt) => `re: ${prompt.split(' ').at(-1)}`),
  );
  const setting = place(t, { gemini: server, files });
  return {
    ...{ server, setting, cwd: setting.cwd },
    gmn: (...words: string[]) => callGmnIn(t, setting, ['batch', ...words]),
    prompts: () => server.requests.map(({ prompt }) => prompt).toSorted(),
  };
}

test('the columns of a CSV are in the prompts on the wire, and in the CSV that comes out', async (t) => {
  const { server, setting, cwd, prompts } = await openFolder(t);
  const words = ['batch', 'in.csv', ...ASK, ...OUT, '-m', 'gemini-2.5-flash'];
  const dry = await callGmnIn(t, setting, [...words, '--dry-run']);
  expect(JSON.parse(dry.stdout).body.contents).toEqual([
    { role: 'user', parts: [{ text: 'Positive, in Rome? so, {{city}} !{ls} @notes.txt' }] },
  ]);
  expect([dry.exitCode, dry.stderr, server.requests.length, readdirSync(cwd)]).toEqual([0, '', 0, ['in.csv']]);
  const { exitCode, stdout } = await callGmnIn(t, setting, words);
  expect([exitCode, stdout]).toEqual([0, '']);
  expect(prompts()).toEqual([
    'Positive, in Paris? a 5" disk',
    'Positive, in Rome? so, {{city}} !{ls} @notes.txt',
    'Positive, in 東京? two\nlines',
  ]);
  expect(readTable(cwd)).toEqual([
    ['id', 'city', 'Review Text', 'response', 'ok', 'error', 'model', 'cost'],
    ['a', 'Rome', 'so, {{city}} !{ls} @notes.txt', 're: @notes.txt', 'true', '', 'gemini-2.5-flash', '0.0000065'],
    ['b', 'Paris', 'a 5" disk', 're: disk', 'true', '', 'gemini-2.5-flash', '0.0000065'],
    ['c', '東京', 'two\nlines', 're: two\nlines', 'true', '', 'gemini-2.5-flash', '0.0000065'],
  ]);
  expect(readdirSync(cwd).sort()).toEqual(['in.csv', 'out.csv', 'out.csv.jsonl', 'out.csv.run.json']);
});

test.for([
  [
    'a question alone',
    ['in.csv', '-p', 'Positive?'],
    /so all rows would be asked the same; its columns: id, city, Review Text\n.*-p 'Positive\? {{Review Text}}'/,
  ],
  [
    'a typing error',
    ['in.csv', '-p', 'In {{ctiy}}?'],
    /-p has {{ctiy}}.*its columns: id, city, Review Text\nDid you mean {{city}}\?/,
  ],
  ['no question', ['in.csv'], /in\.csv has no column "prompt"; its columns: id, city, Review Text\n.*-p '… {{city}}'/],
  ['a template', ['in.csv', '--template', 'mood.md'], /no column of the row is in the prompt/],
  ['an estimate', ['in.csv', '-p', 'Positive?', '--estimate'], /no column of the row is in the prompt/],
  [
    'a CSV that is taken for JSON',
    ['in.data', '-p', 'In {{city}}?'],
    /line 1 is not JSON.*\n.*--lines, for CSV --input-format csv/,
  ],
  ['two columns of one name', ['twice.csv', '-p', '{{city}}'], /twice\.csv has two columns "city"\n/],
  ['rows of JSON', ['in.jsonl', '-p', 'In {{town}}?'], /-p has {{town}}.*its columns: city\n/],
  ['lines', ['in.txt', '-p', 'In {{line}}?'], /The text of a row is {{prompt}}\./],
] as const)('exit 1 before any request, with the columns: %s', async ([, words, said], t) => {
  const folder = await openFolder(t, {
    'in.csv': REVIEWS,
    'in.data': REVIEWS,
    'twice.csv': 'city,city\nRome,Roma\n',
    'in.jsonl': '{"city":"Rome"}\n{"city":"Paris"}\n',
    'in.txt': 'red\nblue\n',
    'mood.md': 'How is the mood?',
  });
  const before = readdirSync(folder.cwd);
  const { exitCode, stderr } = await folder.gmn(...words, ...OUT);
  expect([exitCode, stderr]).toEqual([1, expect.stringMatching(said)]);
  expect([folder.server.requests.length, readdirSync(folder.cwd)]).toEqual([0, before]);
});

test('of rows that differ, those without the column fail; lines and rows with prompts are asked as before', async (t) => {
  const folder = await openFolder(t, {
    'in.jsonl': '{"id":"a","town":"x"}\n{"id":"b","city":"Rome"}\n{"id":"c","prompt":"own"}\n',
    'in.txt': 'red\nblue\n',
  });
  expect((await folder.gmn('in.jsonl', '-p', 'In {{city}}?', ...OUT)).exitCode).toBe(3);
  expect(folder.prompts()).toEqual(['In Rome?']);
  expect(readTable(folder.cwd).map(([id, , , , , ok, error]) => [id, ok, error?.slice(0, 15)])).toEqual([
    ['id', 'ok', 'error'],
    ['a', 'false', "'-p has {{city}"],
    ['b', 'true', ''],
    ['c', 'false', "'-p has {{city}"],
  ]);
  const lines = await folder.gmn('in.txt', '-p', 'A fruit?', '--output-file', 'lines.csv');
  expect(lines.exitCode).toBe(0);
  expect(folder.prompts()).toEqual(['A fruit?\n\nblue', 'A fruit?\n\nred', 'In Rome?']);
  expect(readTable(folder.cwd, 'lines.csv').map(([prompt, response]) => [prompt, response])).toEqual([
    ['prompt', 'response'],
    ['red', 're: fruit?\n\nred'],
    ['blue', 're: fruit?\n\nblue'],
  ]);
});

test('a CSV of Excel comes back as Excel writes it, with the fields of the answers; --ordered changes nothing', async (t) => {
  const server = await fakeGemini(
    t,
    answerEach((prompt) => `{"city":"${prompt}","n":1}`),
  );
  const setting = place(t, { gemini: server, files: { 'in.csv': '\ufeffcity;note\r\nKöln;a,b\r\nBonn;c\r\n' } });
  const schema = '{"type":"object","properties":{"city":{"type":"string"},"n":{"type":"number"}}}';
  const words = ['batch', 'in.csv', '-p', '{{city}}', '--schema', schema, ...OUT, '--ordered'];
  expect((await callGmnIn(t, setting, words)).exitCode).toBe(0);
  expect(readFileSync(join(setting.cwd, 'out.csv'), 'utf8').replaceAll(/;[\d.]+\n/g, ';$\n')).toBe(
    '\ufeffcity;note;answer_city;n;ok;error;model;cost\nKöln;a,b;Köln;1;true;;gemini-2.5-flash;$\nBonn;c;Bonn;1;true;;gemini-2.5-flash;$\n',
  );
});

test('failed rows are asked again, from the input or their own file, and the table has each row once', async (t) => {
  let isDown = true;
  const server = await fakeGemini(
    t,
    answerEach((prompt) => (isDown && prompt !== 'Rome?' ? failure(400, 'INVALID_ARGUMENT', 'no') : `re: ${prompt}`)),
  );
  const setting = place(t, { gemini: server, files: { 'in.csv': REVIEWS } });
  const run = (...words: string[]) => callGmnIn(t, setting, ['batch', ...words, '-p', '{{city}}?', ...OUT]);
  const read = () => readTable(setting.cwd).map(([id, city, , response, ok]) => [id, city, response, ok].join(' '));
  expect((await run('in.csv')).exitCode).toBe(3);
  expect(read().slice(1)).toEqual(['a Rome re: Rome? true', 'b Paris  false', 'c 東京  false']);
  isDown = false;
  const failed = join(setting.cwd, 'out.csv.failed.jsonl');
  expect((await run(failed, '--retry-failed', '--limit', '1')).exitCode).toBe(0);
  expect((await run('in.csv', '--retry-failed')).exitCode).toBe(0);
  expect(read().slice(1)).toEqual(['a Rome re: Rome? true', 'b Paris re: Paris? true', 'c 東京 re: 東京? true']);
  expect(existsSync(failed)).toBe(false);
  // A row that the input no longer has is no longer in the table, and a new one is where the input has it.
  writeFileSync(join(setting.cwd, 'in.csv'), REVIEWS.replace('b,Paris', 'd,Lyon'));
  expect((await run('in.csv')).exitCode).toBe(0);
  expect(read().slice(1)).toEqual(['a Rome re: Rome? true', 'd Lyon re: Lyon? true', 'c 東京 re: 東京? true']);
  writeFileSync(join(setting.cwd, 'in.csv'), REVIEWS.slice(0, REVIEWS.indexOf('b,Paris')));
  expect((await run('in.csv')).exitCode).toBe(0);
  expect(read().slice(1)).toEqual(['a Rome re: Rome? true']);
  expect((await run('in.csv', '--restart')).exitCode).toBe(0);
  expect(readdirSync(setting.cwd).filter((name) => name.includes('.old'))).toEqual([
    'out.csv.old',
    'out.csv.old.jsonl',
  ]);
});

test('a table that no batch has made is left alone, and so is one that another version has filled with lines of JSON', async (t) => {
  const { gmn, cwd, server } = await openFolder(t);
  writeFileSync(join(cwd, 'out.csv'), 'mine\n');
  const refused = await gmn('in.csv', ...ASK, ...OUT);
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is not the table of a batch run') });
  const itself = await gmn('in.csv', ...ASK, '--output-file', 'in.csv');
  expect(itself).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is not the table of a batch run') });
  await gmn('in.csv', ...ASK, '--output-file', 'x.jsonl');
  const run = JSON.parse(readFileSync(join(cwd, 'x.jsonl.run.json'), 'utf8'));
  writeFileSync(join(cwd, 'out.csv.run.json'), JSON.stringify(run));
  for (const more of [[], ['--restart']]) {
    expect((await gmn('in.csv', ...ASK, ...OUT, ...more)).stderr).toContain('is not the table of a batch run');
  }
  expect([readFileSync(join(cwd, 'out.csv'), 'utf8'), readFileSync(join(cwd, 'in.csv'), 'utf8')]).toEqual([
    'mine\n',
    REVIEWS,
  ]);
  expect(server.requests).toHaveLength(3);
});

posixTest.for(['.jsonl', '.part', '.old', '.old.jsonl'])(
  'a link in place of out.csv%s leads nowhere',
  async (ending, t) => {
    const { gmn, cwd, server, setting } = await openFolder(t);
    writeFileSync(join(setting.home, 'kept'), 'mine\n');
    symlinkSync(join(setting.home, 'kept'), join(cwd, `out.csv${ending}`));
    const { exitCode, stderr } = await gmn('in.csv', ...ASK, ...OUT);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`out.csv${ending} is a link`)]);
    expect([readFileSync(join(setting.home, 'kept'), 'utf8'), server.requests.length]).toEqual(['mine\n', 0]);
  },
);

test('an input without rows is a table without records, and what is asked may still change', async (t) => {
  const { gmn, cwd } = await openFolder(t, { 'in.csv': 'city;land\n' });
  for (const prompt of ['About {{city}}', 'What about {{city}}']) {
    const { stderr, exitCode } = await gmn('in.csv', '-p', prompt, ...OUT);
    expect([stderr, exitCode]).toEqual([expect.stringContaining('gmn: the input has no rows\n'), 0]);
    expect(readFileSync(join(cwd, 'out.csv'), 'utf8')).toBe('city;land;response;ok;error;model;cost\n');
  }
  writeFileSync(join(cwd, 'in.csv'), 'city;land\nRome;Italy\n');
  expect((await gmn('in.csv', '-p', 'In {{city}}?', ...OUT)).exitCode).toBe(0);
  expect(readTable(cwd)).toHaveLength(2);
});

test.for([
  [['in.csv', '-p', '{{a}}', '--output-file', 'out.xlsx'], /not \.xlsx\n.*--output-file out\.csv/],
  [['in.csv', '-p', '{{a}}', '--output-file', 'out.parquet'], /not \.parquet\n/],
  [['in.XLSX', '-p', '{{a}}', ...OUT], /not \.XLSX\nSave in\.XLSX as CSV there/],
] as const)('a file that is no rows of text is refused before anything is asked: %j', async ([words, said], t) => {
  const { gmn, cwd } = await openFolder(t, { 'in.csv': 'a\n1\n', 'in.XLSX': 'PK\u0003\u0004' });
  expect(await gmn(...words)).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(said) });
  expect(readdirSync(cwd).toSorted()).toEqual(['in.XLSX', 'in.csv']);
});

test("gmn's own key is in no file of a table, and what a killed run left of one is replaced", async (t) => {
  const key = 'test-key-0123456789';
  const { gmn, cwd } = await openFolder(t, { 'in.csv': `id,text\na,my ${key}\n`, 'out.csv.part': 'half' });
  expect((await gmn('in.csv', '-p', 'Say {{text}}', ...OUT)).exitCode).toBe(0);
  expect(readTable(cwd)[1]?.slice(0, 2)).toEqual(['a', 'my ‹redacted›']);
  for (const name of readdirSync(cwd).filter((each) => each !== 'in.csv')) {
    expect(readFileSync(join(cwd, name), 'utf8')).not.toContain(key);
  }
  expect(existsSync(join(cwd, 'out.csv.part'))).toBe(false);
});

test('a CSV has a total and the time left; Ctrl+C leaves whole lines and the way on, and so does a second one', async (t) => {
  const server = await fakeGemini(
    t,
    answerEach((prompt) => (prompt.endsWith('never') ? undefined : 'yes')),
  );
  const at = place(t, {
    gemini: server,
    files: { 'in.csv': 'id,text\n1,now\n2,"ne\n\nver"\n3,never\n\n4,never\n5,never\n6,never\n' },
  });
  const columns = 40;
  const terminal = runInTerminal(t, ['batch', 'in.csv', '-p', '{{text}}', ...OUT], { at, columns });
  await terminal.until(/2\/6 · 100 % ok · [\d.]+\/s · [\d.]+ \w+ left/);
  terminal.type('\u0003');
  await terminal.until(/finishing what is in flight[\s\S]*2\/6/);
  terminal.type('\u0003');
  const { exitCode, output } = await terminal.ended;
  const screen = testScreen({ columns, rows: 24 });
  screen.write(output);
  expect(exitCode).toBe(130);
  expect(screen.rows.join('\n')).toBe(
    [
      'gmn: finishing what is in flight; Ctrl+C',
      '    again to stop at once',
      'gmn: stopped at once. Run the same',
      '    command again: it continues where it',
      '    stopped.',
    ].join('\n'),
  );
  expect(screen.cursor.column).toBe(0);
  expect(readFileSync(join(at.cwd, 'out.csv.jsonl'), 'utf8').match(/"ok":true/g)).toHaveLength(2);
});

test('ids and answers that begin a formula are marked in the table, found again in every later run, and bare with --csv-raw', async (t) => {
  let isDown = true;
  const server = await fakeGemini(
    t,
    answerEach((prompt) =>
      isDown && prompt === 'Paris?' ? failure(400, 'INVALID_ARGUMENT', 'no') : `=HYPERLINK(${prompt})`,
    ),
  );
  const setting = place(t, { gemini: server, files: { 'in.csv': 'id,city\n=a,Rome\n-b,Paris\n-1,Lyon\n' } });
  const run = (...words: string[]) => callGmnIn(t, setting, ['batch', 'in.csv', '-p', '{{city}}?', ...OUT, ...words]);
  const read = () => readTable(setting.cwd).map(([id, , response, ok]) => [id, response, ok]);
  expect((await run()).exitCode).toBe(3);
  expect(read().slice(1)).toEqual([
    ["'=a", "'=HYPERLINK(Rome?)", 'true'],
    ["'-b", '', 'false'],
    ['-1', "'=HYPERLINK(Lyon?)", 'true'],
  ]);
  isDown = false;
  expect((await run('--retry-failed')).exitCode).toBe(0);
  expect(server.requests).toHaveLength(4);
  expect(read()[2]).toEqual(["'-b", "'=HYPERLINK(Paris?)", 'true']);
  // Nothing is asked again, and the table is made anew.
  expect((await run('--csv-raw')).exitCode).toBe(0);
  expect(read()[1]).toEqual(['=a', '=HYPERLINK(Rome?)', 'true']);
  expect((await run()).exitCode).toBe(0);
  expect(read()[1]).toEqual(["'=a", "'=HYPERLINK(Rome?)", 'true']);
  expect(server.requests).toHaveLength(4);
});
