import type { SlashCommand } from './command.ts';

export const EXIT: SlashCommand = {
  name: 'exit',
  aliases: ['q', 'quit'],
  help: 'Leave, with statistics',
  run: async () => 'leave',
};

export const STATS: SlashCommand = {
  name: 'stats',
  help: 'Show turns, tokens, time and tool calls',
  async run(_, chat) {
    await chat.say(chat.stats.lines().join('\n'));
    return undefined;
  },
};

export const KEYS: SlashCommand = {
  name: 'keys',
  help: 'List the keys',
  async run(_, chat) {
    await chat.list(KEY_TABLE);
    return undefined;
  },
};

/** The keys at a terminal prompt, briefly; a test compares them with docs/chat.md, which says more. */
export const KEY_TABLE: readonly (readonly [keys: string, meaning: string])[] = [
  ['Enter', 'send'],
  ['Ctrl+J, Alt+Enter, \\ and Enter', 'begin a new line'],
  ['Enter, Up during a turn', 'queue what is typed; take the last queued entry back'],
  ['Esc, Ctrl+C during a turn', 'stop it, and keep what has arrived'],
  ['Ctrl+C', 'clear the line; on an empty line: leave'],
  ['Ctrl+D', 'on an empty line: leave'],
  ['/ or @', 'list commands or paths as you type; Up and Down choose, Esc closes the list'],
  ['Tab', 'complete a command, a model, a session or an @path'],
  ['Shift+Tab', 'the next approval mode'],
  ['Up, Down, Ctrl+P, Ctrl+N', 'go through the lines, then through earlier entries'],
  ['Ctrl+R', 'search earlier entries'],
  ['Ctrl+G', 'write in your editor'],
  ['Ctrl+V', 'attach the picture in the clipboard, or insert its text'],
  ['Ctrl+L', 'clear the screen'],
  ['Ctrl+Z', 'go to the background; come back with fg'],
];
