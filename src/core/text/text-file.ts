import { AppError } from '../error.ts';
import { decodeText } from './decode.ts';
import { countMatches } from './trim.ts';

export interface TextFile {
  readonly text: string;
  /** Encodes another text the same way, with a byte order mark if there was one. Throws AppError `usage`. */
  encode(text: string): Uint8Array;
}

export const NEW_TEXT_FILE: TextFile = { text: '', encode: (text) => Buffer.from(requireWellFormed(text), 'utf8') };

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
