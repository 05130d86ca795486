import type { StoredContent } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import { findNearestNames } from '../../core/text/names.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { trySplitSkillEntry } from '../../engine/tools/skills.ts';
import { findMode } from '../approval-modes.ts';
import type { Chat, CustomCommands } from '../chat.ts';
import { buildPrompt } from '../prompt.ts';
import { formatListRows, type ListRow } from '../rows.ts';
import { COPY, EXPORT, PIPE } from './answers.ts';
import type { NextStep, SlashCommand } from './command.ts';
import { AGENTS, EXTENSIONS, HOOKS, SKILLS } from './conventions.ts';
import { CLEAR, COMPRESS, CONTEXT, NEW, RETRY, REWIND } from './conversation.ts';
import { DIFF, EDIT, FILE, UNDO } from './files.ts';
import { EXIT, KEYS, OUTPUT, PLAN, STATS, STATUS, sayOrPage } from './general.ts';
import { type FoundHabit, findHabit, listHabitNames } from './habits.ts';
import { INIT } from './init.ts';
import { MEMORY } from './memory.ts';
import { PERMISSIONS } from './permissions.ts';
import { PS, STOP } from './processes.ts';
import { SANDBOX } from './sandbox.ts';
import { MCP } from './servers.ts';
import { LOAD, SAVE, SESSIONS } from './sessions.ts';
import { APPROVE, MODEL, SYSTEM, THOUGHTS, TOOLS, VERIFY } from './settings.ts';
import { TRUST } from './trust.ts';

const OTHER_ENTRIES: readonly ListRow[] = [
  ['@path', 'Attach a file of this directory'],
  ['@server:uri', 'Attach a resource of an MCP server'],
  ['/server:prompt', 'Send a prompt of an MCP server; its arguments follow as name=value'],
  ['/skill:name words', 'Let the model follow a skill; /skills lists them'],
  ['@name words', 'Ask a sub-agent; /agents lists them'],
  ['/name words', 'Send a custom command or a template; they are listed below'],
  ['!command', 'Run a command; its output goes with the next prompt'],
  ['# text', 'Remember it for later: /memory add'],
  ['//text', 'Send a text that begins with a slash'],
];

