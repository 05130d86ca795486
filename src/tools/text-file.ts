import { AppError } from '../core/error.ts';
import { decodeText } from '../core/text/decode.ts';
import { plural } from '../core/text/format.ts';
import { countMatches } from '../core/text/trim.ts';
import type { Place } from './workspace/fence.ts';
import { MAX_FILE_BYTES, tooLargeToWriteError } from './workspace/workspace.ts';

export interface TextFile {
  readonly text: string;
  /** Encodes another text the same way, with a byte order mark if there was one. Throws AppError `usage`. */
  encode(text: string): Uint8Array;
}

const NEW_TEXT_FILE: TextFile = { text: '', encode: (text) => Buffer.from(requireWellFormed(text), 'utf8') };

export function encodeText(place: Place, before: TextFile | undefined, text: string): Uint8Array {
  const bytes = (before ?? NEW_TEXT_FILE).encode(text);
  if (bytes.length > MAX_FILE_BYTES) throw tooLargeToWriteError(place);
  return bytes;
}

export function formatCutLinks(count: number): string {
  return count === 0 ? '' : ` The file had ${plural(count, 'other hard link')}: the old content is still there.`;
}

/** The text of a file; undefined if it is not valid UTF-8, or UTF-16 with a byte order mark. Never throws. */
export function decodeTextFile(bytes: Uint8Array): TextFile | undefined {
  const decoded = decodeText(bytes);
  if (!decoded.isText) return undefined;
  const { text } = decoded;
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { text, encode: (next) => encodeUtf16(next) };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { text, encode: (next) => encodeUtf16(next).swap16() };
  const mark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? '\uFEFF' : '';
  return { text, encode: (next) => Buffer.from(mark + requireWellFormed(next), 'utf8') };
}

function encodeUtf16(text: string): Buffer {
  return Buffer.from(`\uFEFF${requireWellFormed(text)}`, 'utf16le');
}

function requireWellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  throw new AppError('usage', 'the text has half a character in it', { hint: 'Send whole Unicode characters.' });
}

export function findLineEnding(text: string): string {
  const pairs = countMatches(text, /\r\n/g);
  const returns = countMatches(text, /\r(?!\n)/g);
  const feeds = countMatches(text, /(?<!\r)\n/g);
  if (pairs > feeds && pairs >= returns) return '\r\n';
  return returns > feeds ? '\r' : '\n';
}
