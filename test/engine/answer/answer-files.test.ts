import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createAnswerFiles, toFileStem } from '../../../src/engine/answer/answer-files.ts';
import { codePoint } from '../../support/properties.ts';

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'gmn-files-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function filesIn(cwd: string, prompt = 'A red fox!', options: { readonly outputFile?: string } = {}) {
  const app = { cwd, signal: new AbortController().signal };
  return createAnswerFiles(options, { app, prompt });
}

const file = (text: string, mimeType = 'image/png') => ({ mimeType, data: Buffer.from(text).toString('base64') });

test('a file gets a free name after the prompt, and nothing is ever overwritten', async () => {
  const cwd = directory();
  writeFileSync(join(cwd, 'a-red-fox.png'), 'mine');
  const files = filesIn(cwd);
  await files.add(file('one'));
  await files.add(file('two'));
  await files.add(file('three', 'image/jpeg'));
  const found = readdirSync(cwd).map((name) => [name, readFileSync(join(cwd, name), 'utf8')]);
  expect(Object.fromEntries(found)).toEqual({
    'a-red-fox.png': 'mine',
    'a-red-fox-2.png': 'one',
    'a-red-fox-3.png': 'two',
    'a-red-fox.jpg': 'three',
  });
});

test('the first goes where the user says; the others are named after it', async () => {
  const cwd = directory();
  writeFileSync(join(cwd, 'x.png'), 'old');
  writeFileSync(join(cwd, 'x-2.png'), 'mine');
  const files = filesIn(cwd, 'p', { outputFile: 'x.png' });
  const events = [...(await files.add(file('one'))), ...(await files.add(file('two')))];
  expect(events.map((event) => (event.type === 'file' ? event.file.saved : event))).toEqual([
    { path: join(cwd, 'x.png'), name: 'x.png', mimeType: 'image/png', bytes: 3, isNamed: true },
    { path: join(cwd, 'x-3.png'), name: 'x-3.png', mimeType: 'image/png', bytes: 3 },
  ]);
  expect(readFileSync(join(cwd, 'x.png'), 'utf8')).toBe('one');
  expect(readFileSync(join(cwd, 'x-2.png'), 'utf8')).toBe('mine');
});

test('a name that is not of a picture is for the text, if there is any', async () => {
  const cwd = directory();
  const files = filesIn(cwd, 'chart', { outputFile: 'answer.md' });
  expect(await files.add(file('one'))).toEqual([]);
  files.takeText({ type: 'text', delta: 'words' });
  await files.finish();
  expect(readdirSync(cwd)).toEqual(['chart.png']);
});

test('samples become a WAV file with their rate', async () => {
  const cwd = directory();
  await filesIn(cwd, 'hi').add(file('abcd', 'audio/L16;codec=pcm;rate=16000'));
  const bytes = readFileSync(join(cwd, 'hi.wav'));
  expect(bytes.length).toBe(48);
  expect(bytes.toString('latin1', 0, 4)).toBe('RIFF');
  expect([bytes.readUInt32LE(4), bytes.readUInt32LE(24), bytes.readUInt32LE(40)]).toEqual([40, 16_000, 4]);
  expect(bytes.toString('latin1', 44)).toBe('abcd');
});

test('whatever the prompt, the name is a plain one of at most 40 characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: codePoint, maxLength: 200 }), (prompt) => {
      expect(toFileStem(prompt)).toMatch(/^[a-z\d-]{0,42}$/);
    }),
    { numRuns: 100 },
  );
  expect(toFileStem('Ein Fuchs, größer als 2 Häuser')).toBe('ein-fuchs-gro-er-als-2-hauser');
  expect(toFileStem('../../etc/passwd')).toBe('etc-passwd');
  expect(toFileStem('CON')).toBe('con-1');
  expect(toFileStem('狐')).toBe('');
});

test('a type that only the server knows does not become a name', async () => {
  const cwd = directory();
  await filesIn(cwd, 'x').add(file('one', '../../evil; sh'));
  expect(readdirSync(cwd)).toEqual(['x.bin']);
});

test('what waits for the end of the answer is saved if the run fails', async () => {
  const cwd = directory();
  const files = createAnswerFiles({}, { app: { cwd }, prompt: 'fox', pipe: async () => {}, isPicture: true });
  expect(files.takeText({ type: 'text', delta: 'Here:\n' })).toEqual([]);
  expect(await files.add(file('one'))).toEqual([]);
  expect(await files.rescue()).toMatchObject([
    { type: 'notice', message: 'Here:' },
    { file: { saved: { name: 'fox.png' } } },
  ]);
  rmSync(cwd, { recursive: true });
  await files.add(file('two'));
  expect(await files.rescue()).toEqual([]);
});
