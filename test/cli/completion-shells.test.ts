import { execFileSync } from 'node:child_process';
import { describe, expect, type TestContext, test } from 'vitest';
import { COMMANDS, flagsOf, SETTINGS, saveSessions } from '../support/completing.ts';
import { runGmnIn } from '../support/gmn.ts';
import { shellAt, shellPlace, typeInShell } from '../support/shells.ts';

/** What is typed and what becomes of it; `\t` is the Tab key. */
const LINES: readonly (readonly [typed: string, becomes: string])[] = [
  ['gmn au\t', 'gmn auth '],
  ['gmn auth st\t', 'gmn auth status '],
  ['gmn --mod\t', 'gmn --model '],
  ['gmn auth status --onl\t', 'gmn auth status --online '],
  ['gmn --demo -q auth st\t', 'gmn --demo -q auth status '],
  // Values: of a list, of what gmn is asked for, behind a space or =, behind a cluster of letters.
  ['gmn --color al\t', 'gmn --color always '],
  ['gmn --color=al\t', 'gmn --color=always '],
  ['gmn -m gemini-3.1-pro-preview-c\t', 'gmn -m gemini-3.1-pro-preview-customtools '],
  ['gmn --model=gemini-3.1-pro-preview-c\t', 'gmn --model=gemini-3.1-pro-preview-customtools '],
  ['gmn -m "gemini-3.1-pro-preview-c\t', 'gmn -m "gemini-3.1-pro-preview-customtools" '],
  ['gmn -qo str\t', 'gmn -qo stream-json '],
  ['gmn --auth oa\t', 'gmn --auth oauth-personal '],
  // Files and directories, where a flag takes a path and nowhere else.
  ['gmn -f not\t', 'gmn -f notes.md '],
  ['gmn --file=not\t', 'gmn --file=notes.md '],
  ['gmn -f my\t', 'gmn -f my\\ file.txt '],
  ['gmn -C s\t', 'gmn -C sub/'],
  ['gmn trust s\t', 'gmn trust sub/'],
  ['gmn -p not\t', 'gmn -p not'],
  ['gmn not\t', 'gmn not'],
  // A prompt is no command line, and -- ends it all.
  ['gmn hello au\t', 'gmn hello au'],
  ['gmn -- au\t', 'gmn -- au'],
  ['gmn -- --mod\t', 'gmn -- --mod'],
  ['gmn -m auth au\t', 'gmn -m auth auth '],
  // Behind the command of an MCP server everything is its own; behind an address it is ours.
  ['gmn mcp add files npx --tr\t', 'gmn mcp add files npx --tr'],
  ['gmn mcp add files npx not\t', 'gmn mcp add files npx notes.md '],
  ['gmn mcp add wiki https://wiki.example/mcp --tru\t', 'gmn mcp add wiki https://wiki.example/mcp --trust '],
  ['gmn mcp serve --http --allow-w\t', 'gmn mcp serve --http --allow-write '],
  ['gmn mcp get a\t', 'gmn mcp get a:b=c '],
  ['gmn mcp get "a:\t', 'gmn mcp get "a:b=c" '],
  ['gmn --allowed-mcp-server-names=my\t', 'gmn --allowed-mcp-server-names=my\\ server '],
  ['gmn mcp call two\\ words st\t', 'gmn mcp call two\\ words stat '],
  ['gmn mcp call "two words" -q re\t', 'gmn mcp call "two words" -q read '],
  ['gmn --template rev\t', 'gmn --template review '],
  ['gmn --template not\t', 'gmn --template notes.md '],
  ['gmn chat -r 0a\t', 'gmn chat -r 0a1b2c3e '],
  // Names with spaces, quotes, colons, dollars.
  ['gmn sessions export 0a1b2c3e sub/d\t', 'gmn sessions export 0a1b2c3e sub/deep.md '],
  ['gmn sessions export 0a\t', 'gmn sessions export 0a1b2c3e '],
  ['gmn config get mcpServers.\\"my\t', 'gmn config get mcpServers.\\"my\\ server\\".command '],
  ['gmn config get "mcpServers.\\"m\t', 'gmn config get "mcpServers.\\"my server\\".command" '],
  ['gmn completion po\t', 'gmn completion powershell '],
  ['gmn help exi\t', 'gmn help exit-codes '],
  ['gmn help mcp prob\t', 'gmn help mcp probe '],
  ['gmn help mcp au\t', 'gmn help mcp auth '],
  ['gmn help models au\t', 'gmn help models au'],
  ['gmn --tools read_f\t', 'gmn --tools read_file '],
  ['gmn --auth ga\t', 'gmn --auth gateway '],
];

/** Where the shells differ in how they quote. */
const QUOTED = {
  bash: [
    ['gmn sessions export it\t', 'gmn sessions export it\\\'s\\ \\"my\\"\\ trip:\\ \\$1 '],
    ['gmn sessions export "it\t', 'gmn sessions export "it\'s \\"my\\" trip: \\$1" '],
    ['gmn config get mcpServers.a:b\t', 'gmn config get mcpServers.a:b=c.command '],
  ],
  zsh: [
    ['gmn sessions export it\t', 'gmn sessions export it\\\'s\\ \\"my\\"\\ trip:\\ \\$1 '],
    ['gmn config get mcpServers.a:b\t', 'gmn config get mcpServers.a:b=c.command '],
  ],
} as const;

const hasBash = process.platform === 'linux' || shellAt('bash') !== undefined;

