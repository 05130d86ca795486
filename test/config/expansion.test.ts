import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expandDocument } from '../../src/config/document.ts';
import { expandInCommandLine, expandVariables, findWithheldVariables } from '../../src/config/variables.ts';

test.each([
  ['$A', 'x'],
  ['#{A}', 'x'],
  ['a$A-b', 'ax-b'],
  ['#{A}A', 'xA'],
  ['$AA', '$AA'],
  ['#{B}', '#{B}'],
  ['#{B:-y z}', 'y z'],
  ['#{B:-}', ''],
  ['#{A:-y}', 'x'],
  ['#{EMPTY:-y}', ''],
  ['$EMPTY', ''],
  ['$DOLLAR', '$A'],
  ['$', '$'],
  ['$$A', '$x'],
  ['#{}', '#{}'],
  ['#{A', '#{A'],
  ['cost: $5', 'cost: $5'],
])('%s becomes "%s" (# stands for the dollar sign of a brace)', (written, expected) => {
  const dollars = (text: string): string => text.replaceAll('#', '$');
  expect(expandVariables(dollars(written), { A: 'x', EMPTY: '', DOLLAR: '$A' })).toBe(dollars(expected));
});

test('properties that every object has are not variables', () => {
  expect(expandVariables(`$constructor $__proto__ ${'$'}{toString:-no}`, {})).toBe('$constructor $__proto__ no');
});

test('text without a dollar sign is itself, and so is every text if no variable is set and none has a default', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      fc.pre(!text.includes(':-'));
      expect(expandVariables(text, {})).toBe(text);
    }),
  );
});

test('a value is inserted literally, whatever it contains', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), (value, before, after) => {
      fc.pre(!before.includes('$') && !after.includes('$') && !before.includes('{'));
      expect(expandVariables(`${before}\${NAME}${after}`, { NAME: value })).toBe(before + value + after);
    }),
  );
});

test('a command line gets no variable whose name says that it is a secret', () => {
  const env = { HOME: '/h', GITHUB_TOKEN: 'hunter2', MY_API_KEY: 'hunter2', PASSWORD: 'hunter2' };
  const braced = (text: string): string => `${'$'}{${text}}`;
  const secret = `$GITHUB_TOKEN ${braced('MY_API_KEY')} ${braced('PASSWORD:-none')}`;
  expect(expandInCommandLine(`$HOME ${secret} ${braced('ROOT:-/r')}`, env)).toBe(`/h ${secret} /r`);
  expect(findWithheldVariables(`$HOME ${secret}`)).toEqual(['GITHUB_TOKEN', 'MY_API_KEY', 'PASSWORD']);
});

test('a server that a shell runs gets the name of a folder in a variable, never in the line', async () => {
  const WORK = "/x';touch MARK;'$(touch MARK)";
  const env = { WORK, HOME: '/h', GITHUB_TOKEN: 'hunter2' };
  const dollar = '$';
  const expand = async (command: string, ...args: readonly string[]) => {
    const document = { mcpServers: { a: { command, args } } };
    const { mcpServers } = await expandDocument(document, JSON.stringify(document), env);
    return (mcpServers as Record<string, unknown>).a;
  };
  expect(await expand('node', '$WORK/x')).toEqual({ command: 'node', args: [`${WORK}/x`] });
  expect(
    await expand('/bin/sh', '-c', `cd $WORK; '$HOME/x' ${dollar}{NONE:-y} $GITHUB_TOKEN "$1"`, 'sh', '$WORK'),
  ).toEqual({
    command: '/bin/sh',
    args: ['-c', `cd "${dollar}{WORK}"; ''"${dollar}{HOME}"'/x' y $GITHUB_TOKEN "$1"`, 'sh', WORK],
    env: { WORK, HOME: '/h' },
  });
  expect(await expand('env', 'A=$HOME', 'bash', '-e', '-lc', '-x', 'cd $WORK')).toEqual({
    command: 'env',
    args: ['A=/h', 'bash', '-e', '-lc', '-x', `cd "${dollar}{WORK}"`],
    env: { WORK },
  });
  // Whoever reads a line of these before the shell does is not known: only a plain word is filled in.
  expect(await expand('cmd', '/c', 'node $HOME/x $WORK')).toEqual({ command: 'cmd', args: ['/c', 'node /h/x $WORK'] });
  const line = { mcp: { serverCommand: 'node $HOME/x --root $WORK' } };
  expect(await expandDocument(line, JSON.stringify(line), env)).toEqual({
    mcp: { serverCommand: 'node /h/x --root $WORK' },
  });
});
