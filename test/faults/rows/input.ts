import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { fifo } from '../../support/posix.ts';
import { type Fault, IN_PIPES, row, type Variant } from '../fault.ts';
import type { Scene } from '../scene.ts';
import { reply } from '../wire-answers.ts';

const ELF = Buffer.concat([Buffer.from('\u007fELF\u0002\u0001\u0001'), Buffer.alloc(64)]);
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** Answered, whatever came in. */
const ANSWERED = { ways: IN_PIPES, model: [reply('Hello.')], expect: { code: 0, text: 'Hello.' } } as const;

/** Refused before anything was sent. */
function refused(name: string, says: RegExp, more: Partial<Variant>): Variant {
  return { name, ways: IN_PIPES, expect: { code: 1, says, text: '' }, ...more };
}

/** The texts that the model was sent. */
function sent({ server }: Scene): readonly unknown[] {
  const { contents } = JSON.parse(server.asked('model')[0]?.body ?? '{}');
  return contents.flatMap(({ parts }: { readonly parts: readonly object[] }) => parts);
}

/** The whole run under a shell, its own command line being `"$@"`. */
function shell(line: string): Pick<Variant, 'play'> {
  return { play: (scene) => scene.run(undefined, { under: ['sh', '-c', line, 'sh'] }) };
}

/** Runs with a file that this makes. */
function withFile(make: (path: string) => void, args: readonly string[]): Pick<Variant, 'play'> {
  return {
    async play(scene) {
      make(join(scene.cwd, 'given'));
      const ended = await scene.run(args);
      // The oracle reads every file.
      rmSync(join(scene.cwd, 'given'), { recursive: true, force: true });
      return ended;
    },
  };
}

