import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { temporary } from '../support/temporary.ts';
import { contentOf, fakeStdin } from './support.ts';

const stdin = (content: string | Uint8Array) => ({ stdin: fakeStdin('pipe', [Buffer.from(content)]).stdin });
const parts = async (input: Parameters<typeof contentOf>[0]) => (await contentOf(input)).content.parts;

test('a prompt by itself is one text', async () => {
  expect(await contentOf({ cwd: '/', prompt: ' say hi ' })).toEqual({
    notices: [],
    content: { role: 'user', parts: [{ text: ' say hi ' }] },
  });
});

test('files, stdin and prompt come in this order, a blank line between', async () => {
  const cwd = temporary({ 'a.txt': 'A', b: 'B' });
  expect(await parts({ cwd, prompt: 'P @b', files: ['a.txt'], ...stdin('S') })).toEqual([
    { text: '=== a.txt ===\nA\n\n=== b ===\nB\n\nS\n\nP @b' },
  ]);
});

test('stdin is sent byte for byte before the prompt', async () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1 }).filter((value) => !/\0|^\ufeff/.test(value));
  await fc.assert(
    fc.asyncProperty(text, async (value) => {
      expect(await parts({ cwd: '/', prompt: 'P', ...stdin(value) })).toEqual([{ text: `${value}\n\nP` }]);
    }),
  );
});

test.each([
  ['without a prompt stdin is the prompt', {}, ' q\n', ' q\n'],
  ['nor does a blank prompt count', { prompt: '  ' }, 'q @a', 'q @a'],
  ['nor a dash', { prompt: '-' }, 'q', 'q'],
  ['an empty stdin leaves no trace', { prompt: 'P' }, '', 'P'],
  ['with --no-stdin it is not read', { prompt: 'P', stdinMode: 'never' as const }, 'S', 'P'],
])('%s', async (_, input, piped, text) => {
  expect(await parts({ cwd: '/', ...input, ...stdin(piped) })).toEqual([{ text }]);
});

test('-f - puts stdin among the files, once', async () => {
  const cwd = temporary({ a: 'A', b: 'B' });
  expect(await parts({ cwd, prompt: 'P', files: ['a', '-', 'b', '-'], ...stdin('S') })).toEqual([
    { text: '=== a ===\nA\n\n=== stdin ===\nS\n\n=== b ===\nB\n\nP' },
  ]);
  await expect(parts({ cwd, prompt: 'P', files: ['-'], stdinMode: 'never' })).rejects.toMatchObject({
    fault: 'usage',
    message: '- needs stdin, and --no-stdin forbids it',
  });
});

test('a file alone is something to send', async () => {
  expect(await parts({ cwd: temporary({ a: 'A' }), files: ['a'] })).toEqual([{ text: '=== a ===\nA' }]);
});

test.each([
  ['nothing', {}],
  ['an empty prompt', { prompt: '' }],
  ['a blank prompt', { prompt: ' \n\t' }],
  ['a dash and --no-stdin', { prompt: '-', stdinMode: 'never' as const }],
  ['an empty stdin', stdin('')],
  ['a blank stdin and prompt', { prompt: ' ', ...stdin(' \n') }],
])('%s is no prompt', async (_, input) => {
  await expect(contentOf({ cwd: '/', ...input })).rejects.toMatchObject({
    fault: 'usage',
    exitCode: 1,
    message: 'no prompt given',
    hint: 'Try: gmn "your question", or pipe text in: … | gmn',
  });
});

test('media on stdin is attached', async () => {
  const pdf = Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\0', 'latin1');
  const part = { inlineData: { mimeType: 'application/pdf', data: pdf.toString('base64') } };
  expect(await parts({ cwd: '/', prompt: 'P', ...stdin(pdf) })).toEqual([part, { text: 'P' }]);
  expect(await parts({ cwd: '/', ...stdin(pdf) })).toEqual([part]);
});

test('other binary on stdin is refused', async () => {
  await expect(parts({ cwd: '/', prompt: 'P', ...stdin('\x7fELF\0') })).rejects.toMatchObject({
    fault: 'usage',
    message: 'stdin is neither text nor media that can be sent (NUL at byte 4)',
  });
  await expect(parts({ cwd: '/', ...stdin(Buffer.from('a\xff', 'latin1')) })).rejects.toMatchObject({
    fault: 'usage',
    message: 'stdin is not valid UTF-8 (at byte 1)',
  });
});

test('UTF-16 on stdin is decoded', async () => {
  expect(await parts({ cwd: '/', ...stdin(Buffer.from('\ufeffhé\r\n', 'utf16le')) })).toEqual([{ text: 'hé\r\n' }]);
});

test('stdin and files that are too much together are refused', async () => {
  const cwd = temporary({ 'big.txt': 'b'.repeat(11_000_000) });
  await expect(parts({ cwd, prompt: 'P', files: ['big.txt'], ...stdin('s'.repeat(10_000_000)) })).rejects.toMatchObject(
    {
      fault: 'usage',
      message: 'the input is larger than 20 MB, the most that can be sent; the largest is big.txt (11.0 MB)',
    },
  );
});

test('a prompt by itself loads nothing but the error class', async () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const { metafile } = await build({
    entryPoints: ['src/input/prompt.ts'],
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    outdir: 'unused',
    write: false,
    metafile: true,
  });
  const loaded = new Set<string>();
  const load = (path: string): void => {
    const output = metafile.outputs[path];
    for (const name of Object.keys(output?.inputs ?? {})) loaded.add(name);
    for (const { path: next, kind } of output?.imports ?? []) if (kind === 'import-statement') load(next);
  };
  load('unused/prompt.js');
  expect([...loaded].sort()).toEqual(['src/core/error.ts', 'src/input/prompt.ts']);
});
