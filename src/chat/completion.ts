import { lastWord } from '../core/text/trim.ts';
import { pathsLike } from '../input/path-search.ts';
import { found } from './candidates.ts';
import type { Chat } from './chat.ts';
import type { SlashCommand } from './commands/command.ts';
import { COMMANDS } from './commands/table.ts';
import type { Candidate, Complete, Completion } from './line/source.ts';
import { remoteCompletion } from './remote-completion.ts';

const MAX_PATHS = 20;

/** Completes slash commands, what they take, and `@paths`. `chat` is asked for late: the line editor is made before it. */
export function completion(chatOf: () => Chat | undefined): Complete {
  return async (before, signal) => {
    const chat = chatOf();
    if (chat === undefined) return undefined;
    try {
      return await completed(chat, before, signal);
    } catch {
      // A completion is a courtesy.
      return undefined;
    }
  };
}

async function completed(chat: Chat, before: string, signal: AbortSignal): Promise<Completion | undefined> {
  const remote = await remoteCompletion(chat, before, signal);
  if (remote !== undefined) return remote;
  const [, name, gap, argument = ''] = /^\/([^\s/]*)(?:(\s+)([\s\S]*))?$/.exec(before) ?? [];
  if (name !== undefined && gap === undefined) {
    const servers = (chat.assistant.servers?.all ?? []).filter(({ isUsable }) => isUsable);
    const prompts = servers.map((server) => ({ insert: `/${server.name}:`, hint: 'prompts of this MCP server' }));
    return found(0, before, [...COMMANDS.map(named), ...COMMANDS.flatMap(aliased), ...prompts]);
  }
  const command = COMMANDS.find((candidate) => candidate.name === name || candidate.aliases?.includes(name ?? ''));
  if (command?.complete !== undefined) {
    return found(before.length - argument.length, argument, await command.complete(chat));
  }
  const word = lastWord(before);
  const at = command?.name === 'file' ? '' : '@';
  if (!word.startsWith(at)) return undefined;
  const path = word.slice(at.length);
  const paths = await pathsLike(path, { cwd: chat.cwd, most: MAX_PATHS, signal });
  return {
    start: before.length - at.length - path.length,
    candidates: paths.map((insert) => ({ insert: at + insert })),
  };
}

function named({ name, help, argument }: SlashCommand): Candidate {
  return { insert: `/${name}${argument === undefined ? '' : ' '}`, hint: help };
}

function aliased({ aliases = [], ...command }: SlashCommand): readonly Candidate[] {
  return aliases.map((name) => named({ ...command, name }));
}
