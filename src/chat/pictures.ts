import { basename, isAbsolute } from 'node:path';
import type { Part } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import { decodeText } from '../core/text/decode.ts';
import { formatSize } from '../core/text/format.ts';
import { sniffMedia } from '../core/text/media.ts';
import { describeMedia } from '../core/text/picture.ts';
import { sanitize } from '../core/text/terminal.ts';
import { INLINE_LIMIT, INLINE_LIMIT_NAME } from '../input/attachment.ts';
import { readInputFile } from '../input/files.ts';
import { findNamedFile } from '../input/named-file.ts';
import { readClipboard } from '../platform/process/clipboard.ts';
import type { Chat, Picture } from './chat.ts';
import { splitWords } from './commands/command.ts';
import type { Pasted } from './line/source.ts';

/** Ctrl+V: attaches the picture in the clipboard; if there is none, gives its text to insert. Never throws. */
export async function pasteClipboard(chat: Chat, signal: AbortSignal): Promise<Pasted> {
  try {
    const bytes = await readClipboard({ env: chat.env, cwd: chat.cwd, prefers: 'picture' }, signal);
    const picture = toPicture('clipboard', bytes);
    if (picture !== undefined) return { notice: attachPictures(chat, [picture]) };
    const decoded = decodeText(bytes);
    return decoded.isText ? { text: decoded.text } : { notice: 'The clipboard holds nothing that can be sent.' };
  } catch (thrown) {
    const { message } = AppError.from(thrown);
    return { notice: `${sanitize(message)}. To attach a picture: @path, or drag its file into the window.` };
  }
}

/**
 * Attaches pasted text that is nothing but the absolute paths of pictures, as terminals type them when files are dropped
 * into the window. Returns a notice; undefined if the text is anything else. Never throws.
 */
export async function attachPastedPaths(chat: Chat, text: string): Promise<string | undefined> {
  try {
    const pictures: Picture[] = [];
    for (const path of listPicturePaths(text)) {
      const found = await findNamedFile(path, chat);
      if (found?.kind !== 'file') return undefined;
      const picture = toPicture(basename(path), await readInputFile(found.path, path));
      if (picture === undefined) return undefined;
      pictures.push(picture);
    }
    return pictures.length === 0 ? undefined : attachPictures(chat, pictures);
  } catch (thrown) {
    const { fault, message } = AppError.from(thrown);
    return fault === 'usage' ? sanitize(message) : undefined;
  }
}

const MAX_PASTED = 8192;
const PICTURE_NAME = /\.(?:png|jpe?g|gif|webp|heic|heif)$/i;

/** Quoted or with escaped spaces, as a shell reads them, plain, or as `file://`; empty if anything else is in the text. */
export function listPicturePaths(text: string): readonly string[] {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > MAX_PASTED) return [];
  const readings = [splitWords(trimmed), [trimmed]].map((words) => words.map(toPath));
  return readings.find((paths) => paths.every((path) => isAbsolute(path) && PICTURE_NAME.test(path))) ?? [];
}

function toPath(word: string): string {
  try {
    if (!word.startsWith('file://')) return word;
    // `/C:/…` on Windows.
    return decodeURIComponent(new URL(word).pathname).replace(/^\/(?=[A-Za-z]:)/, '');
  } catch {
    return '';
  }
}

function toPicture(name: string, bytes: Uint8Array): Picture | undefined {
  const mimeType = sniffMedia(bytes, name);
  if (!mimeType?.startsWith('image/')) return undefined;
  return {
    name: sanitize(name),
    label: `${sanitize(name)} (${describeMedia(mimeType, bytes)}, ${formatSize(bytes.length)})`,
    part: { inlineData: { mimeType, data: Buffer.from(bytes).toString('base64') } },
  };
}

function attachPictures(chat: Chat, pictures: readonly Picture[]): string {
  const all = [...chat.pictures, ...pictures];
  const labels = pictures.map(({ label }) => label).join(', ');
  if (measureParts(all.map(({ part }) => part)) > INLINE_LIMIT) {
    return `Not attached: ${labels}. At most ${INLINE_LIMIT_NAME} can be sent; a picture grows by a third.`;
  }
  chat.pictures = all;
  return `+ ${labels}. /file - drops what is attached.`;
}

/** Throws AppError `usage` if the attached pictures are too much beside the rest of the prompt. */
export function checkRoomForPictures({ pictures }: Chat, rest: readonly Part[]): void {
  if (pictures.length === 0 || measureParts([...pictures.map(({ part }) => part), ...rest]) <= INLINE_LIMIT) return;
  throw new AppError(
    'usage',
    `the pictures and the rest are larger than ${INLINE_LIMIT_NAME}, the most that can be sent`,
    {
      hint: 'To drop what is attached: /file -',
    },
  );
}

/** Bytes as they are sent inline. */
function measureParts(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => {
    if ('inlineData' in part) return sum + part.inlineData.data.length;
    return sum + ('text' in part ? Buffer.byteLength(part.text) : 0);
  }, 0);
}

export function takePictures(chat: Chat): readonly Part[] {
  const { pictures } = chat;
  chat.pictures = [];
  return pictures.flatMap(({ name, part }) => (pictures.length > 1 ? [{ text: `=== ${name} ===` }, part] : [part]));
}
