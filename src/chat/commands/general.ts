import { AppError } from '../../core/error.ts';
import { plural } from '../../core/text/format.ts';
import { shortenId } from '../../core/text/names.ts';
import { sanitize, stripControls } from '../../core/text/terminal.ts';
import { openTty } from '../../platform/terminal/tty.ts';
import { leavePlan, setMode } from '../approval-modes.ts';
import { formatBanner } from '../banner.ts';
import type { Chat } from '../chat.ts';
import { buildPrompt } from '../prompt.ts';
import type { SlashCommand } from './command.ts';

export const EXIT: SlashCommand = {
  name: 'exit',
  isForTerminals: true,
  mayBegin: true,
  aliases: ['q', 'quit'],
  help: 'Leave, with statistics',
  run: async () => 'leave',
};

export const STATS: SlashCommand = {
  name: 'stats',
  onlyShows: true,
  mayBegin: true,
  help: 'Show turns, tokens, time, cost and tool calls',
  async run(_, { stats, view }) {
    await view.say(stats.formatLines().join('\n'));
  },
};

export const PLAN: SlashCommand = {
  name: 'plan',
  mayBegin: true,
  argument: '[prompt|off]',
  help: 'Let tools only read until you agree to a plan; off ends that',
  async run(argument, chat, signal) {
    if (argument === 'off') return void (await leavePlan(chat));
    await setMode(chat, 'plan');
    return argument === '' ? undefined : { ask: await buildPrompt(chat, argument, signal) };
  },
};

export const STATUS: SlashCommand = {
  name: 'status',
  onlyShows: true,
  mayBegin: true,
  help: 'Show the version, the model, the directory, the session and what was used',
  async run(_, chat) {
    const { conversation, stats, view } = chat;
    const { session, isSaved } = conversation;
    const name = sanitize(session.name ?? shortenId(session.id));
    const kept = isSaved ? `session ${name}, ${plural(session.turns, 'turn')}` : 'this session is not saved';
    await view.say([formatBanner(chat), kept, ...stats.formatLines()].join('\n'));
  },
};

export const OUTPUT: SlashCommand = {
  name: 'output',
  isForTerminals: true,
  argument: '[n]',
  help: 'Show the whole output of the last tool call, or of the n-th from the end',
  async run(argument, chat, signal) {
    const { view } = chat;
    const { toolLog } = chat.stats;
    const back = argument === '' ? 1 : Number(argument);
    const call = Number.isInteger(back) && back > 0 ? toolLog.find(back) : undefined;
    if (call === undefined) {
      const what = argument === '' ? 'no tool was called yet' : `there is no tool call "${sanitize(argument)}"`;
      const hint = toolLog.count === 0 ? 'Type a prompt.' : `1 is the last call, ${toolLog.count} the first.`;
      throw new AppError('usage', what, { hint });
    }
    const text = `${call.title}\n${call.output.replace(/\n$/, '')}`;
    await sayOrPage(text, chat, signal);
    // The user may have meant the call before this one.
    const earlier = toolLog.find(back + 1);
    if (earlier !== undefined) await view.showNotice(`/output ${back + 1}: ${earlier.title}`);
  },
};

/** In the pager, if there is one and the text does not fit the window. */
export async function sayOrPage(text: string, chat: Chat, signal: AbortSignal): Promise<void> {
  const { lines, view } = chat;
  const isLong =
    lines.isTerminal && !chat.isBusy && text.split('\n').length >= (view.io.err.rows ?? Number.POSITIVE_INFINITY);
  const isPaged = isLong && (await openInPager(`${stripControls(text)}\n`, chat, signal));
  if (!isPaged) await view.sayVerbatim(text);
}

function openInPager(text: string, { lines, app }: Chat, signal: AbortSignal): Promise<boolean> {
  return lines.withTerminal(async () => {
    const tty = openTty();
    try {
      return (await tty?.page(text, app.env, signal)) ?? false;
    } finally {
      tty?.close();
    }
  });
}

export const KEYS: SlashCommand = {
  name: 'keys',
  onlyShows: true,
  isForTerminals: true,
  mayBegin: true,
  help: 'List the keys',
  async run(_, { view }) {
    await view.list(KEY_TABLE);
  },
};

/** The keys at a terminal prompt, briefly; a test compares them with docs/chat.md, which says more. */
export const KEY_TABLE: readonly (readonly [keys: string, meaning: string])[] = [
  ['Enter', 'send'],
  ['Ctrl+J, Alt+Enter, \\ and Enter', 'begin a new line'],
  ['Enter, Up during a turn', 'queue what is typed; take the last queued entry back'],
  ['Esc Esc', 'on an empty line: go back to an earlier prompt'],
  ['Esc, Ctrl+C during a turn', 'stop it, and keep what has arrived'],
  ['Ctrl+C', 'clear the line; on an empty line: leave'],
  ['Ctrl+D', 'on an empty line: leave'],
  ['/ or @', 'open a menu as you type; Enter takes the marked row, Esc closes it'],
  ['Tab', 'fill in a command, a model, a session or an @path'],
  ['Shift+Tab', 'the next approval mode'],
  ['Up, Down, Ctrl+P, Ctrl+N', 'go through the lines, then through earlier entries'],
  ['Ctrl+R', 'search earlier entries'],
  ['Ctrl+G', 'write in your editor'],
  ['Ctrl+V', 'attach the picture in the clipboard, or insert its text'],
  ['Ctrl+L', 'clear the screen'],
  ['Ctrl+Z', 'go to the background; come back with fg'],
];
