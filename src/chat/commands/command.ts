import type { Content } from '../../core/content.ts';
import type { Chat } from '../chat.ts';
import type { Candidate } from '../line/source.ts';

/** What comes after a command: nothing, the end of the chat, or a prompt to be asked. */
export type Next = undefined | 'leave' | { readonly ask: Content };

/** A slash command. Help, completion and docs/chat.md all follow from this. */
export interface SlashCommand {
  /** Without its slash. */
  readonly name: string;
  readonly aliases?: readonly string[];
  /** What may stand after it, as help shows it: `[name]`. Absent: nothing. */
  readonly argument?: string;
  /** One line. */
  readonly help: string;
  /** What the argument could be. */
  readonly complete?: (chat: Chat) => readonly Candidate[] | Promise<readonly Candidate[]>;
  /** Does it, and says so. Throws AppError. */
  run(argument: string, chat: Chat, signal: AbortSignal): Promise<Next>;
}

/** The words of a line as a shell would see them: quotes and backslashes keep spaces together. */
export function wordsOf(text: string): readonly string[] {
  const words = text.matchAll(/(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|((?:\\.|[^\s"'\\])+))+/g);
  return [...words].map(([word]) =>
    word.replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/g, (_, double?: string, single?: string, escaped?: string) =>
      double === undefined ? (single ?? escaped ?? '') : double.replace(/\\(["\\])/g, '$1'),
    ),
  );
}
