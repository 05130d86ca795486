import type { Chat } from '../chat/chat.ts';
import type { NextStep } from '../chat/commands/command.ts';
import { buildServerPrompt } from '../chat/commands/servers.ts';
import { listCustomCommands, listOffered, runSlashEntry } from '../chat/commands/table.ts';
import type { AvailableCommand } from './sdk.ts';

/** The commands of a chat that mean something in an editor, and the user's own; all strings of the latter are untrusted. */
export async function listEditorCommands(chat: Chat): Promise<AvailableCommand[]> {
  const custom = await listCustomCommands(chat.customCommands);
  return [
    ...listOffered(chat).map(({ name, help, argument }) => ({
      name,
      description: help,
      input: argument ? { hint: argument } : undefined,
    })),
    ...custom.map(({ name, about }) => ({ name, description: about, input: { hint: '[words]' } })),
  ];
}

/** Those of the MCP servers, which have to answer first. A server that does not has none. */
export async function listServerPrompts({ run }: Chat, signal: AbortSignal): Promise<AvailableCommand[]> {
  const { servers } = run.facts;
  const usable = servers?.all.filter(({ isUsable }) => isUsable) ?? [];
  const lists = await Promise.all(
    usable.map(async ({ name: server }) => {
      const prompts = (await servers?.listPrompts(server, signal).catch(() => [])) ?? [];
      return prompts.map(({ name, description, arguments: args }) => ({
        name: `${server}:${name}`,
        description: description ?? `A prompt of ${server}`,
        input: args.length === 0 ? undefined : { hint: args.map((each) => `${each.name}=…`).join(' ') },
      }));
    }),
  );
  return lists.flat();
}

/** Runs what begins with a slash, as a chat does. Throws AppError. */
export async function runEditorCommand(entry: string, chat: Chat, signal: AbortSignal): Promise<NextStep> {
  return (await buildServerPrompt(entry, chat, signal)) ?? runSlashEntry(entry, chat, { signal, isTyped: true });
}
