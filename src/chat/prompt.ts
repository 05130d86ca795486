import { resolve } from 'node:path';
import { type Content, nameByQuestion, type StoredContent } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { Notify } from '../core/event.ts';
import { NO_STDIN } from '../core/io.ts';
import { sanitize } from '../core/text/terminal.ts';
import { buildPromptContent } from '../input/prompt.ts';
import { inspectPath } from '../platform/files/read.ts';
import { checkRoomForPictures, takeAttached } from './attached.ts';
import type { Chat } from './chat.ts';

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
  const { attached, changes, view } = chat;
  const shown: ShownFile[] = [];
  try {
    const source = {
      words,
      allowsMentions,
      files: attached.files,
      onAttached: (...file: ShownFile) => void shown.push(file),
    };
    const content = await buildContent(chat, { ...source, notify: view.notify }, signal);
    await view.showReports();
    checkRoomForPictures(attached, content.parts);
    for (const file of shown) await changes.markShown(...file);
    for (const { label } of attached.pictures) await view.showNotice(`+ ${label}`);
    return nameByQuestion({ role: 'user', parts: [...takeAttached(attached), ...content.parts] }, question);
  } catch (thrown) {
    if (!signal.aborted && attached.files.length > 0) await dropBadFiles(chat, signal);
    throw thrown;
  }
}

interface PromptOptions {
  readonly allowsMentions?: boolean;
  /** What was typed, if the words are made from it. */
  readonly question?: string;
}

type ShownFile = readonly [path: string, bytes: Uint8Array];

interface PromptSource {
  readonly words: string;
  readonly allowsMentions: boolean;
  readonly files: readonly string[];
  readonly onAttached: (path: string, bytes: Uint8Array) => void;
  readonly notify: Notify;
}

function buildContent(
  { run: { facts }, app: { cwd, env, homes, clock } }: Chat,
  { words, ...source }: PromptSource,
  signal: AbortSignal,
): Promise<Content> {
  return buildPromptContent({
    ...source,
    ...{ prompt: words, cwd, env, homes, clock, signal },
    // Entries come through the line source; nothing else may read stdin.
    ...{ stdin: NO_STDIN, stdinMode: 'never' },
    fileSupport: facts.model.fileSupport,
    readResource: facts.servers?.readResource,
  });
}

/** Otherwise a file that cannot be sent would make every later prompt fail. */
async function dropBadFiles(chat: Chat, signal: AbortSignal): Promise<void> {
  const { attached, view } = chat;
  const isSendable = async (files: readonly string[]): Promise<boolean> => {
    try {
      const source = { words: 'x', allowsMentions: false, files, onAttached: () => {}, notify: () => {} };
      await buildContent(chat, source, signal);
      return true;
    } catch {
      return false;
    }
  };
  const sendable = await selectSendable(attached.files, isSendable);
  const dropped = attached.files.filter((path) => !sendable.includes(path));
  attached.files = sendable;
  if (dropped.length > 0) await view.showNotice(`No longer attached: ${dropped.map(sanitize).join(', ')}`);
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
