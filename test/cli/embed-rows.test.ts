import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findSimilar } from '../../src/commands/embed/similar.ts';
import { fakeGemini, type Scripted } from '../support/gemini.ts';
import { callGmn, parseLines } from '../support/gmn.ts';

/** The direction of each text is the share of its letters that are a, and that are not. */
const directions: Scripted = (response, { body }) => {
  const embeddings = body.requests.map(({ content }: { content: { parts: [{ text: string }] } }) => {
    const letters = [...content.parts[0].text];
    const count = letters.filter((letter) => letter === 'a').length;
    return { values: [count, letters.length - count] };
  });
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ embeddings }));
};

test('--column makes a vector of each row, with its id', async (t) => {
  const files = {
    'in.csv': 'id,text,n\r\nx,"one, two",1\r\ny,,2\r\nz,three,3\r\n',
    'in.tsv': 'prompt\tn\nfour\t4\n',
    'in.jsonl': '{"id":"j","text":"five"}\n',
    'bad.csv': 'id,text\nx,one\ny\n',
    'notes.txt': 'text\n',
  };
  const embed = async (...words: string[]) => {
    const gemini = await fakeGemini(t, directions);
    const { stdout, stderr, exitCode } = await callGmn(t, ['embed', ...words], { gemini, files });
    return { lines: parseLines(stdout).map(({ values: _, ...rest }) => rest), stderr, exitCode };
  };
  expect((await embed('in.csv', 'in.jsonl', '--column', 'text')).lines).toEqual([
    { file: 'in.csv', id: 'x', row: 1, text: 'one, two' },
    { file: 'in.csv', id: 'z', row: 3, text: 'three' },
    { file: 'in.jsonl', id: 'j', row: 1, text: 'five' },
  ]);
  expect((await embed('in.tsv', '--column', 'prompt')).lines).toEqual([{ file: 'in.tsv', row: 1, text: 'four' }]);
  expect(await embed('in.csv', '--column', 'txt')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/in\.csv has no column "txt"\nIt has 3 columns: id, text, n/),
  });
  expect(await embed('in.jsonl', '--column', 'txt')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('row 1 of in.jsonl has no field "txt"'),
  });
  expect(await embed('bad.csv', '--column', 'text')).toMatchObject({ lines: [], exitCode: 1 });
  expect(await embed('notes.txt', '--column', 'text')).toMatchObject({ exitCode: 1 });
});

test('a column in another encoding is read with --encoding', async (t) => {
  const gemini = await fakeGemini(t, [directions]);
  const files = { 'in.csv': Buffer.from('636166e90a636166e90a', 'hex') };
  const words = ['embed', 'in.csv', '--encoding', 'windows-1252', '--column', 'caf\u00e9'];
  expect(parseLines((await callGmn(t, words, { gemini, files })).stdout)).toMatchObject([{ text: 'caf\u00e9' }]);
});

const VECTORS = [
  { id: 'far', text: 'bbbb', values: [0, 4] },
  { id: 'near', text: 'aa\u001b[31m\nb', values: [200, 100] },
  { file: 'x.txt', line: 7, values: [1, 1] },
];
const vectors = VECTORS.map((line) => JSON.stringify(line)).join('\n');

test('--similar prints the lines nearest to a text, best first', async (t) => {
  const search = async (...words: string[]) => {
    const gemini = await fakeGemini(t, [directions]);
    return callGmn(t, ['embed', '--similar', 'aab', ...words], { gemini, files: { 'v.jsonl': vectors } });
  };
  expect(await search('v.jsonl')).toMatchObject({
    stdout: '1.0000  near  aa\\x1b[31m b\n0.9487  x.txt:7\n0.4472  far  bbbb\n',
    stderr: '',
    exitCode: 0,
  });
  const { stdout } = await search('v.jsonl', '-o', 'json', '--top', '2');
  expect(JSON.parse(stdout)).toEqual({
    model: 'gemini-embedding-001',
    matches: [
      { score: expect.closeTo(1, 9), id: 'near', text: 'aa\u001b[31m\nb' },
      { score: expect.closeTo(0.9487, 4), file: 'x.txt', line: 7 },
    ],
  });
});

test.for([
  ['{"values":[1,2,3]}', 'line 1 of stdin has 3 dimensions, the query has 2'],
  ['{"values":[1,1]}\n{"id":"x"}', 'line 2 of stdin has no vector'],
  ['not JSON', 'line 1 of stdin has no vector'],
  ['{"values":[1,null]}', 'line 1 of stdin has no vector'],
] as const)('%s is refused: %s', async ([stdin, message], t) => {
  const gemini = await fakeGemini(t, [directions]);
  const { stdout, stderr, exitCode } = await callGmn(t, ['embed', '--similar', 'a'], { gemini, stdin });
  expect({ stdout, exitCode, stderr }).toEqual({ stdout: '', exitCode: 1, stderr: expect.stringContaining(message) });
});

test.for([
  ['--top', '3'],
  ['-o', 'json'],
  ['--encoding', 'shift_jis'],
  ['--similar', ' '],
  ['--similar', 'x', '--whole'],
])('embed %j is a usage error', async (words, t) => {
  expect((await callGmn(t, ['--demo', 'embed', ...words], { stdin: 'x' })).exitCode).toBe(1);
});

test('whatever the vectors are, those found are the best of all by cosine, in order', async () => {
  const vector = fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 3, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(vector, { maxLength: 30 }),
      vector,
      fc.integer({ min: 1, max: 5 }),
      async (all, query, top) => {
        async function* file() {
          yield {
            name: 'v',
            chunks: (async function* () {
              for (const values of all) yield Buffer.from(`${JSON.stringify({ values })}\n`);
            })(),
          };
        }
        const length = (values: readonly number[]): number => Math.hypot(...values);
        const scores = all.map((values) => {
          const dot = values.reduce((sum, value, at) => sum + value * (query[at] ?? 0), 0);
          return length(values) * length(query) === 0 ? 0 : dot / (length(values) * length(query));
        });
        const found = (await findSimilar(file(), query, top)).map(({ score }) => score);
        const expected = scores.toSorted((left, right) => right - left).slice(0, top);
        expect(found).toHaveLength(expected.length);
        for (const [at, score] of found.entries()) expect(score).toBeCloseTo(expected[at] ?? Number.NaN, 9);
      },
    ),
  );
});
