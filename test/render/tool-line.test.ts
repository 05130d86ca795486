import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { sanitize } from '../../src/core/text/terminal.ts';
import { measureWidth } from '../../src/core/text/width.ts';
import type { LineCounts } from '../../src/core/tool.ts';
import { formatRunningCalls, formatToolFailure, formatToolLine } from '../../src/render/tool-line.ts';
import { codePoint } from '../support/properties.ts';

function line(name: string, args: JsonObject, error?: string, change?: LineCounts) {
  const good = { ok: true, response: {}, ...(change && { change }) };
  const outcome = error === undefined ? good : { ok: false, response: { error } };
  return formatToolLine({ type: 'answer', id: '1', name, outcome }, args);
}

test.for([
  ['run_shell_command', { command: 'ls\nrm x' }, 'run_shell_command ls…'],
  ['glob', { pattern: '**/*.ts', dir_path: 'src' }, 'glob **/*.ts'],
  ['server__tool', { anything: 1 }, 'server__tool'],
] as const)('%s %j', ([name, args, text]) => {
  expect(line(name, args)).toEqual({ isGood: true, text });
});

test('a file that was written has the lines that came and went, as the tool counted them', () => {
  const change = { added: 2, removed: 1000 };
  expect(line('write_file', { file_path: 'a.js', content: 'x\ny\n' }, undefined, change)).toEqual({
    isGood: true,
    text: 'write_file a.js +2 −1000',
  });
});

test('a failure has the first line of its reason', () => {
  expect(line('read_file', { file_path: 'a' }, 'no such file\nLook elsewhere.')).toEqual({
    isGood: false,
    text: 'read_file a: no such file…',
  });
});

const LONG_REASON =
  'the text to be replaced is not in the file any more because somebody else has changed its surroundings since it was read';

const JAPANESE = '置き換える文字列が見つかりません。'.repeat(9);
const DECOMPOSED = 'が'.normalize('NFD');

test.for([
  ['words', LONG_REASON, `${LONG_REASON.slice(0, LONG_REASON.indexOf(' surroundings'))}…`],
  ['a word that ends at the limit', `${'four '.repeat(19)}four five`, `${'four '.repeat(19)}four…`],
  ['a Japanese sentence', `${'港'.repeat(98)}。港港`, `${'港'.repeat(98)}。`],
  ['Japanese', JAPANESE, `${JAPANESE.slice(0, 99)}…`],
  ['Japanese after a word', `${'x'.repeat(99)}が見つかりません`, `${'x'.repeat(99)}…`],
  ['a word after Japanese', `${'、'.repeat(95)}filename`, `${'、'.repeat(95)}…`],
  ['a sentence', `${'four '.repeat(18)}four. Another one`, `${'four '.repeat(18)}four.`],
  ['a word without an end', `no file ${'x'.repeat(200)}`, `no file ${'x'.repeat(91)}…`],
  ['an emoji of two code units', `${'x'.repeat(98)}😀😀`, `${'x'.repeat(98)}…`],
  ['a letter and its mark', DECOMPOSED.repeat(80), `${DECOMPOSED.repeat(49)}…`],
] as const)('a long reason is cut at the end of a word: %s', ([, error, shown]) => {
  expect(line('edit_file', { file_path: 'a' }, error).text).toBe(`edit_file a: ${shown}`);
});

test('a cut at the end of a word never makes the line wider', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 101, maxLength: 300 }), (error) => {
      const [first = ''] = error.trim().split('\n');
      const cutAnywhere = sanitize(`t: ${first.slice(0, 99).toWellFormed()}…`);
      fc.pre(first.length > 100);
      expect(measureWidth(line('t', {}, error).text)).toBeLessThanOrEqual(measureWidth(cutAnywhere));
    }),
  );
});

test('a failed write is a notice with the whole reason, without the path in front of it', () => {
  const error = '"edits" is wrong. It must be a list of objects.';
  expect(formatToolFailure('edit_file', { file_path: 'a' }, { ok: false, response: { error } })).toBe(
    `edit_file a: ${error}`,
  );
});

test.for([
  [{ ok: true, summary: '214 lines' }, 20, true, 'make · 214 lines'],
  [{ ok: true, summary: '3 pages' }, 1234, true, 'make · 3 pages · 1.2s'],
  [{ ok: true, summary: 'no output', exit: { code: 0, signal: null } }, 20, true, 'make · no output · 0.0s'],
  [
    { ok: true, summary: '1 line', exit: { code: 2, signal: null } },
    61_000,
    false,
    'make · exit 2 · 1 line · 1 min 1 s',
  ],
  [{ ok: true, exit: { code: null, signal: 'SIGKILL' } }, undefined, false, 'make · ended by SIGKILL'],
  [{ ok: false, summary: 'the host is unknown' }, 20, false, 'make: the host is unknown'],
] as const)('%j after %s ms', ([result, elapsedMs, isGood, text]) => {
  const time = elapsedMs === undefined ? {} : { elapsedMs };
  const event = { type: 'answer', id: '1', name: 'make', outcome: { ...result, response: {} }, ...time } as const;
  expect(formatToolLine(event, {})).toEqual({ isGood, text });
});

test('a subject in wide characters takes no more columns than another', () => {
  const { text } = line('read_file', { file_path: '日本語'.repeat(40) });
  expect(measureWidth(text)).toBeLessThanOrEqual('read_file '.length + 60);
});

test('of parallel calls the first are named', () => {
  const calls = ['a', 'b', 'c', 'd'].map((file_path) => ({ name: 'read_file', args: { file_path } }));
  expect(formatRunningCalls(calls.slice(0, 2))).toBe('read_file a, read_file b');
  expect(formatRunningCalls(calls)).toBe('read_file a, read_file b and 2 more');
});

test('it is one line without anything that a terminal would obey, whatever the model says', () => {
  const text = fc.string({ unit: codePoint });
  fc.assert(
    fc.property(text, text, text, (name, path, error) => {
      for (const { text: shown } of [line(name, { file_path: path, content: path }), line(name, { path }, error)]) {
        expect(shown).not.toMatch(/\p{Cc}|\u202e/u);
      }
    }),
  );
});
