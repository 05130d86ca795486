import { AppError } from '../core/error.ts';
import { type Decoded, decodeText } from '../core/text/decode.ts';
import { formatSize } from '../core/text/format.ts';
import { sniffMedia } from '../core/text/media.ts';

type NotText = Extract<Decoded, { isText: false }>;

export type Attachment = {
  /** As the user knows it, on one line. */
  readonly name: string;
  /** Size before encoding. */
  readonly bytes: number;
} & ({ readonly text: string } | { readonly mimeType: string; readonly data: string });

/** Media of the given or detected type, else text; or why it is neither. */
export function toAttachment(bytes: Uint8Array, name: string, type?: string): Attachment | NotText {
  const about = { name: toPlainName(name), bytes: bytes.length };
  const mimeType = type ?? sniffMedia(bytes, name);
  if (mimeType !== undefined) {
    return { ...about, mimeType, data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64') };
  }
  const decoded = decodeText(bytes);
  return decoded.isText ? { ...about, text: decoded.text } : decoded;
}

/** Replaces control characters: a file name may have them. */
export function toPlainName(name: string): string {
  return name.replace(/\p{Cc}/gu, '?');
}

export function isAttachment(value: Attachment | NotText): value is Attachment {
  return 'name' in value;
}

export function notTextError(name: string, { reason, offset }: NotText): AppError {
  if (reason === 'nul') {
    return new AppError('usage', `${name} is neither text nor media that can be sent (NUL at byte ${offset})`, {
      hint: 'Send text, an image, a PDF, audio or video; for a program or an archive, send what describes it.',
    });
  }
  const encoding = reason === 'utf8' ? 'UTF-8' : 'UTF-16';
  return new AppError('usage', `${name} is not valid ${encoding} (at byte ${offset})`, {
    hint: 'Convert it first, for example: iconv -f ISO-8859-1 -t UTF-8 <file> | gmn "…"',
  });
}

export interface Attachments {
  readonly items: readonly Attachment[];
  /** True only the first time: a file is sent once, however often it is named. */
  isNew(realPath: string): boolean;
  /** At the end, or before the item at `index`. Throws AppError `usage` if the total is more than can be sent. */
  add(item: Attachment, index?: number): void;
  /**
   * Throws AppError `usage`, with the limit and the largest item, if the items and `text` do not fit in one request.
   */
  checkRoomFor(text: string): void;
}

export function createAttachments(): Attachments {
  const items: Attachment[] = [];
  const seen = new Set<string>();
  let total = 0;
  let largest: { readonly name: string; readonly inline: number; readonly bytes: number } | undefined;
  const check = (inline: number): void => {
    if (inline > INLINE_LIMIT) throw tooMuchError(largest);
  };
  return {
    items,
    isNew: (realPath) => {
      if (seen.has(realPath)) return false;
      seen.add(realPath);
      return true;
    },
    add: (item, index = items.length) => {
      items.splice(index, 0, item);
      const inline = 'text' in item ? Buffer.byteLength(item.text) : item.data.length;
      if (largest === undefined || inline > largest.inline) largest = { name: item.name, inline, bytes: item.bytes };
      total += inline;
      check(total);
    },
    checkRoomFor: (text) => check(total + Buffer.byteLength(text)),
  };
}

function tooMuchError(largest: { readonly name: string; readonly bytes: number } | undefined): AppError {
  const culprit = largest === undefined ? '' : `; the largest is ${largest.name} (${formatSize(largest.bytes)})`;
  return new AppError('usage', `the input is larger than ${INLINE_LIMIT_NAME}, the most that can be sent${culprit}`, {
    hint: 'Send less. Images, PDF, audio and video grow by a third on the way.',
  });
}

export function attachmentTooLargeError(name: string, bytes: number): AppError {
  return new AppError('usage', `${name} is ${formatSize(bytes)}; at most ${INLINE_LIMIT_NAME} can be sent`, {
    hint: 'Send a part of it, for example: head -c 1M <file> | gmn "…"',
  });
}

/** Bytes that can be sent inline in one request: text and base64 together. */
export const INLINE_LIMIT = 20_000_000;

export const INLINE_LIMIT_NAME = '20 MB';

/** For one directory or glob. */
export const FILE_COUNT_LIMIT = 1000;

/** Directory entries that one walk visits. */
export const ENTRY_LIMIT = 100_000;
