import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { HABITS } from '../../src/chat/commands/habits.ts';
import { runGmn } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';
import { testScreen } from '../support/screen.ts';

/** These words, however they are wrapped. */
function matchWords(text: string): RegExp {
  const words = text.split(' ').map((word) => word.replace(/[^\w]/g, '\\$&'));
  return new RegExp(words.join('\\s+'));
}

/** What a command shows in a window of 80 columns. */
async function rowsOf(t: Parameters<typeof runInTerminal>[0], args: readonly string[]): Promise<readonly string[]> {
  const { output } = await runInTerminal(t, args, { env: { LANG: 'C.UTF-8' } }).ended;
  return stripVTControlCharacters(output).replaceAll('\r', '').trimEnd().split('\n');
}

posixTest.for([[['models']], [['auth', 'status']], [['mcp', 'list']], [['templates', 'list']], [['--list-sessions']]])(
  'the rows of gmn %j fit a window of 80 columns',
  async ([args], t) => {
    const rows = await rowsOf(t, args ?? []);
    expect(rows.filter((row) => row.length > 80)).toEqual([]);
  },
);

posixTest('a long finding of the doctor wraps below its text', async (t) => {
  const rows = await rowsOf(t, ['doctor']);
  const model = rows.findIndex((row) => row.startsWith('✓ model'));
  expect(rows.slice(model, model + 2)).toEqual([
    '✓ model       gemini-2.5-flash, the default; where it is retired,',
    '              gemini-flash-latest answers',
  ]);
});

test('the marks of a list are coloured if --color says so', async (t) => {
  const { stdout } = await runGmn(t, ['auth', 'status', '--color', 'always']);
  expect(stdout).toMatch(/^\u001b\[31m✗\u001b\[39m none/);
});

posixTest.for([[['-h']], [['help', 'keys']], [['permissions']]])(
  'in a window of 40 columns gmn %j breaks no word',
  async ([args], t) => {
    const { output } = await runInTerminal(t, args ?? [], { columns: 40 }).ended;
    const screen = testScreen({ columns: 40, rows: 24 });
    screen.write(output);
    expect([...screen.wrapped].map((row) => screen.rows[row])).toEqual([]);
  },
);

posixTest('in a window of 40 columns gmn alone, and what a chat says, break no word', async (t) => {
  const columns = 40;
  const terminal = runInTerminal(t, [], { env: { GMN_DEMO: '1', NO_COLOR: '1' }, columns });
  await terminal.until(/ask here › /);
  terminal.type('hello\r');
  await terminal.until(/help you today\?[\s\S]*❯/);
  for (const [entry, shown] of [
    ['/compact', /stays as it is/],
    ['/permissions', /Nothing was allowed/],
    ['/mcp', /No MCP servers/],
    ['/nosuch', /no command \/nosuch/],
    ...HABITS.map(({ names: [name], advice = '' }) => [`/${name}`, matchWords(advice)] as const).filter(
      ([, { source }], index, all) =>
        source !== '(?:)' && all.findIndex(([, each]) => each.source === source) === index,
    ),
  ] as const) {
    terminal.type(`${entry}\r`);
    await terminal.until(shown);
  }
  terminal.type('/exit\r');
  const screen = testScreen({ columns, rows: 24 });
  screen.write((await terminal.ended).output);
  expect([...screen.wrapped].map((row) => screen.rows[row])).toEqual([]);
});
