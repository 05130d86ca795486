import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readTemplate } from '../../src/config/templates.ts';
import { AppError } from '../../src/core/error.ts';

const read = (text: string) => readTemplate({ name: 'a', file: 'a.toml', kind: 'command', text });

test.each([
  ['prompt = "a\\tb \\u65e5 \\U0001F44B \\"q\\""', 'a\tb 日 👋 "q"'],
  ["prompt = 'C:\\new' # as it is", 'C:\\new'],
  ['prompt = """\nfirst\n  second ""quoted"" \\\n     joined"""\n', 'first\n  second ""quoted"" joined'],
  ['prompt = """she said "hi""""', 'she said "hi"'],
  ["prompt = '''\n\\d+ isn't an escape'''", "\\d+ isn't an escape"],
  ['\uFEFFdescription = "d"\r\nprompt = """a\r\nb"""\r\n', 'a\nb'],
  ['n = 99999999999999999999\nd = 1979-05-27\nlist = ["a"]\nprompt = "p"\n[__proto__]\nprompt = "not this"', 'p'],
])('the prompt of %j', async (text, body) => {
  expect(await read(text)).toMatchObject({ body });
});

test.each([
  ['a = 1\nprompt = "open', /^a\.toml:2: \w/],
  ['prompt = """open', /^a\.toml:1: \w/],
  ['prompt', /^a\.toml:1: \w/],
  ['prompt = "a" "b"', /^a\.toml:1: \w/],
  ['prompt = "a"\nprompt = "b"', /^a\.toml:2: \w/],
  ['', /the template is empty$/],
  ['prompt = 1', /the template is empty$/],
  ['[table]\nprompt = "not this"', /the template is empty$/],
])('%j is refused, with its line', async (text, message) => {
  await expect(read(text)).rejects.toMatchObject({ fault: 'config', message: expect.stringMatching(message) });
});

test('a written string is read back, and whatever is no template is an error of the file', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1 }), async (value) => {
      const { body } = await read(`prompt = ${JSON.stringify(`x${value}`)}`);
      expect(body).toBe(`x${value}`);
    }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: fc.constantFrom('"', "'", '\\', '\n', 'a', '=', '[', '#', ' ') }),
      async (text) => {
        await expect(read(text)).rejects.toBeInstanceOf(AppError);
      },
    ),
  );
});
