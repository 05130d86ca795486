import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import type { LineCounts } from '../../src/core/tool.ts';
import { formatToolLine } from '../../src/render/tool-line.ts';

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

test('it is one line without anything that a terminal would obey, whatever the model says', () => {
  const text = fc.string({ unit: 'binary' });
  fc.assert(
    fc.property(text, text, text, (name, path, error) => {
      for (const { text: shown } of [line(name, { file_path: path, content: path }), line(name, { path }, error)]) {
        expect(shown).not.toMatch(/\p{Cc}|\u202e/u);
      }
    }),
  );
});
