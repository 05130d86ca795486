import type { FilePart } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { FileSupport, OfficeGap } from '../core/files.ts';
import { type Decoded, decodeText } from '../core/text/decode.ts';
import { formatSize } from '../core/text/format.ts';
import { sniffMedia } from '../core/text/media.ts';
import { sniffOffice } from '../core/text/office.ts';

export type Unsendable = Extract<Decoded, { isText: false }> | { readonly reason: 'office'; readonly gap: OfficeGap };

export type Attachment = {
  /** As the user knows it, on one line. */
  readonly name: string;
  readonly bytes: number;
} & AttachedContent;

type AttachedContent = (
  | { readonly text: string }
  | { readonly mimeType: string; readonly data: string }
  /** An address that the backend reads itself. */
  | { readonly mimeType: string; readonly uri: string }
) & {
  readonly upload?: Upload;
};

export interface Upload {
  readonly path: string;
  readonly mimeType: string;
  /** `never`: its path must not end in a link. */
  readonly links: 'follow' | 'never';
}

/** An attachment of which nothing is in memory. */
export interface UploadedAttachment {
  readonly name: string;
  readonly bytes: number;
  readonly isUploaded: true;
  readonly upload: Upload;
  /** Made in advance for a file of many requests, so that it is read only once for its hash. */
  readonly part?: FilePart;
}

/** `type`: the media type, if it is known; guessed otherwise. */
export function toAttachment(
  bytes: Uint8Array,
  name: string,
  { support, type }: { readonly support: FileSupport; readonly type?: string },
): Attachment | Unsendable {
  const about = { name: toPlainName(name), bytes: bytes.length };
  const mimeType = type ?? guessMediaType(bytes, name, support);
  if (typeof mimeType === 'object') return mimeType;
  if (mimeType !== undefined) {
    return { ...about, mimeType, data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64') };
  }
  const decoded = decodeText(bytes);
  return decoded.isText ? { ...about, text: decoded.text } : decoded;
}

/** From its content, or the beginning of it; undefined for what is not media. */
export function guessMediaType(
  bytes: Uint8Array,
  name: string,
  { officeGap }: FileSupport,
): string | Extract<Unsendable, { reason: 'office' }> | undefined {
  const media = sniffMedia(bytes, name);
  if (media !== undefined) return media;
  const office = sniffOffice(bytes, name);
  return office === undefined || officeGap === undefined ? office : { reason: 'office', gap: officeGap };
}

/** Replaces control characters: a file name may have them. */
export function toPlainName(name: string): string {
  return name.replace(/\p{Cc}/gu, '?');
}

export function isAttachment<Item extends Attachment | UploadedAttachment>(value: Item | Unsendable): value is Item {
  return 'name' in value;
}

/** `is neither text nor media …`, to follow a name. */
export function describeUnsendable(item: Unsendable): string {
  if (item.reason !== 'office') return 'is neither text nor media that can be sent';
  return `is an Office file, which ${item.gap.model} does not read; -m ${item.gap.reader} does`;
}

export function officeError(name: string, { model, reader }: OfficeGap): AppError {
  return new AppError('usage', `${toPlainName(name)} is an Office file, which ${model} does not read`, {
    hint: `Ask a model that does: -m ${reader}, or /model ${reader} in a chat. Or convert it to PDF or text first.`,
  });
}

export function unsendableError(name: string, item: Unsendable): AppError {
  if (item.reason === 'office') return officeError(name, item.gap);
  const { reason, offset } = item;
  if (reason === 'nul') {
    return new AppError('usage', `${name} is neither text nor media that can be sent (NUL at byte ${offset})`, {
      hint: 'Send text, an image, a PDF, audio, video or an Office file; for a program or an archive, send what describes it.',
    });
  }
  const encoding = reason === 'utf8' ? 'UTF-8' : 'UTF-16';
  return new AppError('usage', `${name} is not valid ${encoding} (at byte ${offset})`, {
    hint: 'Convert it first, for example: iconv -f ISO-8859-1 -t UTF-8 <file> | gmn "…"',
  });
}

export const NO_FILE_SUPPORT: FileSupport = { hasUploads: false, hasBuckets: false, hint: '' };

export type Attachments = ReturnType<typeof createAttachments>;

type AnyAttachment = Attachment | UploadedAttachment;

export function createAttachments(support: FileSupport) {
  const items: AnyAttachment[] = [];
  const sizes = new Map<AnyAttachment, number>();
  const seen = new Set<string>();
  let total = 0;
  const findLargest = (isWanted: (item: AnyAttachment) => boolean) => {
    let found: { readonly item: AnyAttachment; readonly size: number } | undefined;
    for (const [item, size] of sizes) if (size > (found?.size ?? 0) && isWanted(item)) found = { item, size };
    return found?.item;
  };
  const put = (item: AnyAttachment, index: number, replaced: number): void => {
    for (const old of items.splice(index, replaced, item)) {
      total -= sizes.get(old) ?? 0;
      sizes.delete(old);
    }
    const size = measure(item);
    sizes.set(item, size);
    total += size;
  };
  const makeRoom = (more: number): void => {
    while (total + more > INLINE_LIMIT) {
      const largest = support.hasUploads ? findLargest(({ upload }) => upload !== undefined) : undefined;
      if (largest?.upload === undefined)
        throw tooMuchError(
          findLargest(() => true),
          support,
        );
      const { name, bytes, upload } = largest;
      put({ name, bytes, upload, isUploaded: true }, items.indexOf(largest), 1);
    }
  };
  return {
    items: items as readonly AnyAttachment[],
    support,
    /** True only the first time: a file is sent once, however often it is named. */
    isNew(realPath: string): boolean {
      if (seen.has(realPath)) return false;
      seen.add(realPath);
      return true;
    },
    /**
     * At the end, or before the item at `index`. What does not fit into a request is uploaded, the largest first; throws
     * AppError `usage` if that is not possible.
     */
    add(item: AnyAttachment, index = items.length): void {
      put(item, index, 0);
      makeRoom(0);
    },
    makeRoomFor: (text: string): void => makeRoom(Buffer.byteLength(text)),
  };
}

function measure(item: AnyAttachment): number {
  if ('text' in item) return Buffer.byteLength(item.text);
  return 'data' in item ? item.data.length : 0;
}

function tooMuchError(largest: Pick<Attachment, 'name' | 'bytes'> | undefined, { hint }: FileSupport): AppError {
  const culprit = largest === undefined ? '' : `; the largest is ${largest.name} (${formatSize(largest.bytes)})`;
  return new AppError('usage', `the input is larger than ${INLINE_LIMIT_NAME}, the most that can be sent${culprit}`, {
    hint: `Send less. Images, PDF, audio and video grow by a third on the way.${hint && ` ${hint}`}`,
  });
}

export function attachmentTooLargeError(name: string, bytes: number, { hint }: Pick<FileSupport, 'hint'>): AppError {
  return new AppError('usage', `${name} is ${formatSize(bytes)}; at most ${INLINE_LIMIT_NAME} can be sent`, {
    hint: hint || 'Send a part of it, for example: head -c 1M <file> | gmn "…"',
  });
}

/** Bytes that can be sent inline in one request: text and base64 together. */
export const INLINE_LIMIT = 20_000_000;

export const INLINE_LIMIT_NAME = '20 MB';

/** For one directory or glob. */
export const FILE_COUNT_LIMIT = 1000;

export const ENTRY_LIMIT = 100_000;