/** The rows I1 to I11. */
export const INPUT: readonly Fault[] = [
  row('I1', 'binary stdin (ELF, PNG)', [
    refused('a program', /stdin is neither text nor media that can be sent \(NUL at byte 7\)/, { stdin: ELF }),
    {
      ...ANSWERED,
      name: 'a picture is attached',
      stdin: PNG,
      check: (scene) =>
        expect(sent(scene)).toEqual([
          { inlineData: { mimeType: 'image/png', data: PNG.toString('base64') } },
          { text: 'hello' },
        ]),
    },
  ]),
  row('I2', '1 GB stdin', [
    refused('letters without end', /stdin is longer than 20 MB/, {
      ...shell('head -c 1000000000 /dev/zero | tr "\\0" a | "$@"'),
      memoryMb: 150,
      // With an API key it would be uploaded.
      signIn: 'fresh',
    }),
  ]),
  row('I3', 'invalid UTF-8 inside text', [
    refused('one byte', /stdin is not valid UTF-8 \(at byte 3\)/, { stdin: Buffer.from('abc\xffdef', 'latin1') }),
    refused(
      'a file',
      /given is not valid UTF-8 \(at byte 3\)/,
      withFile((path) => writeFileSync(path, Buffer.from('abc\xff', 'latin1')), ['-f', 'given', 'x']),
    ),
  ]),
  row('I4', 'BOM / UTF-16 stdin', [
    {
      ...ANSWERED,
      name: 'UTF-16',
      stdin: Buffer.from('\ufeffgrün', 'utf16le'),
      check: (scene) => expect(sent(scene)).toEqual([{ text: 'grün\n\nhello' }]),
    },
    {
      ...ANSWERED,
      name: 'a byte order mark',
      stdin: '\ufeffgrün',
      check: (scene) => expect(sent(scene)).toEqual([{ text: 'grün\n\nhello' }]),
    },
  ]),
  row('I5', 'CRLF stdin and prompts', [
    {
      ...ANSWERED,
      name: 'as they are',
      stdin: 'a\r\nb\r\n',
      args: ['one\r\ntwo'],
      check: (scene) => expect(sent(scene)).toEqual([{ text: 'a\r\nb\r\n\n\none\r\ntwo' }]),
    },
  ]),
  row('I6', 'stdin open but silent (no writer ends)', [
    {
      ...ANSWERED,
      name: 'given up aloud',
      env: { GMN_STDIN_WAIT: '100ms' },
      play: (scene) => scene.run(undefined, { stdin: 'open' }),
      expect: { code: 0, text: 'Hello.', says: /stdin/ },
    },
    {
      ...ANSWERED,
      name: 'a byte comes, and then the rest is waited for',
      async play(scene) {
        const run = scene.launch(undefined, { stdin: 'open', env: { GMN_STDIN_WAIT: '20s' } });
        run.write('late ');
        await new Promise((resolve) => setTimeout(resolve, 200));
        run.write('input');
        run.endInput();
        return run.ended;
      },
      check: (scene) => expect(sent(scene)).toEqual([{ text: 'late input\n\nhello' }]),
    },
  ]),
  row(
    'I7',
    'stdin closed, /dev/null, a directory (< .)',
    [
      { ...ANSWERED, name: 'closed', ...shell('exec "$@" <&-') },
      { ...ANSWERED, name: '/dev/null', ...shell('exec "$@" < /dev/null') },
      refused('a directory', /stdin is a directory/, shell('exec "$@" < .')),
    ],
    ['test/cli/failures.test.ts', 'a directory as stdin is an error, not a crash'],
  ),
  row('I8', 'no prompt at all', [refused('nothing', /no prompt given[\s\S]*gmn "/, { args: [] })]),
  row('I9', 'prompt of 10 MB as argument (E2BIG), prompt starting with -, empty prompt, only spaces', [
    {
      ...ANSWERED,
      name: 'begins with a dash, behind --',
      args: ['--', '-5 degrees?'],
      check: (scene) => expect(sent(scene)).toEqual([{ text: '-5 degrees?' }]),
    },
    {
      ...ANSWERED,
      name: 'as long as the system takes',
      args: ['x'.repeat(130_000)],
      check: (scene) => expect(sent(scene)).toEqual([{ text: 'x'.repeat(130_000) }]),
    },
    {
      ...ANSWERED,
      name: 'longer than that, through stdin',
      args: [],
      stdin: 'x'.repeat(1_000_000),
      check: (scene) => expect(sent(scene)).toEqual([{ text: 'x'.repeat(1_000_000) }]),
    },
    refused('empty', /no prompt given|empty/, { args: [''] }),
    refused('only spaces', /no prompt given|empty/, { args: ['   '] }),
    refused('a dash without --', /unknown option|-5/, { args: ['-5 degrees?'] }),
  ]),
  row(
    'I10',
    '-f missing / directory / 2 GB / FIFO / unreadable / same twice / outside cwd',
    [
      refused('missing', /no such file: given/, { args: ['-f', 'given', 'x'] }),
      refused(
        'an empty directory',
        /no files to send in given/,
        withFile((path) => mkdirSync(path), ['-f', 'given', 'x']),
      ),
      refused(
        '3 GB',
        /given is 3(?:\.\d)? GB; the service takes files of at most 2 GB/,
        withFile(
          (path) => {
            writeFileSync(path, '');
            truncateSync(path, 3_000_000_000);
          },
          ['-f', 'given', 'x'],
        ),
      ),
      refused(
        'a FIFO',
        /given/,
        withFile((path) => fifo(path), ['-f', 'given', 'x']),
      ),
      refused(
        'a link to nowhere',
        /given/,
        withFile((path) => symlinkSync('nowhere', path), ['-f', 'given', 'x']),
      ),
      {
        ...ANSWERED,
        name: 'the same twice is sent once, though it lies elsewhere',
        play(scene) {
          writeFileSync(join(scene.root, 'elsewhere'), 'words');
          return scene.run(['-f', '../elsewhere', '-f', join(scene.root, 'elsewhere'), 'x']);
        },
        check: (scene) => expect(JSON.stringify(sent(scene)).split('words')).toHaveLength(2),
      },
    ],
    ['test/input/files.test.ts', 'what cannot be sent is refused with its reason'],
    ['test/platform/files/read.test.ts', 'a file without permission is refused in words'],
  ),
  row('I11', 'flags: unknown, repeated, bad duration (-t 5x, -t 0, -t -1), bad format', [
    refused('a duration that is none', /"5x" is not a duration/, { args: ['-t', '5x', 'x'] }),
    refused('a negative one', /-1/, { args: ['-t', '-1', 'x'] }),
    { ...ANSWERED, name: 'none at all', args: ['-t', '0', 'x'] },
    refused('an unknown flag', /--modle[\s\S]*--model/, { args: ['--modle', 'x'] }),
    {
      ...ANSWERED,
      name: 'the same twice: the last one counts',
      args: ['-t', '5m', '-t', '0', '-m', 'gemini-2.5-pro', '-m', 'gemini-2.5-flash', 'x'],
      check: (scene) => expect(scene.server.asked('model')[0]?.path).toContain('/gemini-2.5-flash:'),
    },
    {
      name: 'a format that is none',
      ways: [{ format: 'none', surface: 'pipe' }],
      args: ['-o', 'yaml', 'x'],
      expect: { code: 1, says: /yaml[\s\S]*stream-json/ },
    },
  ]),
];
