import type { Content } from '../../core/content.ts';
import type { Chat } from '../chat.ts';
import type { Candidate } from '../line/source.ts';

/** What follows a command: nothing, the end of the chat, or a prompt to send. */
export type NextStep = undefined | 'leave' | { readonly ask: Content };

/** Help, completion and the check of docs/chat.md are derived from this. */
export interface SlashCommand {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** As help shows it: `[name]`. Absent if the command takes no argument. */
  readonly argument?: string;
  readonly help: string;
  readonly complete?: (chat: Chat) => readonly Candidate[] | Promise<readonly Candidate[]>;
  run(argument: string, chat: Chat, signal: AbortSignal): Promise<NextStep>;
}

/** Splits a line into words as a shell does: quotes and backslashes keep spaces together. */
export function splitWords(text: string): readonly string[] {
  const words = text.matchAll(/(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|((?:\\.|[^\s"'\\])+))+/g);
  return [...words].map(([word]) =>
    word.replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/g, (_, double?: string, single?: string, escaped?: string) =>
      double === undefined ? (single ?? escaped ?? '') : double.replace(/\\(["\\])/g, '$1'),
    ),
  );
}
