import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseTomlStrings } from '../../src/config/templates.ts';
import { AppError } from '../../src/core/error.ts';

const read = (text: string) => Object.fromEntries(parseTomlStrings(text, 'a.toml'));

test.each([
  ['', {}],
  ['# only words', {}],
  ['prompt = "a\\tb \\u65e5 \\U0001F44B \\"q\\""', { prompt: 'a\tb 日 👋 "q"' }],
  ["prompt = 'C:\\new' # as it is", { prompt: 'C:\\new' }],
  ['prompt = """\nfirst\n  second ""quoted"" \\\n     joined"""\n', { prompt: 'first\n  second ""quoted"" joined' }],
  ['prompt = """she said "hi""""', { prompt: 'she said "hi"' }],
  ["prompt = '''\n\\d+ isn't an escape'''", { prompt: "\\d+ isn't an escape" }],
  ['\uFEFFdescription = "d"\r\nprompt = """a\r\nb"""\r\n', { description: 'd', prompt: 'a\nb' }],
  ['n = 1\nlist = ["a", "b"]\n"a key" = "v"\n[table]\nprompt = "not this"', { 'a key': 'v' }],
])('the strings of %j', (text, strings) => {
  expect(read(text)).toEqual(strings);
});

test.each([
  ['a = 1\nprompt = "open', 'a.toml:2: this string does not end'],
  ['prompt = """open', 'a.toml:1: this string does not end'],
  ['prompt', 'a.toml:1: this is not key = value'],
  ['prompt = "a" "b"', 'a.toml:1: there is more text after this value'],
])('%j is refused, with its line', (text, message) => {
  expect(() => read(text)).toThrow(expect.objectContaining({ fault: 'config', message }));
});

test('a written string is read back, and no text breaks the parser', () => {
  fc.assert(
    fc.property(fc.string(), (value) => {
      expect(read(`prompt = ${JSON.stringify(value.toWellFormed())}`)).toEqual({ prompt: value.toWellFormed() });
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('"', "'", '\\', '\n', 'a', '=', '[', '#', ' ') }), (text) => {
      try {
        read(text);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(AppError);
      }
    }),
  );
});
