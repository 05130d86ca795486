import { expect, test } from 'vitest';
import { screenOf } from '../support/chat-terminal.ts';
import { saveSessions } from '../support/completing.ts';
import { startOnPty } from '../support/pty.ts';
import { shellAt, shellPlace } from '../support/shells.ts';

const COLUMNS = 100;

/** What is typed at the prompt of the shell, and what is seen below it before the next prompt. */
const TYPED: readonly (readonly [line: string, seen: RegExp])[] = [
  // A batch shows what it would send, and sends nothing that is the same for all rows.
  [
    'gmn batch in.csv -p "Is it nice?" --output-file out.csv',
    /^Error: no column of the row is in the prompt, [\s\S]*columns:\s+city, land\n.*-p 'Is it nice\? \{\{\w+\}\}'$/,
  ],
  ['gmn batch in.csv -p "Is {{city}} nice?" --dry-run', /"text": "Is 京都 nice\?"/],
  // Nothing is deleted that was not named.
  ['gmn sessions delete 99', /^Error: there is no session number 99\nThe last one is 2: /],
  ['gmn sessions delete a', /^Error: there is no session "a"\nRun: gmn sessions list --all$/],
  [
    'gmn sessions delete 1',
    /^Error: "1" is \w{8} "best month[^"]*" of another directory, \/elsewhere\nIf that is the one, give its id: \w{8}\./,
  ],
  [
    'gmn sessions delete 0a1b2c3e',
    /^deleted 0a1b2c3e "best month[^"]*"\ngmn: to bring it back within 7 days: gmn sessions restore 0a1b2c3e$/,
  ],
  ['gmn sessions restore 0a1b2c3e', /^restored 0a1b2c3e /],
  // Before it costs.
  ['gmn hlep', /^Error: "hlep" looks like the command "help"\. Run: gmn help/],
  ['gmn -p /nosuch', /^Error: there is no command \/nosuch outside of a chat\n/],
  ['gmn --template review', /^Error: the template review needs input, and there is none\n/],
  ['true | gmn hello', /^gmn: stdin was empty\nHello! How can I help you today\?$/],
  // What other programs call a flag.
  ['gmn --full-auto --effort high hello', /^Hello! How can I help you today\?$/],
  ['gmn --sandbox read-only hello', /^Error: --sandbox: "read-only" is not one of auto,/],
  ['echo x | gmn - "what"', /^demo: x$/],
  ['gmn help keys', /^Keys of the chat\n\n[\s\S]*^Shift\+Tab +the next approval mode$/m],
  ['gmn config list --all', /^tools\.sandbox = .* {2}# /m],
];

test.skipIf(shellAt('bash') === undefined)(
  'what people type in a shell is not sent, deleted or lost by accident',
  async (t) => {
    const at = shellPlace(t, 'bash', { files: { 'in.csv': 'city,land\n京都,Japan\n' } });
    await saveSessions(at.home, '/elsewhere');
    const env = { ...at.env, GMN_DEMO: '1', NO_COLOR: '1', PS1: '$ ' };
    const { type, output, waitUntil } = startOnPty(t, ['bash', ['--norc', '--noprofile', '-i']], {
      ...{ cwd: at.cwd, env, columns: COLUMNS, rows: 200 },
    });
    const see = (): string => screenOf(output(), COLUMNS);
    await waitUntil(() => see() === '$', see);
    for (const [line, seen] of TYPED) {
      const prompts = see().match(/^\$/gm)?.length ?? 0;
      type(`${line}\r`);
      await waitUntil(() => see().match(/^\$/gm)?.length === prompts + 1 && see().endsWith('\n$'), see);
      const below = see()
        .split(/^\$ .*\n/m)
        .at(-1)
        ?.slice(0, -2);
      expect(below, line).toMatch(seen);
    }
  },
);
