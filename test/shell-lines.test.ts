import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { showInPager } from '../src/platform/process/editor.ts';
import { formatVariables, identifyPaths, listEntryWords } from '../src/platform/sandbox/entry.ts';
import { posixTest } from './support/posix.ts';
import { temporary } from './support/temporary.ts';

const SRC = fileURLToPath(new URL('../src', import.meta.url));

/** Every file that makes a line for a shell, or starts one; where the parts of the line come from, and what proves that they stay parts. */
const PLACES: Readonly<Record<string, string>> = {
  'acp/editor.ts': 'a whole line, as the shell tool got it',
  'batch/requests/row-prompt.ts': 'text of a hint: nothing is run',
  'app/template-access.ts': 'words of the user, quoted for shells of POSIX only: test/cli/templates.test.ts',
  'config/servers.ts': 'text of gmn trust: nothing is run',
  'config/variables.ts': 'values of variables: test/config/expansion.test.ts',
  'chat/commands/answers.ts': 'a whole line that the user has typed',
  'chat/shell.ts': 'a whole line that the user has typed',
  'commands/chat/chat.ts': 'checks --shell',
  'commands/prompt/prompt.ts': 'a flag of gmn in a hint: nothing is run',
  'core/text/quote.ts': 'quotes',
  'core/text/shell-line.ts': 'the values of hooks: test/core/text/shell-line.test.ts, test/cli/hook-trust.test.ts',
  'demo/tour.ts': 'a flag of gmn',
  'engine/tools/hooks/hook-runner.ts': 'a whole line, with the variables of core/text/shell-line.ts',
  'engine/session/sessions.ts': 'a flag of gmn in a hint: nothing is run',
  'engine/tools/toolbox.ts': 'chooses the shell of the tools',
  'engine/answer/verify.ts': 'a whole line of the user',
  'platform/process/clipboard.ts': 'a script of its own, without parts',
  'platform/process/editor.ts': 'a program found on PATH, quoted, and the file in "$1": below',
  'platform/process/group.ts': 'a script of its own, and a random name in $0',
  'platform/process/run.ts': 'a whole line that the user has typed',
  'platform/process/shell-choice.ts': 'chooses the shell',
  'platform/process/shell.ts': 'a whole line',
  'platform/process/windows-command.ts': 'arguments of a batch file: test/windows',
  'platform/process/windows-query.ts': 'a script of its own; values go in variables',
  'platform/process/windows-tree.ts': 'a script of its own, encoded',
  'platform/sandbox/engine.ts': 'a script of its own, without parts',
  'platform/sandbox/entry.ts': 'paths, quoted: below',
  'platform/sandbox/unshare.ts': 'paths, quoted: test/platform/sandbox/engines.test.ts, test/sandbox/escape.test.ts',
};

test('every place that makes a line for a shell is known, with what holds its parts together', () => {
  const makesLines =
    /\b(?:listShellArguments|chooseShell|quoteForShell|referToVariables|execSync)\b|['"](?:-c|\/c|-Command)['"]|\bshell: true/;
  const found = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.ts') && makesLines.test(readFileSync(join(SRC, name), 'utf8')));
  expect(found.sort()).toEqual(Object.keys(PLACES).sort());
});

const NAMES = ['x$(touch MARK)', "x';touch MARK;'", 'x"; touch MARK; "', 'x`touch MARK`', 'x\ntouch MARK\n'];

posixTest.for(NAMES)('no directory of PATH runs in the line of a pager or an editor: %j', async (name) => {
  const place = join(temporary(), name);
  mkdirSync(place);
  writeFileSync(join(place, 'pager'), '#!/bin/sh\ncat "$1" > "$HOME/seen"\n', { mode: 0o755 });
  const options = {
    text: 'all of it',
    pager: 'pager',
    env: { HOME: place, PATH: `${place}:/usr/bin:/bin` },
    terminal: '/dev/null',
  };
  // A PATH cannot name a directory with a colon; none of these has one.
  expect(await showInPager(options, new AbortController().signal)).toBe(true);
  expect(readFileSync(join(place, 'seen'), 'utf8')).toBe('all of it');
  expect(readdirSync(place).sort()).toEqual(['pager', 'seen']);
  expect(existsSync('MARK')).toBe(false);
});

posixTest.for(NAMES)('no path runs in the script that begins a sandbox: %j', (name) => {
  const place = join(temporary(), name);
  mkdirSync(place, { recursive: true });
  const programs = { stat: '/usr/bin/stat', cat: '/bin/cat' };
  const start = { command: 'sh', args: ['-c', 'printf %s "$A" > seen'], cwd: place, env: { A: name } };
  const entry = { identified: identifyPaths([place]), readOnly: [], programs, variables: 0 };
  const [shell = '', ...args] = listEntryWords(entry, start);
  execFileSync(shell, args, { cwd: place, input: Buffer.from(formatVariables(start.env)) });
  expect(readFileSync(join(place, 'seen'), 'utf8')).toBe(name);
  expect(readdirSync(place)).toEqual(['seen']);
});
