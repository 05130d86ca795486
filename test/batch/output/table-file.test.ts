import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createIdTable } from '../../../src/batch/output/id-table.ts';
import { resolveRunPaths } from '../../../src/batch/output/run-file.ts';
import { formatCsvRecord, toTableFormat, writeTable } from '../../../src/batch/output/table-file.ts';
import { countInputRows, readRows } from '../../../src/batch/rows/input.ts';
import type { CsvFormat, Row } from '../../../src/batch/rows/row.ts';

function openTable(name = 'out.csv') {
  const cwd = mkdtempSync(join(tmpdir(), 'gmn-table-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const paths = resolveRunPaths(name, cwd);
  return {
    paths,
    async write(
      lines: readonly { readonly id: string; readonly [field: string]: unknown }[],
      input?: Partial<CsvFormat>,
      isKept: (id: string) => boolean = () => true,
    ) {
      writeFileSync(paths.output, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      const format = {
        ...toTableFormat(paths.named, { delimiter: ',', hasMark: false, columns: [], ...input }),
        isRaw: input?.isRaw,
      };
      const notices = await writeTable(paths, {
        format,
        marks: markIds(lines, isKept),
        kept: KEPT,
        repeated: REPEATED,
      });
      return { notices, text: readFileSync(paths.named, 'utf8') };
    },
  };
}

const KEPT = 4;
const REPEATED = 8;

function markIds(lines: readonly { readonly id: string }[], isKept: (id: string) => boolean) {
  const marks = createIdTable();
  for (const { id } of lines) marks.set(id, (isKept(id) ? KEPT : 0) | (marks.get(id) === 0 ? 0 : REPEATED) | 1);
  return marks;
}

async function* inPieces(text: string, size: number): AsyncGenerator<Uint8Array, void> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

interface JournalLine {
  readonly id: string;
  readonly ok: boolean;
  readonly input: { readonly city: string };
  readonly response?: string;
  readonly error?: { readonly message: string };
  readonly model?: string;
}

const CELL = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom('"', ',', ';', '\t', '\r', '\n', ' ', '=', '\ufeff', 'a', 'é') }),
);
const DELIMITER = fc.constantFrom(',' as const, ';' as const, '\t' as const);

test('what a CSV reader reads from a table is what went in, and its rows are counted as they are read', async () => {
  const records = fc
    .integer({ min: 1, max: 5 })
    .chain((width) => fc.array(fc.array(CELL, { minLength: width, maxLength: width }), { minLength: 1 }));
  await fc.assert(
    fc.asyncProperty(records, DELIMITER, fc.integer({ min: 1, max: 9 }), async (cells, delimiter, size) => {
      const text = cells.map((record) => formatCsvRecord(record, delimiter)).join('');
      expect(parse(text, { delimiter, record_delimiter: '\n' })).toEqual(cells);
      const columns = (cells[0] ?? []).map((_, at) => `c${at}`);
      const format = delimiter === '\t' ? 'tsv' : 'csv';
      const table = formatCsvRecord(columns.length === 1 ? ['c0', 'c1'] : columns, delimiter) + text;
      const rows: Row[] = [];
      for await (const row of readRows(inPieces(table, size), { format, name: 'x' })) rows.push(row);
      expect(rows).toHaveLength(cells.length);
      expect(await countInputRows(inPieces(table, size), { format, name: 'x' })).toBe(cells.length);
    }),
    { numRuns: 60 },
  );
});

test('rows are counted as they are read, whatever ends a line and wherever there is a quote', async () => {
  const piece = fc.constantFrom('a', ',', '"', '""', '"x"', '"b\n"', ' ', '', '日');
  const record = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
  const text = fc
    .tuple(fc.constantFrom('\n', '\r\n', '\r'), fc.array(record, { maxLength: 6 }), fc.boolean())
    .map(([end, lines, isEnded]) => ['c0,c1', ...lines].join(end) + (isEnded ? end : ''));
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 9 }), async (csv, size) => {
      // Where quotes are left open, the reader has a row that it cannot read; what it makes of the rest is its own affair.
      fc.pre((csv.match(/"/g) ?? []).length % 2 === 0);
      let rows = 0;
      let isBroken = false;
      for await (const { input } of readRows(inPieces(csv, size), { format: 'csv', name: 'x' })) {
        rows += 1;
        isBroken ||= input instanceof Error && !/ fields?, the header has /.test(input.message);
      }
      fc.pre(!isBroken);
      expect(await countInputRows(inPieces(csv, size), { format: 'csv', name: 'x' })).toBe(rows);
    }),
    { numRuns: 200 },
  );
});

