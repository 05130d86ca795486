import { mkdirSync, symlinkSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { run as trust } from '../../src/commands/trust.ts';
import { findTemplates, listTemplateDirectories, readTemplate } from '../../src/config/templates.ts';
import { AppError } from '../../src/core/error.ts';
import { posixTest } from '../support/posix.ts';
import { place } from './place.ts';

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

test('a template nested so deeply that it could exhaust the stack is an error of the file', async () => {
  const opened = '['.repeat(100_000);
  for (const text of [`a = ${opened}`, `${opened}x`, `a = ${'{b='.repeat(100_000)}`]) {
    await expect(read(`${text}\nprompt = "p"`)).rejects.toBeInstanceOf(AppError);
  }
});

posixTest.for([
  ['home/private', 'work/.gmn/templates'],
  ['home/private', 'work/.gemini/commands'],
  ['home/outer', 'work/.gmn'],
] as const)('templates of a trusted folder stay in it: a link to %s at %s leads nowhere', async ([target, link], t) => {
  const files = ['private/a.md', 'private/a.toml', 'outer/templates/a.md'].map((name) => [
    `home/${name}`,
    'prompt = "x"',
  ]);
  const { app, path } = place(t, Object.fromEntries([...files, ['work/shared/kept.md', 'kept']]));
  await trust({ args: [] }, app);
  const list = async () => (await findTemplates(await listTemplateDirectories(app))).map(({ name }) => name);
  mkdirSync(path(link).replace(/\/[^/]*$/, ''), { recursive: true });
  symlinkSync(path(target), path(link));
  expect(await list()).not.toContain('a');
  if (!link.endsWith('templates')) return;
  mkdirSync(path('work/.gemini'));
  symlinkSync('../shared', path('work/.gemini/commands'));
  expect(await list()).not.toContain('a');
});