const HELP: SlashCommand = {
  name: 'help',
  onlyShows: true,
  mayBegin: true,
  aliases: ['h'],
  help: 'List the commands',
  async run(_, chat, signal) {
    const custom = await listCustomCommands(chat.customCommands);
    const rows = [
      ...listOffered(chat).map((command) => [formatSyntax(command), command.help] as const),
      ...(chat.isInEditor ? OTHER_ENTRIES.filter(([entry]) => !/^[!#]/.test(entry)) : OTHER_ENTRIES),
      ...custom.map(({ name, about }) => [`/${sanitize(name)}`, sanitize(about)] as const),
    ];
    await sayOrPage(formatListRows(rows, chat.view.columns).join('\n'), chat, signal);
  },
};

/**
 * Every slash command, in the order of help. A new command is added here; help, completion and the check of
 * docs/chat.md follow.
 */
export const COMMANDS: readonly SlashCommand[] = [
  ...[HELP, KEYS, EXIT, STATUS, STATS, CONTEXT],
  ...[MODEL, SYSTEM, THOUGHTS, TOOLS, PLAN, APPROVE, PERMISSIONS, SANDBOX, VERIFY, MCP],
  ...[INIT, MEMORY, TRUST, SKILLS, AGENTS, HOOKS, EXTENSIONS],
  ...[NEW, CLEAR, RETRY, REWIND, COMPRESS],
  ...[SESSIONS, SAVE, LOAD, EXPORT],
  ...[FILE, EDIT, COPY, PIPE, OUTPUT, DIFF, UNDO, PS, STOP],
];

export function listOffered({ isInEditor }: Pick<Chat, 'isInEditor'>): readonly SlashCommand[] {
  return isInEditor ? COMMANDS.filter(({ isForTerminals }) => !isForTerminals) : COMMANDS;
}

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
 * Runs an entry that begins with a slash: a command of the table, the prompt of a custom one, or what another tool's command is
 * here. Throws AppError `usage` that suggests names if there is none of them.
 */
export async function runSlashEntry(
  entry: string,
  chat: Chat,
  { signal, isTyped }: { readonly signal: AbortSignal; readonly isTyped: boolean },
): Promise<NextStep> {
  const { name, argument } = splitEntry(entry);
  const skill = trySplitSkillEntry(entry);
  if (skill !== undefined) return { ask: await buildSkillPrompt(skill, entry, chat, signal) };
  const ask = await buildCustomPrompt(entry, chat, signal);
  if (ask !== undefined) return { ask };
  const habit = findHabit(name, argument);
  if (habit !== undefined) return followHabit(habit, name, chat, { signal, isTyped });
  const command = findCommand(name);
  if (command === undefined) throw unknownCommandError(name, await chat.customCommands.list());
  if (command.isForTerminals && chat.isInEditor)
    throw new AppError('usage', `/${command.name} is for terminals`, { hint: 'Your editor does this itself.' });
  if (command.argument === undefined && argument !== '') {
    throw new AppError('usage', `/${name} takes no arguments`, { hint: `To send it as it is: /${sanitize(entry)}` });
  }
  if (!isTyped && !command.mayBegin) {
    throw new AppError('usage', `/${name} must be typed in the chat`, {
      hint: `To send it as it is: /${sanitize(entry)}`,
    });
  }
  return (await command.run(argument.trim(), chat, signal)) || undefined;
}

/** The command that the entry calls, if it only shows something: it is answered while a turn runs. */
export function findShowCommand(entry: string): SlashCommand | undefined {
  const { name, argument } = splitEntry(entry.trim());
  const command = entry.startsWith('/') && argument === '' ? findCommand(name) : undefined;
  return command?.onlyShows ? command : undefined;
}

async function followHabit(
  { entry, advice = '' }: FoundHabit,
  name: string,
  chat: Chat,
  how: Parameters<typeof runSlashEntry>[2],
): Promise<NextStep> {
  if (entry !== undefined) return runSlashEntry(entry, chat, how);
  if (!chat.lines.isTerminal) throw new AppError('usage', `/${name} does nothing here`, { hint: advice });
  await chat.view.say(advice);
  return undefined;
}

/** What the skill says goes before the notes, which go with this prompt, too. */
async function buildSkillPrompt(
  { name, words }: NonNullable<ReturnType<typeof trySplitSkillEntry>>,
  entry: string,
  chat: Chat,
  signal: AbortSignal,
): Promise<StoredContent> {
  const [text = ''] = await chat.run.activateSkills([name]);
  const content = await buildPrompt(chat, words, signal, { question: entry });
  return { ...content, parts: [{ text }, ...content.parts] };
}

/** Undefined if the entry calls no custom command, or one that a command of the table hides. Throws AppError. */
async function buildCustomPrompt(entry: string, chat: Chat, signal: AbortSignal): Promise<StoredContent | undefined> {
  if (!entry.startsWith('/') || findCommand(splitEntry(entry).name) !== undefined) return undefined;
  const prompt = await chat.customCommands.expand(
    entry,
    { approvalMode: findMode(chat.run), hasOtherInput: hasInput(chat) },
    signal,
  );
  await chat.view.showReports();
  if (prompt === undefined) return undefined;
  return buildPrompt(chat, prompt, signal, { allowsMentions: false, question: entry });
}

function hasInput({ attached, conversation }: Chat): boolean {
  return conversation.session.turns > 0 || Object.values(attached).some((each) => each.length > 0);
}

function splitEntry(entry: string): { readonly name: string; readonly argument: string } {
  const [, name = '', argument = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(entry) ?? [];
  return { name, argument };
}

const MAX_SUGGESTIONS = 3;

type CustomNames = Awaited<ReturnType<CustomCommands['list']>>;

function unknownCommandError(name: string, custom: CustomNames): AppError {
  const own = COMMANDS.flatMap((command) => [command.name, ...(command.aliases ?? [])]);
  const names = [...own, ...custom.map((each) => each.name), ...listHabitNames()];
  const beginning = names.filter((each) => each.startsWith(name.toLowerCase()));
  const near = (beginning.length > 0 ? beginning.slice(0, MAX_SUGGESTIONS) : findNearestNames(name, names)).map(
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
