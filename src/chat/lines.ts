import type { App } from '../core/app.ts';
import { createTerminalInput } from '../platform/terminal/input.ts';
import { isInteractive } from '../platform/terminal/io.ts';
import type { Chat } from './chat.ts';
import { createCompleter } from './completion.ts';
import { createEntryHistory } from './line/entry-history.ts';
import { pipedLines } from './line/piped-source.ts';
import type { LineSource } from './line/source.ts';
import { terminalLines } from './line/terminal-source.ts';
import { attachPastedPaths, pasteClipboard } from './pictures.ts';
import { formatStatus } from './window.ts';

/** What is typed, or comes from a pipe. The chat is looked up when it is needed: this is opened before it. */
export function openLines(
  { clock, env, signal, homes, io, stdin }: App,
  isPlain: boolean,
  findChat: () => Chat | undefined,
): LineSource {
  if (!isInteractive()) return pipedLines(stdin.read(signal));
  const withChat = <Result>(work: (chat: Chat) => Result): Result | undefined => {
    const chat = findChat();
    return chat && work(chat);
  };
  return terminalLines({
    terminal: createTerminalInput(),
    err: io.err,
    clock,
    env: isPlain ? { ...env, TERM: 'dumb' } : env,
    signal,
    history: createEntryHistory(`${homes().gmn}/history`, { clock, signal }),
    complete: createCompleter(findChat),
    status: () => withChat(formatStatus),
    paste: async (pasted) => withChat((chat) => pasteClipboard(chat, pasted)) ?? { text: '' },
    attach: async (text) => withChat((chat) => attachPastedPaths(chat, text)),
  });
}
