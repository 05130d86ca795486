import { findLastWord } from '../core/text/trim.ts';
import type { RunFacts } from '../engine/run.ts';
import type { PromptArguments, Servers } from '../engine/tools/servers/servers.ts';
import { createPathSearch, type PathSearch } from '../input/path-search.ts';
import type { Chat } from './chat.ts';
import { type SlashCommand, splitWords } from './commands/command.ts';
import { HABITS } from './commands/habits.ts';
import { findServer } from './commands/servers.ts';
import { COMMANDS, findCommand, listCustomCommands } from './commands/table.ts';
import type { Candidate, Complete, Completion } from './line/source.ts';

const MAX_PATHS = 20;

/**
 * Completes slash commands, their arguments and `@paths`. The chat is looked up at each call because the line editor is
 * created before it.
 */
export function createCompleter(getChat: () => Chat | undefined): Complete {
  const findPaths = createPathSearch();
  return async (before, signal) => {
    const chat = getChat();
    if (chat === undefined) return undefined;
    try {
      return await completeEntry(chat, before, { findPaths, signal });
    } catch {
      // A failed completion must not disturb typing.
      return undefined;
    }
  };
}

async function completeEntry(
  chat: Chat,
  before: string,
  { findPaths, signal }: { readonly findPaths: PathSearch; readonly signal: AbortSignal },
): Promise<Completion | undefined> {
  const remote = await completeFromServers(chat.run.facts, before, signal);
  if (remote !== undefined) return remote;
  const [, name, gap, argument = ''] = /^\/([^\s/]*)(?:(\s+)([\s\S]*))?$/.exec(before) ?? [];
  if (name !== undefined && gap === undefined) {
    const servers = (chat.run.facts.servers?.all ?? []).filter(({ isUsable }) => isUsable);
    const prompts = servers.map((server) => ({ insert: `/${server.name}:`, hint: 'prompts of this MCP server' }));
    const own = [
      ...COMMANDS.map(toCandidate),
      ...COMMANDS.flatMap(toAliasCandidates),
      ...prompts,
      ...(await listCustomCommands(chat.customCommands)).map((custom) => ({
        insert: `/${custom.name} `,
        hint: custom.about,
      })),
    ];
    const isOwn = own.some(({ insert }) => insert.startsWith(before.toLowerCase()));
    return matchCandidates(0, before, isOwn ? own : [...own, ...HABIT_CANDIDATES]);
  }
  const command = findCommand(name ?? '');
  if (command?.complete !== undefined) {
    // A number is one of a list, and not the beginning of a name.
    if (/^\d+$/.test(argument)) return undefined;
    const all = (await command.complete(chat)).map(toWholeCandidate);
    return matchCandidates(before.length - argument.length, argument, all);
  }
  const word = findLastWord(before);
  const at = command?.name === 'file' ? '' : '@';
  if (!word.startsWith(at)) return undefined;
  const path = word.slice(at.length);
  const paths = await findPaths(path, { cwd: chat.app.cwd, most: MAX_PATHS });
  // A directory that was typed in full can be taken itself.
  const typed = path.endsWith('/') && paths.some((found) => found.startsWith(path)) ? [path] : [];
  return {
    start: before.length - at.length - path.length,
    candidates: [...typed, ...paths].map((found) => ({ insert: at + (isDirectoryPath(found) ? found : `${found} `) })),
  };
}

/** As a path search names it: with a slash at the end, which may be inside of quotes. */
function isDirectoryPath(path: string): boolean {
  return /\/"?$/.test(path);
}

function toCandidate({ name, help, argument }: SlashCommand): Candidate {
  const canRunAlone = argument === undefined || argument.startsWith('[');
  return {
    insert: `/${name}${argument === undefined ? '' : ' '}`,
    hint: help,
    isWhole: canRunAlone ? true : undefined,
  };
}

/** Only where none of gmn's own names begins like what is typed. */
const HABIT_CANDIDATES: readonly Candidate[] = HABITS.flatMap(({ names, entry, advice }) =>
  names
    .filter((name) => !name.includes(' '))
    .map((name) => ({
      insert: `/${name}`,
      hint: entry === undefined ? advice : describeHabit(entry),
      isWhole: true as const,
    })),
);

