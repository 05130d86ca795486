import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { toolLine } from '../../src/render/tool-line.ts';

function line(name: string, args: JsonObject, error?: string) {
  const outcome = error === undefined ? { ok: true, response: {} } : { ok: false, response: { error } };
  return toolLine({ type: 'answer', id: '1', name, outcome }, args);
}

test.for([
  ['edit_file', { file_path: 'a.js', old_string: 'x\nb\nc', new_string: 'x\nB\nB2\nc' }, 'edit_file a.js +2 −1'],
  ['edit_file', { file_path: 'a.js', old_string: '', new_string: 'x\n' }, 'edit_file a.js +1 −0'],
  ['write_file', { file_path: 'a.js', content: 'x\ny\n' }, 'write_file a.js +2'],
  ['run_shell_command', { command: 'ls\nrm x' }, 'run_shell_command ls…'],
  ['glob', { pattern: '**/*.ts', dir_path: 'src' }, 'glob **/*.ts'],
  ['server__tool', { anything: 1 }, 'server__tool'],
] as const)('%s %j', ([name, args, text]) => {
  expect(line(name, args)).toEqual({ isGood: true, text });
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
