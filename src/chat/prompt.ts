import { resolve } from 'node:path';
import { type Content, nameByQuestion, type Part, type StoredContent } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { TurnEvent } from '../core/event.ts';
import { sanitize } from '../core/text/terminal.ts';
import { buildPromptContent } from '../input/prompt.ts';
import { inspectPath } from '../platform/files/read.ts';
import type { Stdin } from '../platform/terminal/stdin.ts';
import type { Chat } from './chat.ts';
import { checkRoomForPictures, takePictures } from './pictures.ts';

/** Entries come through the line source; nothing else may read stdin. */
const NO_STDIN: Stdin = {
  kind: () => 'none',
  isTerminal: async () => false,
  read: async function* () {},
};

/**
 * Builds the prompt for an entry: the notes, the attached files (named before or mentioned with `@`), the text. Reports
 * what is attached. Files and notes are sent once. Throws AppError `usage`; files and notes then stay for the next
 * prompt, except the files that caused the error. In a filled template an `@` mentions nothing.
 */
export async function buildPrompt(
  chat: Chat,
  words: string,
  signal: AbortSignal,
  { allowsMentions = true, question = words }: PromptOptions = {},
): Promise<StoredContent> {
  const shown: (readonly [path: string, bytes: Uint8Array])[] = [];
  try {
    const events = buildContent(
      chat,
      { words, allowsMentions, files: chat.files, onAttached: (...file) => void shown.push(file) },
      signal,
    );
    const content = await drainContent(events, chat.showNotice);
    checkRoomForPictures(chat, content.parts);
    for (const file of shown) await chat.changes.markShown(...file);
    for (const { label } of chat.pictures) await chat.showNotice(`+ ${label}`);
    chat.files = [];
    const parts = [...takeNotes(chat), ...takePictures(chat), ...content.parts];
    return nameByQuestion({ role: 'user', parts }, question);
  } catch (thrown) {
    if (!signal.aborted && chat.files.length > 0) await dropBadFiles(chat, signal);
    throw thrown;
  }
}

interface PromptOptions {
  readonly allowsMentions?: boolean;
  /** What was typed, if the words are made from it. */
  readonly question?: string;
}

interface PromptSource {
  readonly words: string;
  readonly allowsMentions: boolean;
  readonly files: readonly string[];
  readonly onAttached: (path: string, bytes: Uint8Array) => void;
}

function buildContent(
  { assistant: { servers, fileSupport }, cwd, env, homes, clock }: Chat,
  { words, allowsMentions, files, onAttached }: PromptSource,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, Content> {
  return buildPromptContent({
    ...{
      prompt: words,
      allowsMentions,
      files,
      onAttached,
      cwd,
      env,
      homes,
      clock,
      signal,
      stdin: NO_STDIN,
      fileSupport,
    },
    stdinMode: 'never',
    readResource: servers?.readResource,
  });
}

async function drainContent(
  events: AsyncGenerator<TurnEvent, Content>,
  showNotice: (text: string) => Promise<void>,
): Promise<Content> {
  for (;;) {
    const step = await events.next();
    if (step.done) return step.value;
    if (step.value.type === 'notice') await showNotice(step.value.message);
  }
}

/** Otherwise a file that cannot be sent would make every later prompt fail. */
async function dropBadFiles(chat: Chat, signal: AbortSignal): Promise<void> {
  const isSendable = async (files: readonly string[]): Promise<boolean> => {
    try {
      const source = { words: 'x', allowsMentions: false, files, onAttached: () => {} };
      await drainContent(buildContent(chat, source, signal), async () => {});
      return true;
    } catch {
      return false;
    }
  };
  const sendable = await selectSendable(chat.files, isSendable);
  const dropped = chat.files.filter((path) => !sendable.includes(path));
  chat.files = sendable;
  if (dropped.length > 0) await chat.showNotice(`No longer attached: ${dropped.map(sanitize).join(', ')}`);
}

function takeNotes(chat: Chat): readonly Part[] {
  const parts = chat.notes.map((text) => ({ text }));
  chat.notes = [];
  return parts;
}

/** Throws AppError `usage` if a path to attach does not exist; a pattern is checked when it is used. */
export async function requireFile(path: string, cwd: string): Promise<void> {
  if (/[*?[{]/.test(path) || (await inspectPath(resolve(cwd, path), path)) !== undefined) return;
  throw new AppError('usage', `no such file: ${sanitize(path)}`, { hint: `Paths start at ${sanitize(cwd)}.` });
}

/** The paths that pass `isSendable`; none if each passes alone but not all together. */
export async function selectSendable(
  paths: readonly string[],
  isSendable: (paths: readonly string[]) => Promise<boolean>,
): Promise<readonly string[]> {
  if (await isSendable(paths)) return paths;
  const sendable: string[] = [];
  for (const path of paths) if (await isSendable([path])) sendable.push(path);
  return sendable.length === paths.length ? [] : sendable;
}
