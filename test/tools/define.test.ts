import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { selectTools } from '../../src/tools/builtins.ts';
import { defineTool, succeed } from '../../src/tools/define.ts';
import { TOOLS } from '../../src/tools/list.ts';

const CALM = new AbortController().signal;

const echo = defineTool({
  name: 'echo',
  set: 'read',
  about: 'echoes',
  description: 'Says what it got.',
  effect: 'read',
  input: {
    properties: {
      file_path: { type: 'string', description: 'p' },
      mode: { type: 'string', enum: ['a', 'b'], description: 'm' },
      count: { type: 'integer', minimum: 1, maximum: 9, description: 'c' },
      any: { type: 'integer', description: 'n' },
      flag: { type: 'boolean', description: 'f' },
      list: { type: 'array', items: { type: 'string' }, description: 'l' },
    },
    required: ['file_path'],
  },
  aliases: { path: 'file_path' },
  handle: () => ({ run: async (input) => succeed({ ...input }) }),
}).create({});

test.each<[JsonObject, string]>([
  [{}, '"file_path" is missing. It must be a string.'],
  [{ file_path: 1 }, '"file_path" is wrong. It must be a string.'],
  [{ path: ['x'] }, '"file_path" is wrong. It must be a string.'],
  [{ path: 'x', mode: 'c' }, '"mode" is wrong. It must be one of a, b.'],
  [{ path: 'x', count: 0 }, '"count" is wrong. It must be a whole number, 1 to 9.'],
  [{ path: 'x', count: 10 }, '"count" is wrong. It must be a whole number, 1 to 9.'],
  [{ path: 'x', any: 1.5 }, '"any" is wrong. It must be a whole number.'],
  [{ path: 'x', any: '1' }, '"any" is wrong. It must be a whole number.'],
  [{ path: 'x', flag: 'true' }, '"flag" is wrong. It must be true or false.'],
  [{ path: 'x', list: 'a' }, '"list" is wrong. It must be a list of strings.'],
  [{ path: 'x', list: [1] }, '"list" is wrong. It must be a list of strings.'],
])('the arguments %j are refused in words', async (args, error) => {
  expect(await echo.invoke(args, CALM)).toEqual({ ok: false, response: { error } });
});

test('arguments are handed on under their own names, unknown ones dropped, null as if absent', async () => {
  const args = { path: 'x', file_path: 'y', extra: 1, mode: null, count: 3, any: -1, flag: false, list: ['a'] };
  expect(await echo.invoke(args, CALM)).toEqual(
    succeed({ file_path: 'y', count: 3, any: -1, flag: false, list: ['a'] }),
  );
});

test('no key of an object’s making reaches a handler', async () => {
  const args: JsonObject = JSON.parse('{"path":"x","__proto__":{"polluted":1},"constructor":1,"toString":2}');
  expect(await echo.invoke(args, CALM)).toEqual(succeed({ file_path: 'x' }));
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
});

test('whatever the arguments are, a tool answers with an outcome', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom('file_path', 'path', 'count', 'flag', 'list', 'x'), fc.jsonValue()),
      async (args) => {
        const { ok, response } = await echo.invoke(args as JsonObject, CALM);
        expect(Object.keys(response)).toEqual([ok ? 'output' : 'error']);
      },
    ),
  );
});

test('an AppError becomes an outcome; a bug and the reason of an abort are thrown', async () => {
  const stop = new AbortController();
  const reason = new AppError('interrupted', 'Interrupted.');
  const failing = (thrown: unknown, before = (): void => {}) =>
    defineTool({
      name: 'x',
      set: 'read',
      about: 'throws',
      description: '',
      effect: 'read',
      input: { properties: {}, required: [] },
      handle: () => ({
        run: async () => {
          before();
          throw thrown;
        },
      }),
    }).create({});
  expect(await failing(new AppError('usage', 'no')).invoke({}, CALM)).toEqual({ ok: false, response: { error: 'no' } });
  const bug = new TypeError('bug');
  await expect(failing(bug).invoke({}, CALM)).rejects.toBe(bug);
  await expect(failing(new AppError('usage', 'no'), () => stop.abort(reason)).invoke({}, stop.signal)).rejects.toBe(
    reason,
  );
});

test('a set has all of the one before, and sets and names choose in one order', () => {
  const names = (...wanted: readonly string[]): readonly string[] => selectTools(wanted).map(({ name }) => name);
  const all = TOOLS.map(({ name }) => name);
  const [read, edit] = [names('read'), names('edit')];
  expect(names('all')).toEqual(all);
  expect(edit).toEqual(all.filter((name) => edit.includes(name)));
  expect(read).toEqual(edit.filter((name) => read.includes(name)));
  expect(edit).toEqual(expect.arrayContaining(['read_file', 'write_file', 'edit_file']));
  expect([...read].sort()).toEqual([...names(...read)].sort());
  for (const { name, effect } of selectTools(['read'])) expect([name, effect]).toEqual([name, 'read']);
  for (const { name, effect } of selectTools(['edit'])) expect(['read', 'write'], name).toContain(effect);
  expect(names('none')).toEqual([]);
  expect(names('grep_search', 'replace', 'web_fetch')).toEqual(['edit_file', 'search_file_content', 'web_fetch']);
  expect(names('Read', 'Edit', 'Bash')).toEqual(names('read_file', 'edit_file', 'run_shell_command'));
  expect(names('read', 'run_shell_command')).toEqual([...read, 'run_shell_command', 'read_output', 'stop_command']);
  expect(() => names('read_fil')).toThrow('there is no tool read_fil');
  expect(() => names('qqqqqqqqqqqq')).toThrow(AppError);
  expect(() => names('none', 'read')).toThrow('none cannot be combined');
});

test('no two tools share a name, own or official, and a companion has its tool', () => {
  const names = TOOLS.flatMap(({ name, officialNames = [], classNames = [] }) => [
    name,
    ...officialNames,
    ...classNames,
  ]);
  expect(new Set(names).size).toBe(names.length);
  for (const { companionOf } of TOOLS) expect(TOOLS.map(({ name }) => name)).toContain(companionOf ?? 'read_file');
});
