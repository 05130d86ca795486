import { basename, isAbsolute } from 'node:path';
import { AppError } from '../core/error.ts';
import { decodeText } from '../core/text/decode.ts';
import { formatSize } from '../core/text/format.ts';
import { sniffMedia } from '../core/text/media.ts';
import { describeMedia } from '../core/text/picture.ts';
import { sanitize } from '../core/text/terminal.ts';
import { readInputFile } from '../input/files.ts';
import { findNamedFile } from '../input/named-file.ts';
import { readClipboard } from '../platform/process/clipboard.ts';
import { attachPictures, type Picture } from './attached.ts';
import type { Chat } from './chat.ts';
import { splitWords } from './commands/command.ts';
import type { Pasted } from './line/source.ts';

/** Ctrl+V: attaches the picture in the clipboard; if there is none, gives its text to insert. Never throws. */
export async function pasteClipboard({ app, attached }: Chat, signal: AbortSignal): Promise<Pasted> {
  try {
    const bytes = await readClipboard({ env: app.env, cwd: app.cwd, prefers: 'picture' }, signal);
    const picture = toPicture('clipboard', bytes);
    if (picture !== undefined) return { notice: attachPictures(attached, [picture]) };
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
export async function attachPastedPaths({ app, attached }: Chat, text: string): Promise<string | undefined> {
  try {
    const pictures: Picture[] = [];
    for (const path of listPicturePaths(text)) {
      const found = await findNamedFile(path, app);
      if (found?.kind !== 'file') return undefined;
      const picture = toPicture(basename(path), await readInputFile(found.path, path));
      if (picture === undefined) return undefined;
      pictures.push(picture);
    }
    return pictures.length === 0 ? undefined : attachPictures(attached, pictures);
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
