import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/chat/commands/table.ts';
import { measureWidth } from '../../src/core/text/width.ts';
import { sharedHome } from '../support/chat.ts';
import { chatInTerminal, screenOf } from '../support/chat-terminal.ts';
import { type Editing, editing } from '../support/editing.ts';
import { GMN } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';
import { statesIn } from '../support/pty.ts';
import type { TestScreen } from '../support/screen.ts';

/** What is entered for a command, other than its name, with what must have been said before so that it has something to do. */
const ENTRIES: Readonly<Record<string, readonly string[]>> = {
  model: ['/model', '/model gemini-2.5-pro'],
  system: ['/system', '/system 短く、日本語で答えてください', '/system -'],
  thoughts: ['/thoughts on'],
  tools: ['/tools', '/tools read_file off', '/tools read_file on'],
  approve: ['/approve', '/approve auto_edit'],
  verify: ['/verify', '/verify true', '/verify off'],
  new: ['/save first', '/new'],
  clear: ['explain internationalisation, and its consequences for terminals', '/clear'],
  retry: ['안녕하세요', '/retry'],
  rewind: ['/rewind 1'],
  compress: ['오늘 날씨는 어떻습니까?', '/compress'],
  sessions: ['/sessions', '/sessions chat'],
  save: ['/save second'],
  load: ['/load first'],
  export: ['/export talk.md', '/export html'],
  memory: ['/memory', '/memory show'],
  stats: ['/stats', '/cost'],
  file: ['/file hello.js', '/file -'],
  pipe: ['/pipe cat'],
  output: ['call list_directory {"dir_path":"."}', '/output'],
  diff: ['挨拶を日本語にして @hello.js', '/diff'],
};

/** Those that print lists of ours, in which a word stands on one row. */
const LISTS: ReadonlySet<string> = new Set(['/help', '/keys', '/tools read_file off', '/sessions chat', '/stats']);

/** Those that show a list to choose from, which Esc closes. */
const PICKERS: ReadonlySet<string> = new Set(['/model', '/tools', '/sessions']);

const PROMPTS = [
  '日本語で自己紹介をしてください。改行の位置も確かめたいので、少し長い文にします。',
  '한국어로도 대답해 주세요',
];

/** Whether an empty prompt stands below that row, and only the status below it, with the cursor behind it. */
function isPrompting({ rows, cursor }: TestScreen, below: number): boolean {
  return cursor.row > below && cursor.row === rows.length - 2 && rows[cursor.row] === '❯' && cursor.column === 2;
}

/** The words that the terminal broke from that row on; between wide characters it may. */
function brokenWords({ rows, wrapped }: TestScreen, from: number, columns: number): readonly string[] {
  const broken = [...wrapped].filter((row) => {
    const last = rows[row]?.at(-1) ?? '';
    const first = rows[row + 1]?.[0] ?? ' ';
    return (
      row >= from && measureWidth(rows[row] ?? '') === columns && first !== ' ' && measureWidth(last + first) === 2
    );
  });
  return broken.map((row) => `${rows[row]}\n${rows[row + 1]}`);
}

/** Enters a line, and waits until the chat asks for the next one. */
async function enter({ type, until, screen }: Editing, line: string, columns: number): Promise<void> {
  const { row } = screen.cursor;
  type(`${line}\r`);
  if (PICKERS.has(line)) {
    await until(() => screen.rows[screen.cursor.row]?.endsWith(' ›') === true);
    expect(brokenWords(screen, row + 1, columns), line).toEqual([]);
    type('\u001b');
  }
  await until(() => isPrompting(screen, row));
  // A list begins below what was typed, which the editor breaks where the row ends.
  if (LISTS.has(line)) expect(brokenWords(screen, row + 1, columns), line).toEqual([]);
}

test('what is entered is for commands that there are', () => {
  const names = COMMANDS.map(({ name }) => name);
  expect(Object.keys(ENTRIES).filter((name) => !names.includes(name))).toEqual([]);
});

posixTest.for([40, 80, 200])('every slash command, Japanese and Korean, in %i columns', async (columns, t) => {
  const { env, path } = sharedHome(t);
  const chat = editing(t, GMN, {
    ...{ args: ['chat', '--demo'], columns, rows: 50, editor: 'echo 편집기에서 > "$1"' },
    env: { ...env, HOME: path },
  });
  writeFileSync(join(chat.directory, 'hello.js'), 'console.log("Hello");\n');
  await chat.until(() => isPrompting(chat.screen, 0));
  const others = COMMANDS.filter(({ name }) => name !== 'exit').flatMap(({ name }) => ENTRIES[name] ?? `/${name}`);
  for (const line of [...PROMPTS, ...others]) await enter(chat, line, columns);
  chat.type('/exit\r');
  expect(await chat.ended).toBe(0);
  const shown = chat.screen.rows.join('\n');
  expect(shown).not.toMatch(/bug in gmn|Error:/);
  for (const prompt of PROMPTS) expect(shown.replaceAll(/\n */g, '')).toContain(prompt);
  const [before, after, ...more] = statesIn(chat.output);
  expect(more).toEqual([]);
  expect(after).toBe(before);
  expect(chat.output.lastIndexOf('\u001b[?2004l')).toBeGreaterThan(chat.output.lastIndexOf('\u001b[?2004h'));
});

posixTest('in a narrow window the first line is broken between its words', async (t) => {
  const chat = chatInTerminal(t, ['--demo'], { columns: 40 });
  await chat.until(/❯ /);
  chat.enter('/q');
  const { output } = await chat.ended;
  const rows = screenOf(output, 40).split('\n');
  const first = rows.slice(0, rows.indexOf('❯ /q')).map((row) => row.replace(/gmn [\d.]+/, 'gmn 0.1.0'));
  const isPath = (row: string): boolean => row.includes('/') && !row.includes('/help');
  expect([first[0], first.at(-1)]).toEqual(['gmn 0.1.0 · demo · gemini-2.5-flash', 'edits ask first · /help']);
  expect(first.slice(1, -1).every(isPath)).toBe(true);
});
