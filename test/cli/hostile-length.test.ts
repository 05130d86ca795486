import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { call, chunk, endless, fakeGemini, reply, sse, stream } from '../support/gemini.ts';
import { callGmn, callGmnIn, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

// None of these looks at a clock: where a step takes the square of what it is given, the run does not end before the test does.

/** Without styles, and without what laying out adds. */
const words = (text: string): string => text.replace(/\u001b(?:\[[\d;]*m|\]8;;.*?\u001b\\)/g, '').replace(/\s+/g, '');

/** Marks that open and never close, in blocks of `length` characters: those of up to 16 KB are worth laying out, and very hard. */
const openMarks = (length: number, blocks: number): string => `${'**a['.repeat(length / 4)}\n\n`.repeat(blocks);

const columns = (count: number): string => `${'|a'.repeat(count)}|\n${'|-'.repeat(count)}|\n`;

/** `npm test` has one of each library and way. */
const FEW = [
  ['a delimiter row that is none', `a|b\n---${' '.repeat(60_000)}x\n\n`],
  ['code in a list', `- a\n  \`\`\`java\n${`  ${'$'.repeat(900)}\n`.repeat(100)}`],
  ['one long word of marks', `${'e\u0301'.repeat(100_000)}\n\n`],
] as const;

/** The rest is for the long runs of test/faults/torture.mjs. */
const MORE = [
  ['marks that open and never close', openMarks(192_000, 1)],
  ['a table of many columns and rows', `${columns(10_000)}${'|\n'.repeat(60_000)}\n`],
  ['quotes inside of quotes', `${'> '.repeat(100_000)}a\n\n`],
  ['pipes', `${'|'.repeat(200_000)}\na\n\n`],
  ['link definitions', `${Array.from({ length: 8000 }, (_, index) => `[a${index}]: b${index}`).join('\n\n')}\n\n`],
  ['a letter in C', `\`\`\`c\n${`${'a'.repeat(900)}\n`.repeat(200)}`],
  ['a comment in C that does not end', `\`\`\`c\n/*\n${`${'a'.repeat(80)}\n`.repeat(3000)}`],
] as const;

test.for(process.env.GMN_TORTURE === undefined ? FEW : [...FEW, ...MORE])(
  'an answer of %s is shown to its end',
  { timeout: 60_000 },
  async ([, text], t) => {
    const gemini = await fakeGemini(t, [reply(text, '\n\nafter it')]);
    const { stdout, stderr, exitCode } = await callGmn(t, ['--render', 'always', '--color', 'always', 'hi'], {
      gemini,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(words(stdout)).toMatch(/afterit$/);
  },
);

test('a time limit ends an answer that is hard to lay out', { timeout: 60_000 }, async (t) => {
  const gemini = await fakeGemini(t, [stream(openMarks(16_000, 12))]);
  const { exitCode, stderr } = await callGmn(t, ['--render', 'always', '-t', '1s', 'hi'], { gemini });
  expect({ exitCode, stderr }).toEqual({ exitCode: 3, stderr: expect.stringContaining('timed out after 1 s') });
});

posixTest('a table of head rows alone is shown to its end on a terminal', { timeout: 20_000 }, async (t) => {
  // A terminal that ends with much of its output unread may lose it, so the answer goes on until all has been seen.
  const gemini = await fakeGemini(t, [stream(`${'|x|\n--\n'.repeat(32_000)}\n\nafter it`)]);
  const terminal = runInTerminal(t, ['hi'], { gemini });
  expect(words(stripVTControlCharacters(await terminal.until(/after it/)))).toMatch(/\|x\|--\|x\|--afterit/);
  terminal.kill('SIGTERM');
  expect((await terminal.ended).exitCode).toBe(143);
});

posixTest.for([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('%s ends it on a terminal, while it is laid out', { timeout: 60_000 }, async ([signal, code], t) => {
  const gemini = await fakeGemini(t, [stream(`first\n\n${openMarks(16_000, 12)}`)]);
  const terminal = runInTerminal(t, ['hi'], { gemini });
  await terminal.until(/first/);
  terminal.kill(signal);
  expect((await terminal.ended).exitCode).toBe(code);
});

test('what is too hard to lay out is shown as it was written, all of it', { timeout: 60_000 }, async (t) => {
  const text = `${openMarks(16_000, 12)}after *it*\n`;
  const gemini = await fakeGemini(t, [reply(text)]);
  const { stdout, stderr, exitCode } = await callGmn(t, ['--render', 'always', '--color', 'always', 'hi'], { gemini });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(words(stdout)).toBe(words(`${openMarks(16_000, 12)}after it`));
});

test.for([
  [900, ['head │ head', '─────┼─────', 'cell │ cell']],
  [1100, ['| head | **head** |', '| --- | --- |', '| cell | **cell** |']],
] as const)('a table of %d rows is laid out if they are not too many', async ([count, shown], t) => {
  const row = (word: string): string => `| ${word} | **${word}** |\n`;
  const table = `${row('head')}| --- | --- |\n${row('cell').repeat(count)}`;
  const { stdout } = await callGmn(t, ['--render', 'always', 'hi'], { gemini: await fakeGemini(t, [reply(table)]) });
  expect(stdout.split('\n').slice(0, 3)).toEqual(shown);
});

test('a session of code that is hard to colour is exported to its end', { timeout: 60_000 }, async (t) => {
  const code = `\`\`\`c\n${`${'a'.repeat(1990)}\n`.repeat(22)}\`\`\`\n\n`;
  const here = place(t, { gemini: await fakeGemini(t, [reply(code.repeat(40), 'after it')]) });
  await callGmnIn(t, here, ['hi']);
  const { stdout, exitCode } = await callGmnIn(t, here, ['sessions', 'export', 'last', '--format', 'html']);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/after it/);
});

test('an answer of endless signatures is ended, with what had come', { timeout: 60_000 }, async (t) => {
  const part = { text: '', thoughtSignature: 'A'.repeat(100_000) };
  const { stdout, exitCode } = await callGmn(t, ['-o', 'json', 'hi'], {
    script: [endless(chunk([part]), stream('first'))],
  });
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout).error).toMatchObject({
    type: 'LimitError',
    message: 'the answer contains more than 64 MB besides its text',
    partialResponse: 'first',
  });
});

test('arguments that are nested too deep end the answer, with what had come', async (t) => {
  // Too deep for JSON.stringify as well.
  const args = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`;
  const call = sse(chunk([{ functionCall: { name: 'read_file', args: '…' } }])).replace('"…"', args);
  const gemini = await fakeGemini(t, [(response) => void response.end(`${sse(chunk([{ text: 'first' }]))}${call}`)]);
  const { stdout, exitCode } = await callGmn(t, ['--tools', 'read', '-o', 'json', 'hi'], { gemini });
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout).error).toMatchObject({
    type: 'LimitError',
    message: 'the answer contains values nested more than 100 deep',
    partialResponse: 'first',
  });
});

test.for([
  ['dots', `http://127.0.0.1/${'.'.repeat(300_000)}a`],
  ['brackets', `http://127.0.0.1/${')'.repeat(300_000)}a)`],
] as const)('an address of many %s is refused, and the turn continues', { timeout: 60_000 }, async ([, url], t) => {
  const made = call('web_fetch', { prompt: url });
  const gemini = await fakeGemini(t, [reply(made), reply('done')]);
  const { stdout } = await callGmn(t, ['--tools', 'web_fetch', '--yolo', 'go'], { gemini });
  expect(stdout).toBe('done\n');
  expect(JSON.stringify(gemini.requests[1]?.body)).toMatch(/is not an address of the open internet/);
});

const command = (text: string) => ({ name: 'run_shell_command', args: { command: text } });
const write = (content: string) => ({ name: 'write_file', args: { file_path: 'new.txt', content } });

posixTest.for([
  ['a command of one line', command('a'.repeat(200_000))],
  ['a command of one line that is not ASCII', command('ü'.repeat(200_000))],
  ['a command of nothing but marks', command('e\u0301'.repeat(100_000))],
  ['a file of one line', write('漢'.repeat(200_000))],
  ['a file of many lines', write('one line\n'.repeat(200_000))],
] as const)('%s is asked about, however long it is', { timeout: 60_000 }, async ([, functionCall], t) => {
  const gemini = await fakeGemini(t, [reply({ functionCall }), reply('done')]);
  const terminal = runInTerminal(t, ['--tools', 'all', 'go'], { gemini });
  await terminal.until(/┆ \d+ more lines[\s\S]*uit turn \[\?\] › /);
  terminal.type('n');
  expect(stripVTControlCharacters((await terminal.ended).output)).toMatch(/done\s*$/);
});

posixTest('a change of every line of a long file is asked about', { timeout: 60_000 }, async (t) => {
  const file = Array.from({ length: 9000 }, (_, index) => `an old line ${index}\n`).join('');
  const args = { file_path: 'long.txt', old_string: 'old', new_string: 'new', allow_multiple: true };
  const calls = [
    { name: 'read_file', args: { file_path: 'long.txt' } },
    { name: 'edit_file', args },
  ];
  const gemini = await fakeGemini(t, [...calls.map((functionCall) => reply({ functionCall })), reply('done')]);
  const terminal = runInTerminal(t, ['--tools', 'all', 'go'], { gemini, files: { 'long.txt': file } });
  await terminal.until(/long\.txt {2}\+9000 −9000[\s\S]*┆ \d+ more lines[\s\S]*uit turn \[\?\] › /);
  terminal.type('n');
  expect(stripVTControlCharacters((await terminal.ended).output)).toMatch(/done\s*$/);
});
