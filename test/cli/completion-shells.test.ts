import { execFileSync } from 'node:child_process';
import { describe, expect, type TestContext, test } from 'vitest';
import { SETTINGS, saveSessions } from '../support/completing.ts';
import { runGmnIn } from '../support/gmn.ts';
import { shellAt, shellPlace, typeInShell } from '../support/shells.ts';

/** What is typed and what becomes of it; `\t` is the Tab key. */
const LINES: readonly (readonly [typed: string, becomes: string])[] = [
  ['gmn au\t', 'gmn auth '],
  ['gmn auth st\t', 'gmn auth status '],
  ['gmn --mod\t', 'gmn --model '],
  ['gmn auth status --onl\t', 'gmn auth status --online '],
  ['gmn --demo -q auth st\t', 'gmn --demo -q auth status '],
  ['FOO=1 gmn au\t', 'FOO=1 gmn auth '],
  ['true && gmn "two words" --mod\t', 'true && gmn "two words" --model '],
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
  // In a prompt, files behind an @.
  ['gmn explain @not\t', 'gmn explain @notes.md '],
  ['gmn @sub/d\t', 'gmn @sub/deep.md '],
  ['gmn chat look at @sub/d\t', 'gmn chat look at @sub/deep.md '],
  ['gmn -p @not\t', 'gmn -p @notes.md '],
  ['gmn --system=@not\t', 'gmn --system=@notes.md '],
  ['gmn explain me@not\t', 'gmn explain me@not'],
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
    ['gmn "explain @not\t', 'gmn "explain @notes.md" '],
    ['gmn "explain @my\t', 'gmn "explain @my\\\\ file.txt" '],
    ['gmn explain @my\t', 'gmn explain @my\\\\\\ file.txt '],
    ['gmn explain @my\\\\\\ fi\t', 'gmn explain @my\\\\\\ file.txt '],
    ['gmn explain @su\t', 'gmn explain @sub/'],
    ['gmn explain "@sub/d\t', 'gmn explain "@sub/deep.md" '],
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

  test.skipIf(!hasFish)('values are offered as on a line that is typed (skipped where there is no fish)', async (t) => {
    const at = shellPlace(t, 'fish', SETTINGS);
    await saveSessions(at.home, at.cwd);
    await runGmnIn(t, at, ['mcp', 'tools', 'two words']);
    const wanted: readonly (readonly [line: string, offered: readonly string[]])[] = [
      ['gmn auth status --onl', ['--online\tAlso ask Google: does it work, what is left of the quota']],
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
      ['gmn hello ', []],
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
