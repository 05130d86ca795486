import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readRows } from '../../../src/batch/rows/input.ts';
import type { InputFormat, InputOptions, Row } from '../../../src/batch/rows/row.ts';
import { AppError } from '../../../src/core/error.ts';

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function readAll(
  input: string | Uint8Array,
  format: InputFormat = 'jsonl',
  { size = 1 << 16, ...options }: Partial<InputOptions> & { readonly size?: number } = {},
): Promise<readonly Row[]> {
  const bytes = typeof input === 'string' ? Buffer.from(input) : input;
  const rows: Row[] = [];
  for await (const row of readRows(inPieces(bytes, size), { name: 'in', format, ...options })) rows.push(row);
  return rows;
}

function fault({ input }: Row): string | undefined {
  return input instanceof AppError ? input.message : undefined;
}

test('a row is a text or an object, and what is neither is a failed row, not the end', async () => {
  const rows = await readAll(
    [
      '"one"',
      '',
      '{"id":7,"prompt":"two","lang":"fr","n":3}',
      '{"prompt":',
      '[1]',
      '{"prompt":5}',
      '{"prompt":"a","contents":[]}',
      '{"id":"x","contents":[{"role":"user","parts":[{"text":"hi"}]}],"files":["a.txt"]}',
      '{"contents":[{"role":"user","parts":["hi"]}]}',
      '{"contents":[{"role":"user","parts":[{"text":5}]}]}',
      '{"contents":[{"role":"user","parts":[{"fileData":{},"localFile":{"path":"/etc/hosts"}}]}]}',
    ].join('\r\n'),
  );
  expect(rows.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(rows[0]?.input).toEqual({ prompt: 'one', params: new Map() });
  expect(rows[0]?.id).toMatch(/^1-[0-9a-f]{12}$/);
  expect(rows[1]).toMatchObject({
    id: '7',
    input: {
      prompt: 'two',
      params: new Map([
        ['id', '7'],
        ['lang', 'fr'],
        ['n', '3'],
      ]),
    },
  });
  expect(rows.slice(2, 6).map(fault)).toEqual([
    expect.stringContaining('line 4 is not JSON'),
    'line 5 is neither a text nor an object',
    'line 6: "prompt" is not a text',
    'line 7: it has "prompt" and "contents"; one of them is possible',
  ]);
  expect(rows[2]?.line).toBe('{"prompt":');
  expect(rows[6]).toMatchObject({ id: 'x', input: { files: ['a.txt'] } });
  expect(rows.slice(7).map(fault)).toEqual([
    expect.stringContaining('line 9: "contents" is not a list of'),
    expect.stringContaining('line 10: "contents" is not a list of'),
    'line 11: "contents" names a file of this machine; "files" can',
  ]);
});

test('the line of a row asks for the same row again, with the same id', async () => {
  const rows = await readAll('"one"\n{"prompt":"two","lang":"fr"}\n{"id":"c","prompt":"three"}\n');
  const again = await readAll(rows.map(({ line }) => `${line}\n`).join(''));
  expect(again.map(({ id, input }) => ({ id, input }))).toEqual(rows.map(({ id, input }) => ({ id, input })));
});

test('any lines come out as they are, however the bytes are cut, in UTF-8 and UTF-16', async () => {
  const lines = fc.array(
    fc.string({ unit: 'grapheme', minLength: 1 }).map((text) => `x${text.replace(/[\r\n]/g, '')}`),
  );
  await fc.assert(
    fc.asyncProperty(
      lines,
      fc.integer({ min: 1, max: 9 }),
      fc.constantFrom('', '\ufeff', 'utf16'),
      async (texts, size, mark) => {
        const joined = texts.join('\n');
        const bytes =
          mark === 'utf16' ? Buffer.from(`\ufeff${joined}`, 'utf16le') : Buffer.from(`${mark}${joined}`, 'utf8');
        const rows = await readAll(bytes, 'lines', { size });
        expect(rows.map(({ input }) => (input as { prompt?: string }).prompt)).toEqual(texts);
      },
    ),
    { numRuns: 60 },
  );
});

test('a line that is too long or not UTF-8 is a failed row, and the next ones are read', async () => {
  const bytes = Buffer.concat([
    Buffer.from(`"${'a'.repeat(200)}"\n`),
    Buffer.from([0x22, 0xff, 0x22, 0x0a]),
    Buffer.from('"ok"'),
  ]);
  const rows = await readAll(bytes, 'jsonl', { size: 7, maxLineBytes: 100 });
  expect(rows.map(fault)).toEqual([
    'line 1 is 202 B long; at most 100 B can be sent',
    'line 2 is not UTF-8 (at byte 1)',
    undefined,
  ]);
  // Bytes that were read wrongly must not be asked by whoever runs the failed rows.
  expect(rows.map(({ line }) => line === undefined)).toEqual([true, true, false]);
});

test('CSV and TSV have a header, a ragged row is one failed row, and a quote inside a field is text', async () => {
  const csv = '\ufeffid,prompt,lang\r\na,"say ""hi"", please\nnow",fr\r\nb,short\r\nc,5" disk,d"e"\r\n,last,it\r\n';
  const rows = await readAll(csv, 'csv', { size: 5 });
  expect(rows[0]).toMatchObject({
    id: 'a',
    input: {
      prompt: 'say "hi", please\nnow',
      params: new Map([
        ['id', 'a'],
        ['lang', 'fr'],
      ]),
    },
  });
  expect(fault(rows[1] as Row)).toBe('row 2 has 2 fields, the header has 3');
  expect(rows[1]?.line).toBe('["b","short"]');
  expect(rows[2]).toMatchObject({
    id: 'c',
    input: {
      prompt: '5" disk',
      params: new Map([
        ['id', 'c'],
        ['lang', 'd"e"'],
      ]),
    },
  });
  expect(rows[3]).toMatchObject({ index: 3, input: { prompt: 'last' } });
  expect(rows).toHaveLength(4);
  expect(await readAll('id\tprompt\tfiles\nx\thello\ta.txt; b.txt\n', 'tsv')).toMatchObject([
    { id: 'x', input: { prompt: 'hello', files: ['a.txt', 'b.txt'] } },
  ]);
});

test('a CSV without a header is an error that says so', async () => {
  await expect(readAll('1,"What is it?"\n2,x\n', 'csv')).rejects.toThrow('in has no header');
  await expect(readAll('name,city\nA,B\n', 'csv', { isPromptNeeded: true })).rejects.toThrow(
    'in has no column "prompt"; its columns: name, city',
  );
});

test('a CSV as Excel writes it: separated by semicolons in some countries, and not always UTF-8', async () => {
  const rows = await readAll('\ufeffid;prompt;files\r\na;"1,5; or 2";"x.txt;y.txt"\r\n', 'csv', { size: 5 });
  expect(rows).toMatchObject([{ id: 'a', input: { prompt: '1,5; or 2', files: ['x.txt', 'y.txt'] } }]);
  const windows = Buffer.from('id,prompt\na,K\u00f6ln\nb,Bonn\n', 'latin1');
  await expect(readAll(windows, 'csv')).rejects.toMatchObject({ fault: 'usage', message: 'in is not UTF-8' });
});
