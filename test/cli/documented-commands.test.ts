import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext } from 'vitest';
import { startDemo } from '../../src/demo/server.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { callGmnIn, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

interface Documented {
  readonly line: string;
  readonly words: readonly string[];
  /** What the command before the pipe would print. */
  readonly stdin?: string;
}

/** The commands of a page in order: the lines of its blocks, and what stands in backticks in its prose. */
function commandsIn(page: string): readonly Documented[] {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8').replaceAll('\\|', '|');
  const found = text.matchAll(/^( *)```\w*\n([\s\S]*?)^\1```|`([^`\n]+)`/gm);
  const snippets = [...found].flatMap(({ 2: block, 3: inline = '' }) =>
    block === undefined ? [inline] : block.split('\n').map((line) => line.replace(/(?<=^|\s)# .*$/, '').trim()),
  );
  const commands = snippets.map((line) => line.replace(/^source <\((.*)\)$/, '$1'));
  return commands.filter((line) => !/[…<>](?!&)/.test(line)).flatMap(splitLine);
}

const TOKEN = /"[^"]*"|'[^']*'|\d>&\d|\|\||&&|[|;]|(?:[^\s"'|;&]|"[^"]*"|'[^']*')+/g;

/** The calls of gmn in a line of a shell. */
function splitLine(line: string): readonly Documented[] {
  const commands: { words: string[]; isPiped: boolean }[] = [{ words: [], isPiped: false }];
  for (const [token] of line.matchAll(TOKEN)) {
    if (/^(?:\|\||&&|[|;])$/.test(token)) commands.push({ words: [], isPiped: token === '|' });
    else if (!/^\d>&\d$/.test(token)) commands.at(-1)?.words.push(token.replace(/^(["'])(.*)\1$/s, '$2'));
  }
  return commands.flatMap(({ words, isPiped }, index) => {
    const start = words.indexOf('gmn');
    // Behind `npx`, or as the program that `claude mcp add … --` names.
    if (start < 0 || (start > 0 && !['npx', '--'].includes(words[start - 1] ?? ''))) return [];
    const [printer, format = ''] = commands[index - 1]?.words ?? [];
    const stdin = printer === 'printf' ? format.replaceAll('\\n', '\n') : 'piped\n';
    return [{ line, words: words.slice(start + 1), ...(isPiped ? { stdin } : {}) }];
  });
}

/** What cannot be run to its end in a moment, and where it is run instead. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  demo: 'test/commands/demo/demo.test.ts',
  'demo serve --port 8080': 'test/commands/demo/demo.test.ts',
  'demo serve --record calls.jsonl': 'test/cli/record-replay.test.ts',
};

/** What is right to fail here, and how. */
const FAILS: Readonly<Record<string, RegExp>> = {
  undo: /^Error: there is nothing to undo/,
};

/** A program that stands for the MCP server that `npx` would fetch. */
function fakeNpx(directory: string): string {
  const bin = join(directory, 'bin');
  const server = join(bin, 'server.mjs');
  const source = readFileSync(new URL('../fixtures/files-mcp-server.mjs', import.meta.url), 'utf8');
  mkdirSync(bin);
  writeFileSync(server, source.replace("name: 'read'", "name: 'read_text_file'"));
  writeFileSync(join(bin, 'npx'), `#!/bin/sh\nexec "${process.execPath}" "${server}"\n`);
  chmodSync(join(bin, 'npx'), 0o755);
  return bin;
}

async function expectAllToRun(t: TestContext, page: string): Promise<void> {
  const all = commandsIn(page).filter(({ words }) => words.length > 0);
  // The same once more shows nothing new.
  const commands = [...new Map(all.map((command) => [JSON.stringify(command.words), command])).values()];
  expect(commands.length).toBeGreaterThan(25);
  const text = '# Notes\n';
  const files = { 'README.md': text, 'notes.md': text, 'docs/a.md': text, 'src/main.ts': 'export const a = 1;\n' };
  const gemini = await startDemo({ clock: systemClock });
  t.onTestFinished(() => gemini.close());
  const at = place(t, { files, gemini });
  const env = { ...at.env, PATH: `${fakeNpx(at.root)}:${at.env.PATH}` };
  const faults: string[] = [];
  for (const { line, words, stdin } of commands) {
    const typed = words.join(' ');
    if (Object.hasOwn(ELSEWHERE, typed)) continue;
    const { exitCode, stdout, stderr } = await callGmnIn(t, { ...at, env }, words, stdin);
    const fails = Object.hasOwn(FAILS, typed) ? FAILS[typed] : undefined;
    const isFine = fails === undefined ? exitCode === 0 : exitCode === 1 && fails.test(stderr);
    if (!isFine) faults.push(`${line} => ${exitCode}\n${stdout}${stderr}`);
  }
  expect(faults).toEqual([]);
}

posixTest.for(['README.md', 'docs/README.md'])(
  'every command of %s works with the offline model, in its order',
  { timeout: 60_000 },
  (page, t) => expectAllToRun(t, page),
);
