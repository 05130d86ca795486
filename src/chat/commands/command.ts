import type { StoredContent } from '../../core/content.ts';
import type { Chat } from '../chat.ts';
import type { Candidate } from '../line/source.ts';

export type NextStep = undefined | 'leave' | { readonly ask: StoredContent };

export interface SlashCommand {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** As help shows it: `[name]`. Absent if the command takes no argument. */
  readonly argument?: string;
  readonly help: string;
  readonly complete?: (chat: Chat) => readonly Candidate[] | Promise<readonly Candidate[]>;
  run(argument: string, chat: Chat, signal: AbortSignal): Promise<NextStep> | Promise<void>;
}

export function splitWords(text: string): readonly string[] {
  const words = text.matchAll(/(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|((?:\\.|[^\s"'\\])+))+/g);
  return [...words].map(([word]) =>
    word.replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/g, (_, double?: string, single?: string, escaped?: string) =>
      double === undefined ? (single ?? escaped ?? '') : double.replace(/\\(["\\])/g, '$1'),
    ),
  );
}
