import { AppError } from '../../core/error.ts';
import { findNearestNames } from '../../core/text/names.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { ListRow } from '../chat.ts';
import { COPY, EXPORT, PIPE } from './answers.ts';
import type { SlashCommand } from './command.ts';
import { CLEAR, COMPRESS, CONTEXT, NEW, RETRY, REWIND } from './conversation.ts';
import { DIFF, EDIT, FILE, UNDO } from './files.ts';
import { EXIT, KEYS, OUTPUT, STATS } from './general.ts';
import { MCP } from './servers.ts';
import { LOAD, SAVE, SESSIONS } from './sessions.ts';
import { APPROVE, MODEL, SYSTEM, THOUGHTS, TOOLS } from './settings.ts';

const OTHER_ENTRIES: readonly ListRow[] = [
  ['@path', 'Attach a file of this directory'],
  ['@server:uri', 'Attach a resource of an MCP server'],
  ['/server:prompt', 'Send a prompt of an MCP server; its arguments follow as name=value'],
  ['!command', 'Run a command; its output goes with the next prompt'],
  ['//text', 'Send a text that begins with a slash'],
];

const HELP: SlashCommand = {
  name: 'help',
  aliases: ['h'],
  help: 'List the commands',
  async run(_, chat) {
    await chat.list([...COMMANDS.map((command) => [formatSyntax(command), command.help] as const), ...OTHER_ENTRIES]);
    return undefined;
  },
};

/**
 * Every slash command, in the order of help. A new command is added here; help, completion and the check of
 * docs/chat.md follow.
 */
export const COMMANDS: readonly SlashCommand[] = [
  ...[HELP, KEYS, EXIT, STATS, CONTEXT],
  ...[MODEL, SYSTEM, THOUGHTS, TOOLS, APPROVE, MCP],
  ...[NEW, CLEAR, RETRY, REWIND, COMPRESS],
  ...[SESSIONS, SAVE, LOAD, EXPORT],
  ...[FILE, EDIT, COPY, PIPE, OUTPUT, DIFF, UNDO],
];

/** `/model [name]`, `/help, /h` */
export function formatSyntax({ name, aliases = [], argument }: SlashCommand): string {
  const names = [name, ...aliases].map((word) => `/${word}`).join(', ');
  return argument === undefined ? names : `${names} ${argument}`;
}

/**
 * The command that an entry names, and its argument. Throws AppError `usage` that suggests the nearest name if there is
 * none.
 */
export function requireCommand(entry: string): { readonly command: SlashCommand; readonly argument: string } {
  const [, name = '', argument = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(entry) ?? [];
  const command = COMMANDS.find((candidate) => candidate.name === name || candidate.aliases?.includes(name));
  if (command === undefined) throw unknownCommandError(name);
  if (command.argument === undefined && argument !== '') {
    throw new AppError('usage', `/${name} takes no arguments`, { hint: `To send it as it is: /${sanitize(entry)}` });
  }
  return { command, argument: argument.trim() };
}

function unknownCommandError(name: string): AppError {
  const names = COMMANDS.flatMap((command) => [command.name, ...(command.aliases ?? [])]);
  const near = findNearestNames(name, names).map((word) => `/${word}`);
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