test('any rows and answers come back from the table, each row once, in the order of the input, by its last line', async () => {
  const { write } = openTable();
  const line = fc.record({ row: fc.nat(7), ok: fc.boolean(), city: CELL, response: CELL, isOther: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1 }), DELIMITER, async (lines, delimiter) => {
      const journal = lines.map(({ row, ok, city, response, isOther }, at) => ({
        // A row of the file of failed rows has another index there.
        ...{ id: `r${row}`, index: isOther && lines.findIndex((each) => each.row === row) < at ? 0 : row, ok },
        ...(ok ? { response, model: 'm' } : { error: { message: response } }),
        input: { id: `r${row}`, city },
      }));
      const { text } = await write(journal, { delimiter, columns: ['id', 'city'], isRaw: true });
      const last = new Map(journal.map((each) => [each.id, each]));
      const first = (id: string): number => journal.find((each) => each.id === id)?.index ?? 0;
      const expected = [...last.values()].sort((left, right) => first(left.id) - first(right.id));
      expect(parse(text, { delimiter: delimiter === '\t' ? ',' : delimiter, record_delimiter: '\n' })).toEqual([
        ['id', 'city', 'response', 'ok', 'error', 'model', 'cost'],
        ...expected.map(({ id, ok, input, response = '', error, model = '' }: JournalLine) => [
          ...[id, input.city, response, String(ok), error?.message ?? '', model, ''],
        ]),
      ]);
    }),
    { numRuns: 60 },
  );
});

test('the fields of an answer are columns, named so that none hides one of the row; rows that are gone are left out', async () => {
  const { write, paths } = openTable();
  const about = { model: 'gemini', cost: 0.5 };
  const lines = [
    {
      id: 'b',
      index: 1,
      ok: true,
      json: { city: 'x', tags: ['y'], error: null },
      ...about,
      input: { id: 'b', model: 'VW' },
    },
    { id: 'a', index: 0, ok: true, json: [1], ...about, input: { id: 'a', city: 'Rome', files: ['f'], model: 'Fiat' } },
    { id: 'old', index: 0, ok: true, json: { gone: 1 }, ...about, input: { id: 'old', lost: 1 } },
    { id: '3-0123456789ab', index: 2, ok: false, error: { message: 'ragged' }, input: ['c', 'Bonn', 'too', 'many'] },
    { id: '4-0123456789ab', index: 3, ok: false, error: { message: 'broken' }, input: 'not json' },
  ];
  const { text } = await write(lines, { columns: ['id', 'city'], hasMark: true }, (id) => id !== 'old');
  expect(text).toBe(
    [
      '\ufeffid,city,files,model,json,answer_city,tags,error,ok,answer_error,answer_model,cost',
      'a,Rome,"[""f""]",Fiat,[1],,,,true,,gemini,0.5',
      'b,,,VW,,x,"[""y""]",,true,,gemini,0.5',
      'c,Bonn,too,many,,,,,false,ragged,,',
      ',,,,,,,,false,broken,,',
      '',
    ].join('\n'),
  );
  expect(() => readFileSync(paths.tablePart ?? '')).toThrow('ENOENT');
});

test('a line of JSON that is a list is in no column, and one that is not UTF-8 ends it', async () => {
  const { write, paths } = openTable();
  const broken = { id: '1-0123456789ab', index: 0, ok: false, error: { message: 'broken' }, input: [1] };
  const good = { id: 'b', index: 1, ok: true, response: 'r', input: { id: 'b', prompt: 'x' } };
  const { text } = await write([broken, good]);
  expect(text).toBe('id,prompt,response,ok,error,model,cost\n,,,false,broken,,\nb,x,r,true,,,\n');
  const bytes = Buffer.from(`${JSON.stringify(good)}\n`);
  bytes[bytes.indexOf('"r"') + 1] = 0xff;
  writeFileSync(paths.output, bytes);
  const options = {
    format: toTableFormat(paths.named, undefined),
    marks: markIds([good], () => true),
    kept: KEPT,
    repeated: REPEATED,
  };
  await expect(writeTable(paths, options)).rejects.toThrow('is not UTF-8');
  expect(readFileSync(paths.named, 'utf8')).toBe(text);
});

test('ids that gmn made are no column, and a TSV has tabs', async () => {
  const row = { id: '1-0123456789ab', prompt: 'a\tb' };
  const { text } = await openTable('out.tsv').write([{ id: row.id, index: 0, ok: true, response: 'r', input: row }]);
  expect(text).toBe('prompt\tresponse\tok\terror\tmodel\tcost\n"a\tb"\tr\ttrue\t\t\t\n');
});

