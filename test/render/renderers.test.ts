import { build } from 'esbuild';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OUTPUT_FORMATS } from '../../src/core/app.ts';
import { AppError } from '../../src/core/error.ts';
import { openRenderer, renderers } from '../../src/render/renderers.ts';
import { codePoint } from '../support/properties.ts';
import { fakeOut, renderAll } from './fakes.ts';
import { begin, end, everyRun, failure, texts } from './runs.ts';

const deltas = fc.array(
  fc.oneof(fc.string({ unit: codePoint }), fc.constantFrom('\n', '\r\n', '\u2028', '"', '\\', '')),
);

test('text, json and stream-json hold the same answer, in both dialects', async () => {
  await fc.assert(
    fc.asyncProperty(deltas, async (list) => {
      const events = [begin, ...texts(...list), end];
      const answer = list.join('');
      const text = (await renderAll('text', events)).out;
      expect(text).toBe(answer === '' || answer.endsWith('\n') ? answer : `${answer}\n`);
      expect(JSON.parse((await renderAll('json', events)).out).response).toBe(answer);
      expect(JSON.parse((await renderAll('json', events, { dialect: 'gemini' })).out).response).toBe(answer);
      expect(joined((await renderAll('stream-json', events)).out, 'text')).toBe(answer);
      const gemini = await renderAll('stream-json', events, { dialect: 'gemini', prompt: '' });
      expect(joined(gemini.out, 'content')).toBe(answer);
    }),
  );
});

test('a partial answer is the same in every format too', async () => {
  await fc.assert(
    fc.asyncProperty(deltas, async (list) => {
      const events = [begin, ...texts(...list), failure(new AppError('api', 'cut'))];
      const answer = list.join('');
      const text = (await renderAll('text', events)).out;
      expect(text).toBe(answer === '' || answer.endsWith('\n') ? answer : `${answer}\n`);
      expect(JSON.parse((await renderAll('json', events)).out).error.partialResponse ?? '').toBe(answer);
      const lines = (await renderAll('stream-json', events)).out.trimEnd().split('\n');
      expect(JSON.parse(lines.at(-1) ?? '').error.partialResponse ?? '').toBe(answer);
    }),
  );
});

test.each(Object.entries(everyRun))(
  'the run %s ends in exactly one outcome, last, in every format',
  async (_name, run) => {
    for (const dialect of ['gmn', 'gemini'] as const) {
      const { out } = await renderAll('stream-json', run, { dialect });
      const types = out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).type);
      const outcomes = dialect === 'gmn' ? ['done', 'error'] : ['result'];
      expect(types.filter((type) => outcomes.includes(type))).toEqual([types.at(-1)]);
      expect(Object.keys(JSON.parse((await renderAll('json', run, { dialect })).out)).length).toBeGreaterThan(0);
    }
  },
);

test('there is one renderer per format, and no other', async () => {
  expect(Object.keys(renderers)).toEqual([...OUTPUT_FORMATS]);
  const io = { out: fakeOut(), err: fakeOut() };
  await expect(openRenderer('yaml', io)).rejects.toMatchObject({ fault: 'usage' });
  await expect(openRenderer('toString', io)).rejects.toMatchObject({ fault: 'usage' });
});

test('a failure outside a run needs no options', async () => {
  const io = { out: fakeOut(), err: fakeOut() };
  const render = await openRenderer('json', io);
  await render(failure(new AppError('usage', 'unknown option --x')));
  expect(JSON.parse(io.out.text)).toEqual({ error: { code: 1, type: 'UsageError', message: 'unknown option --x' } });
});

test('text into a pipe loads no library, and a format loads no other format', async () => {
  const { metafile } = await build({
    entryPoints: ['src/render/renderers.ts'],
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    outdir: 'unused',
    write: false,
    metafile: true,
  });
  /** All that comes with a module through static imports alone. */
  const loadedWith = (source: string): readonly string[] => {
    const pending = Object.keys(metafile.outputs).filter((name) => metafile.outputs[name]?.entryPoint === source);
    expect(pending).toHaveLength(1);
    for (const name of pending) {
      for (const { path, kind } of metafile.outputs[name]?.imports ?? []) {
        if (kind === 'import-statement' && !pending.includes(path)) pending.push(path);
      }
    }
    return pending.flatMap((name) => Object.keys(metafile.outputs[name]?.inputs ?? {}));
  };
  const libraries = (source: string): readonly string[] =>
    loadedWith(source).flatMap((file) => /node_modules\/([^/]+)/.exec(file)?.[1] ?? []);
  expect(libraries('src/render/renderers.ts')).toEqual([]);
  expect(libraries('src/render/text.ts')).toEqual([]);
  expect(loadedWith('src/render/text.ts').join(' ')).not.toMatch(/json|markdown/);
  expect(loadedWith('src/render/stream-json.ts').join(' ')).not.toMatch(/text\.ts.*spinner|render\/json\.ts|gemini/);
  expect(new Set(libraries('src/render/markdown/stream.ts'))).toContain('marked');
  expect(libraries('src/render/markdown/stream.ts')).not.toContain('highlight.js');
  expect(libraries('src/render/markdown/highlight.ts')).toContain('highlight.js');
});

function joined(out: string, key: string): string {
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Readonly<Record<string, unknown>> => JSON.parse(line))
    .map((event) => (typeof event[key] === 'string' ? event[key] : ''))
    .join('');
}
