import { nameByQuestion } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import { plural } from '../../core/text/format.ts';
import { findNearestNames } from '../../core/text/names.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { PromptArguments, ServerPrompt, Servers, UsedServer } from '../../engine/tools/servers/servers.ts';
import type { Chat } from '../chat.ts';
import { type NextStep, type SlashCommand, splitWords } from './command.ts';

export const MCP: SlashCommand = {
  name: 'mcp',
  argument: '[reload]',
  help: 'List the MCP servers, their state and their tools; reload restarts them with the current settings',
  complete: () => [{ insert: 'reload' }],
  async run(argument, { run, view }) {
    if (argument !== '' && argument !== 'reload') {
      throw new AppError('usage', `/mcp does not take ${sanitize(argument)}`, { hint: 'Use /mcp or /mcp reload.' });
    }
    if (argument === 'reload') {
      await run.reloadServers();
      await view.showReports();
    }
    const { all = [] } = run.facts.servers ?? {};
    if (all.length === 0) await view.say('No MCP servers are connected.');
    else await view.list(all.map((server) => [sanitize(server.name), formatServerLine(server)]));
  },
};

function formatServerLine({ name, state, tools, withheld }: UsedServer): string {
  const look = `changed; to review and allow it, run in a terminal: gmn mcp tools ${sanitize(name)}`;
  return [
    sanitize(state),
    ...(tools.length === 0 ? [] : [`${plural(tools.length, 'tool')}: ${tools.map(sanitize).join(', ')}`]),
    ...(withheld.length === 0 ? [] : [`not offered: ${withheld.map(sanitize).join(', ')} (${look})`]),
  ].join(' · ');
}

export function findServer(
  servers: Servers | undefined,
  entry: string,
): { readonly server: string; readonly rest: string } | undefined {
  const found = servers?.all.find(({ name, isUsable }) => isUsable && entry.startsWith(`/${name}:`));
  return found === undefined ? undefined : { server: found.name, rest: entry.slice(found.name.length + 2) };
}

/**
 * Runs an entry `/server:prompt name=value …`; undefined if the entry is something else. Throws AppError `usage` or
 * `mcp`.
 */
export async function buildServerPrompt(entry: string, chat: Chat, signal: AbortSignal): Promise<NextStep> {
  const { servers } = chat.run.facts;
  const named = findServer(servers, entry);
  if (named === undefined || servers === undefined) return undefined;
  const { server, rest } = named;
  const [, name = '', text = ''] = /^(\S*)\s*([\s\S]*)$/.exec(rest) ?? [];
  const prompts = await servers.listPrompts(server, signal);
  const prompt = prompts.find((candidate) => candidate.name === name);
  if (prompt === undefined) throw unknownPromptError(server, name, prompts);
  const parts = await servers.getPrompt({ server, name, args: parsePromptArguments(text, prompt) }, signal);
  return { ask: nameByQuestion({ role: 'user', parts }, entry) };
}

function unknownPromptError(server: string, name: string, prompts: readonly ServerPrompt[]): AppError {
  const names = prompts.map((prompt) => prompt.name);
  const near = findNearestNames(name, names);
  const shown = (near.length > 0 ? near : names.slice(0, 10)).map((word) => `/${sanitize(`${server}:${word}`)}`);
  const instead = near.length > 0 ? `Did you mean ${shown.join(' or ')}?` : `It has: ${shown.join(', ')}`;
  return new AppError('usage', `MCP server ${sanitize(server)} has no prompt ${sanitize(name)}`, {
    hint: names.length === 0 ? 'It has none.' : instead,
  });
}

/**
 * Takes `name=value` by name; other words fill the remaining arguments in order, and the last one takes all that are
 * left.
 */
function parsePromptArguments(text: string, prompt: ServerPrompt): PromptArguments {
  const names = prompt.arguments.map(({ name }) => name);
  const given = new Map<string, string>();
  const loose: string[] = [];
  for (const word of splitWords(text)) {
    const [, name = '', value = ''] = /^([^=]+)=([\s\S]*)$/.exec(word) ?? [];
    if (names.includes(name)) given.set(name, value);
    else loose.push(word);
  }
  const open = names.filter((name) => !given.has(name));
  for (const [index, name] of open.entries()) {
    const value = index === open.length - 1 ? loose.splice(0).join(' ') : (loose.shift() ?? '');
    if (value !== '') given.set(name, value);
  }
  const missing = prompt.arguments.filter(({ name, isRequired }) => isRequired && !given.has(name));
  if (missing.length > 0) {
    const wanted = missing.map(({ name }) => sanitize(name));
    throw new AppError('usage', `the prompt ${sanitize(prompt.name)} needs ${wanted.join(', ')}`, {
      hint: `Add: ${wanted.map((name) => `${name}=…`).join(' ')}`,
    });
  }
  if (loose.length === 0) return Object.fromEntries(given);
  throw new AppError('usage', `the prompt ${sanitize(prompt.name)} does not take ${sanitize(loose.join(' '))}`, {
    hint: names.length === 0 ? 'It takes no arguments.' : `It takes: ${names.map(sanitize).join(', ')}`,
  });
}
