import type { SlashCommand } from './command.ts';
import { KEY_TABLE } from './keys.ts';

/** `/exit` */
export const EXIT: SlashCommand = {
  name: 'exit',
  aliases: ['q', 'quit'],
  help: 'Leave, with statistics',
  run: async () => 'leave',
};

/** `/stats` */
export const STATS: SlashCommand = {
  name: 'stats',
  help: 'Show turns, tokens, time and tool calls',
  async run(_, chat) {
    await chat.say(chat.tally.lines().join('\n'));
    return undefined;
  },
};

/** `/keys` */
export const KEYS: SlashCommand = {
  name: 'keys',
  help: 'List the keys',
  async run(_, chat) {
    await chat.list(KEY_TABLE);
    return undefined;
  },
};