describe.for([
  ['bash', hasBash],
  ['zsh', shellAt('zsh') !== undefined],
] as const)('in a real %s', ([shell, isThere]) => {
  test.skipIf(!isThere)(`lines are completed as they are typed (skipped where there is no ${shell})`, async (t) => {
    const at = shellPlace(t, shell, SETTINGS);
    await saveSessions(at.home, at.cwd);
    await runGmnIn(t, at, ['mcp', 'tools', 'two words']);
    const wanted = [...LINES, ...QUOTED[shell]];
    const typed = wanted.map(([line]) => line);
    const became = await typeInShell(t, shell, at, typed);
    expect(typed.map((line, index) => [line, became[index]])).toEqual(wanted);
  });
});

test.skipIf(!hasBash)('bash offers every command and flag of the table', (t) => {
  const { env, cwd, script } = shellPlace(t, 'bash');
  // As bash does it for words without quotes, = or :.
  const driver = `source "$1"; shift
    for COMP_LINE; do
      read -ra COMP_WORDS <<< "$COMP_LINE"; [[ $COMP_LINE == *' ' ]] && COMP_WORDS+=('')
      COMP_POINT=\${#COMP_LINE} COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _gmn; echo "\${COMPREPLY[*]}"
    done`;
  const lines = COMMANDS.flatMap(({ path }) => [`${path} -`, `${path} `]);
  const printed = execFileSync('bash', ['-c', driver, 'bash', script, ...lines], { cwd, env, encoding: 'utf8' });
  const offered = printed.split('\n').map((line) => line.split(' '));
  for (const [index, found] of COMMANDS.entries()) {
    expect(offered[2 * index], found.path).toEqual(flagsOf(found));
    const names = (found.command.subcommands ?? []).map(({ name }) => name);
    if (names.length > 0) expect(offered[2 * index + 1], found.path).toEqual(names);
  }
});

const hasZsh = shellAt('zsh') !== undefined;

test.skipIf(!hasZsh)('zsh has every command and flag with its meaning (skipped where there is no zsh)', (t) => {
  const { env, cwd, script } = shellPlace(t, 'zsh');
  const driver = `compdef() { }; source "$1"; shift; for at; do _gmn_flags $at; print -rl -- $reply; print; done`;
  const paths = COMMANDS.map(({ path }) => path);
  const printed = execFileSync('zsh', ['-f', '-c', driver, 'zsh', script, ...paths], { cwd, env, encoding: 'utf8' });
  const offered = printed.split('\n\n').map((block) => block.split('\n').map((line) => line.split(':')[0]));
  expect(offered.slice(0, COMMANDS.length)).toEqual(COMMANDS.map(flagsOf));
  expect(printed).toContain('--model:Model id or alias\n');
});

describe('in a real fish', () => {
  const hasFish = shellAt('fish') !== undefined;
  const complete = (t: TestContext, lines: readonly string[], at = shellPlace(t, 'fish', SETTINGS)) => {
    const driver = 'source $argv[1]; for line in $argv[2..-1]; complete -C $line; echo END; end';
    const { cwd, env, script } = at;
    const printed = execFileSync('fish', ['--no-config', '-c', driver, script, ...lines], {
      ...{ cwd, env, encoding: 'utf8' },
    });
    return printed
      .split('END\n')
      .slice(0, -1)
      .map((block) => block.split('\n').slice(0, -1));
  };

  test.skipIf(!hasFish)('every command and flag is offered, with its meaning (skipped where there is no fish)', (t) => {
    const offered = complete(
      t,
      COMMANDS.map(({ path }) => `${path} -`),
    );
    for (const [index, found] of COMMANDS.entries()) {
      const names = offered[index]?.map((line) => line.split('\t')[0]);
      expect(names?.toSorted(), found.path).toEqual(flagsOf(found).toSorted());
    }
    expect(offered[0]).toContain('--model\tModel id or alias');
  });

  test.skipIf(!hasFish)('values are offered as on a line that is typed (skipped where there is no fish)', async (t) => {
    const at = shellPlace(t, 'fish', SETTINGS);
    await saveSessions(at.home, at.cwd);
    await runGmnIn(t, at, ['mcp', 'tools', 'two words']);
    const wanted: readonly (readonly [line: string, offered: readonly string[]])[] = [
      ['gmn auth st', ['status\tShow which credential would be used, from where, until when']],
      ['gmn --color al', ['always']],
      ['gmn --color=al', ['--color=always']],
      ['gmn -qo str', ['stream-json']],
      ['gmn -m gemini-3.1-pro-preview-c', ['gemini-3.1-pro-preview-customtools\tpreview']],
      ['gmn --model=gemini-3.1-pro-preview-c', ['--model=gemini-3.1-pro-preview-customtools\tpreview']],
      ['gmn -f not', ['notes.md']],
      ['gmn --file=not', ['--file=notes.md']],
      ['gmn -C s', ['sub/\tDirectory']],
      ['gmn sessions export it', ['it\'s "my" trip: $1\t0a1b2c3d best month\\x1b[31m for Kyoto?']],
      ["gmn mcp call 'two words' st", ['stat\tSize and time of a file.']],
      ['gmn --template rev', ['review\tLooks at a change']],
      ['gmn --template not', ['notes.md']],
      ['gmn hello au', []],
      ['gmn -- au', []],
      ['gmn -p not', []],
      ['gmn completion po', ['powershell']],
    ];
    const offered = complete(
      t,
      wanted.map(([line]) => line),
      at,
    );
    expect(wanted.map(([line], index) => [line, offered[index]])).toEqual(wanted);
  });
});
