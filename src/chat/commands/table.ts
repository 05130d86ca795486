import type { StoredContent } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import { findNearestNames } from '../../core/text/names.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { findMode } from '../approval-modes.ts';
import type { Chat, CustomCommands } from '../chat.ts';
import { buildPrompt } from '../prompt.ts';
import type { ListRow } from '../rows.ts';
import { COPY, EXPORT, PIPE } from './answers.ts';
import type { NextStep, SlashCommand } from './command.ts';
import { CLEAR, COMPRESS, CONTEXT, NEW, RETRY, REWIND } from './conversation.ts';
import { DIFF, EDIT, FILE, UNDO } from './files.ts';
import { EXIT, KEYS, OUTPUT, STATS } from './general.ts';
import { MCP } from './servers.ts';
import { LOAD, SAVE, SESSIONS } from './sessions.ts';
import { APPROVE, MODEL, SYSTEM, THOUGHTS, TOOLS, VERIFY } from './settings.ts';

const OTHER_ENTRIES: readonly ListRow[] = [
  ['@path', 'Attach a file of this directory'],
  ['@server:uri', 'Attach a resource of an MCP server'],
  ['/server:prompt', 'Send a prompt of an MCP server; its arguments follow as name=value'],
  ['/name words', 'Send a custom command or a template; they are listed below'],
  ['!command', 'Run a command; its output goes with the next prompt'],
  ['//text', 'Send a text that begins with a slash'],
];

const HELP: SlashCommand = {
  name: 'help',
  aliases: ['h'],
  help: 'List the commands',
  async run(_, { customCommands, view }) {
    const custom = await listCustomCommands(customCommands);
    await view.list([
      ...COMMANDS.map((command) => [formatSyntax(command), command.help] as const),
      ...OTHER_ENTRIES,
      ...custom.map(({ name, about }) => [`/${sanitize(name)}`, sanitize(about)] as const),
    ]);
  },
};

/**
 * Every slash command, in the order of help. A new command is added here; help, completion and the check of
 * docs/chat.md follow.
 */
export const COMMANDS: readonly SlashCommand[] = [
  ...[HELP, KEYS, EXIT, STATS, CONTEXT],
  ...[MODEL, SYSTEM, THOUGHTS, TOOLS, APPROVE, VERIFY, MCP],
  ...[NEW, CLEAR, RETRY, REWIND, COMPRESS],
  ...[SESSIONS, SAVE, LOAD, EXPORT],
  ...[FILE, EDIT, COPY, PIPE, OUTPUT, DIFF, UNDO],
];

export function formatSyntax({ name, aliases = [], argument }: SlashCommand): string {
  const names = [name, ...aliases].map((word) => `/${word}`).join(', ');
  return argument === undefined ? names : `${names} ${argument}`;
}

export async function listCustomCommands(customCommands: CustomCommands) {
  return (await customCommands.list()).filter(({ name }) => findCommand(name) === undefined);
}

export function findCommand(name: string): SlashCommand | undefined {
  return COMMANDS.find((command) => command.name === name || command.aliases?.includes(name));
}

/**
 * Runs an entry that begins with a slash: a command of the table, else the prompt of a custom one. Throws AppError
 * `usage` that suggests the nearest name if there is neither.
 */
export async function runSlashEntry(entry: string, chat: Chat, signal: AbortSignal): Promise<NextStep> {
  const { name, argument } = splitEntry(entry);
  const command = findCommand(name);
  if (command === undefined) {
    const ask = await buildCustomPrompt(entry, chat, signal);
    if (ask === undefined) throw unknownCommandError(name, await chat.customCommands.list());
    return { ask };
  }
  if (command.argument === undefined && argument !== '') {
    throw new AppError('usage', `/${name} takes no arguments`, { hint: `To send it as it is: /${sanitize(entry)}` });
  }
  return (await command.run(argument.trim(), chat, signal)) || undefined;
}

/** Undefined if the entry calls no custom command, or one that a command of the table hides. Throws AppError. */
export async function buildCustomPrompt(
  entry: string,
  chat: Chat,
  signal: AbortSignal,
): Promise<StoredContent | undefined> {
  if (!entry.startsWith('/') || findCommand(splitEntry(entry).name) !== undefined) return undefined;
  const prompt = await chat.customCommands.expand(entry, findMode(chat.run), signal);
  await chat.view.showReports();
  if (prompt === undefined) return undefined;
  return buildPrompt(chat, prompt, signal, { allowsMentions: false, question: entry });
}

function splitEntry(entry: string): { readonly name: string; readonly argument: string } {
  const [, name = '', argument = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(entry) ?? [];
  return { name, argument };
}

type CustomNames = Awaited<ReturnType<CustomCommands['list']>>;

function unknownCommandError(name: string, custom: CustomNames): AppError {
  const names = COMMANDS.flatMap((command) => [command.name, ...(command.aliases ?? [])]);
  const near = findNearestNames(name, [...names, ...custom.map((each) => each.name)]).map(
    (word) => `/${sanitize(word)}`,
  );
  if (name === '') {
    return new AppError('usage', 'a command must follow the slash directly', { hint: 'To see the commands: /help' });
  }
  const asPrompt = `o send it as a prompt: //${sanitize(name)}`;
  return new AppError('usage', `there is no command /${sanitize(name)}`, {
    hint:
      near.length === 0
        ? `To see the commands: /help; t${asPrompt}`
        : `Did you mean ${near.join(' or ')}? T${asPrompt}`,
  });
}