test.for([
  ['=1+1', true],
  ['@SUM(A1)', true],
  ['- a list', true],
  ['+cmd', true],
  ['+1,000', true],
  ['\t=1', true],
  ['-', true],
  [' =1', true],
  ['\n=1', true],
  ['\ufeff=1', true],
  ['\u00a0+1', true],
  ['＝1+1', true],
  ['－1', true],
  [' -5', false],
  ['-1+cmd|x', true],
  ['-5.5', false],
  ['-1,000.50', false],
  ['-.5e-7', false],
  ['-5%', false],
  ['fine', false],
] as const)(
  "a cell that a spreadsheet takes for a formula gets a ', in every column: %s",
  async ([cell, isFormula]) => {
    const lines = [
      { id: cell, index: 0, ok: true, response: cell, input: { id: cell, city: cell } },
      { id: 'b', index: 1, ok: false, error: { message: cell }, input: { id: 'b', city: 'x' } },
    ];
    const safe = isFormula ? `'${cell}` : cell;
    const columns = ['id', 'city'];
    const table = await openTable().write(lines, { columns });
    expect(parse(table.text, { relax_column_count: true }).map((row) => row.slice(0, 5))).toEqual([
      [...columns, 'response', 'ok', 'error'],
      [safe, safe, safe, 'true', ''],
      ['b', 'x', '', 'false', safe],
    ]);
    const said = expect.stringMatching(/^2 records of the table have cells .* got a ' before them/);
    expect(table.notices).toEqual(isFormula ? [said] : []);
    const raw = await openTable().write(lines, { columns, isRaw: true });
    expect(parse(raw.text)[1]?.slice(0, 3)).toEqual([cell, cell, cell]);
  },
);

test('no cell of a table begins a formula, the header included, and without its mark each is what it was', async () => {
  const cell = fc.string({ unit: fc.constantFrom('=', '+', '-', '@', '\t', '\r', '1', '.', "'", 'e', '%', 'a') });
  await fc.assert(
    fc.asyncProperty(cell, cell, async (name, value) => {
      const { text } = await openTable().write([{ id: 'a', index: 0, ok: true, json: { [name]: value }, input: {} }]);
      for (const [at, wanted] of [name, value].entries()) {
        const written: string = parse(text, { record_delimiter: '\n' })[at]?.[0] ?? '';
        expect(
          /^[=+@\t\r]/.test(written) ||
            (/^-/.test(written) && Number.isNaN(Number(written.replace(/%$/, ''))) && !/^-[\d.,]+$/.test(written)),
        ).toBe(false);
        expect([written, written.replace(/^'/, '')]).toContain(wanted);
      }
    }),
    { numRuns: 100 },
  );
});

test('lines longer than what is read at once, in any order, are whole', async () => {
  const order = [5, 0, 4, 2, 1, 3];
  const answers = order.map((index) => String(index).repeat(index % 2 === 0 ? 3_000_000 : 10));
  const lines = order.map((index, at) => ({
    ...{ id: `r${index}`, index, ok: true, response: answers[at] },
    input: { id: `r${index}` },
  }));
  const { text } = await openTable().write(lines);
  const read = text.split('\n').slice(1, -1);
  expect(read.map((line) => line.split(',')[1] === answers[order.indexOf(Number(line[1]))])).toEqual(
    order.map(() => true),
  );
  expect(read.map((line) => line.slice(0, 3))).toEqual(['r0,', 'r1,', 'r2,', 'r3,', 'r4,', 'r5,']);
});

test('rows with ever new fields make no table without end', async () => {
  const lines = Array.from({ length: 1100 }, (_, index) => ({
    ...{ id: `r${index}`, index, ok: true, response: 'r' },
    input: { [`f${index}`]: 1 },
  }));
  const { text, notices } = await openTable().write(lines);
  expect(text.split('\n')[0]?.split(',')).toHaveLength(1005);
  expect(notices).toEqual([expect.stringContaining('the first 1000 columns')]);
});

test('what anybody wrote into the output is no crash', async () => {
  const { paths } = openTable();
  writeFileSync(
    paths.output,
    '{"id":"a","index":-1,"ok":true,"input":{"__proto__":"x","constructor":1}}\nnull\n[]\n{"id":{}}\n',
  );
  const marks = markIds([{ id: 'a' }, { id: 'undefined' }], () => true);
  await writeTable(paths, { format: toTableFormat(paths.named, undefined), marks, kept: 0, repeated: REPEATED });
  expect(readFileSync(paths.named, 'utf8').split('\n')[0]).toContain('constructor');
});