/** `/approve: Show which tool calls ask first`; the entry alone if it is a template. */
function describeHabit(entry: string): string {
  const [, name = ''] = /^\/(\S*)/.exec(entry) ?? [];
  const help = findCommand(name)?.help;
  return help === undefined ? entry : `${entry}: ${help}`;
}

/** An argument that ends with a space is followed by another. */
function toWholeCandidate(candidate: Candidate): Candidate {
  return { ...candidate, isWhole: candidate.insert.endsWith(' ') ? undefined : true };
}

function toAliasCandidates({ aliases = [], ...command }: SlashCommand): readonly Candidate[] {
  return aliases.map((name) => toCandidate({ ...command, name }));
}

/**
 * Completions for `/server:prompt`, its arguments and `@server:uri`; undefined if the text is none of these. Throws
 * AppError.
 */
async function completeFromServers(
  { servers }: RunFacts,
  before: string,
  signal: AbortSignal,
): Promise<Completion | undefined> {
  if (servers === undefined) return undefined;
  if (findServer(servers, before) !== undefined) return completeServerPrompt(servers, before, signal);
  const last = findLastWord(before);
  const mention = last.startsWith('@') ? last.slice(1) : '';
  const mentioned = findServer(servers, `/${mention}`);
  if (mentioned === undefined) return undefined;
  const resources = await servers.listResources(mentioned.server, signal);
  const all = resources.map(({ uri, name }) => ({ insert: `@${mentioned.server}:${uri} `, hint: name }));
  return matchCandidates(before.length - mention.length - 1, `@${mention}`, all);
}

async function completeServerPrompt(servers: Servers, before: string, signal: AbortSignal): Promise<Completion> {
  const { server = '', rest = '' } = findServer(servers, before) ?? {};
  const prompts = await servers.listPrompts(server, signal);
  const [, name = '', gap, text = ''] = /^(\S*)(?:(\s+)([\s\S]*))?$/.exec(rest) ?? [];
  if (gap === undefined) {
    const all = prompts.map((prompt) => ({ insert: `/${server}:${prompt.name} `, hint: prompt.description }));
    return matchCandidates(0, before, all);
  }
  const word = findLastWord(text);
  const wanted = prompts.find((prompt) => prompt.name === name)?.arguments ?? [];
  const [, argument = '', value = ''] = /^([^=]+)=(.*)$/.exec(word) ?? [];
  if (wanted.some((each) => each.name === argument)) {
    const given = parseGivenArguments(text.slice(0, text.length - word.length));
    const values = await servers.completePrompt(
      { server, prompt: name, argument: { name: argument, value }, given },
      signal,
    );
    // Not filtered by prefix: the server decides what matches the typed text.
    return {
      start: before.length - word.length,
      candidates: values.map((each) => ({ insert: `${argument}=${quoteCompletion(each)} ` })),
    };
  }
  const open = wanted.filter((argument) => !text.split(/\s+/).some((given) => given.startsWith(`${argument.name}=`)));
  const all = open.map((argument) => ({ insert: `${argument.name}=`, hint: argument.description }));
  return matchCandidates(before.length - word.length, word, all);
}

function parseGivenArguments(text: string): PromptArguments {
  return Object.fromEntries(
    splitWords(text).flatMap((word) => {
      const [, name, value = ''] = /^([^=]+)=([\s\S]*)$/.exec(word) ?? [];
      return name === undefined ? [] : [[name, value]];
    }),
  );
}

function quoteCompletion(value: string): string {
  return /^[^\s"'\\]+$/.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`;
}

/** The candidates that begin with the text typed from `start` on; if none does, those that contain it. */
function matchCandidates(start: number, typed: string, candidates: readonly Candidate[]): Completion {
  const wanted = typed.toLowerCase();
  const beginning = candidates.filter(({ insert }) => insert.toLowerCase().startsWith(wanted));
  const within = candidates.filter(({ insert }) => insert.toLowerCase().includes(wanted.replace(/^\//, '')));
  return { start, candidates: beginning.length > 0 ? beginning : within };
}
