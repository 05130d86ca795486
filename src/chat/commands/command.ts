import type { StoredContent } from '../../core/content.ts';
import type { Chat } from '../chat.ts';
import type { Candidate, ReadOptions } from '../line/source.ts';

/** What the next line begins with, and what is said below it. */
export type NextLine = Pick<ReadOptions, 'draft' | 'notice'>;

export type NextStep = undefined | 'leave' | NextPrompt | { readonly line: NextLine };

export interface NextPrompt {
  readonly ask: StoredContent;
  /** Takes back what was allowed for this turn alone; is called however the turn ends. */
  readonly release?: () => void;
  /** Is called when the turn has ended, even if it failed. */
  readonly onEnded?: () => Promise<void>;
}

export interface SlashCommand {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** As help shows it: `[name]`. Absent if the command takes no argument. */
  readonly argument?: string;
  readonly help: string;
  /**
   * Whether it may be the prompt of the command line, which others may have written: it changes nothing but the conversation
   * without a question.
   */
  readonly mayBegin?: true;
  /** It only shows something, so it is answered at once while a turn or a command runs. */
  readonly onlyShows?: true;
  /** Where an editor shows the conversation it has no use: the editor itself does that. */
  readonly isForTerminals?: true;
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
