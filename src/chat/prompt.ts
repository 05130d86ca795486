import type { Content, Part } from '../core/content.ts';
import { promptContent } from '../input/prompt.ts';
import type { Stdin } from '../platform/stdin.ts';
import type { Chat } from './chat.ts';

/** Entries come through the line source; nothing else reads there. */
const NO_STDIN: Stdin = {
  kind: () => 'none',
  isTerminal: async () => false,
  read: async function* () {},
};

/**
 * What is sent for the words of a person: the files they mention with `@` or named before, then the notes, then the words.
 * Tells what is attached. What goes along goes once. Throws AppError `usage`; files and notes then wait for the next one.
 */
export async function promptOf(chat: Chat, words: string, signal: AbortSignal): Promise<Content> {
  const shown: (readonly [path: string, bytes: Uint8Array])[] = [];
  const events = promptContent({
    prompt: words,
    files: chat.files,
    stdinMode: 'never',
    mentions: true,
    attached: (...file) => void shown.push(file),
    ...(chat.servers === undefined ? {} : { readResource: chat.servers.readResource }),
    cwd: chat.cwd,
    env: chat.env,
    stdin: NO_STDIN,
    clock: chat.clock,
    signal,
  });
  for (;;) {
    const step = await events.next();
    if (step.done) {
      for (const file of shown) await chat.changes.shown(...file);
      return { role: 'user', parts: [...takenNotes(chat), ...step.value.parts] };
    }
    if (step.value.type === 'notice') await chat.note(step.value.message);
  }
}

function takenNotes(chat: Chat): readonly Part[] {
  const parts = chat.notes.map((text) => ({ text }));
  chat.notes = [];
  chat.files = [];
  return parts;
}
