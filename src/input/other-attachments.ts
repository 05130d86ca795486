import { extname } from 'node:path';
import { AppError } from '../core/error.ts';
import type { FileSupport } from '../core/files.ts';
import { decodeText } from '../core/text/decode.ts';
import { guessMediaType, isAttachment, toAttachment, unsendableError } from './attachment.ts';
import { addNamedFile, type FileContext, missingFileError } from './files.ts';
import { findNamedFile } from './named-file.ts';
import type { OtherAttachments } from './prompt-input.ts';

export interface StdinTarget {
  readonly stdinPlace: number | undefined;
  readonly stdinType: ToMediaType | undefined;
}

type ToMediaType = (bytes: Uint8Array) => string;

type Context = FileContext & Pick<StdinTarget, 'stdinPlace'>;

/** Adds the files of `-a`, always as media, and the clipboard. Throws AppError `usage` for what cannot be sent. */
export async function addOtherAttachments(
  { attach, mimeType, clipboard }: OtherAttachments,
  context: Context,
): Promise<StdinTarget> {
  let { stdinPlace } = context;
  const isTyped = attach.includes('-') || (stdinPlace !== undefined && mimeType !== undefined);
  const chooseType = (name: string) => (bytes: Uint8Array) =>
    mimeType ?? guessType(bytes, name, context.attachments.support);
  for (const value of attach) {
    context.signal.throwIfAborted();
    if (value === '-') stdinPlace ??= context.attachments.items.length;
    else await addFile(value, chooseType(value), mimeType, context);
  }
  if (clipboard !== undefined) {
    const loaded = toAttachment(await clipboard(context.signal), 'clipboard', context.attachments);
    if (!isAttachment(loaded)) throw unsendableError('clipboard', loaded);
    context.attachments.add(loaded);
  }
  return { stdinPlace, stdinType: isTyped ? chooseType('stdin') : undefined };
}

async function addFile(
  value: string,
  toType: ToMediaType,
  mimeType: string | undefined,
  context: Context,
): Promise<void> {
  if (value.startsWith('gs://')) {
    const { createBucketAttachment } = await import('./large-file.ts');
    context.attachments.add(createBucketAttachment(value, context.attachments.support, mimeType));
    return;
  }
  const found = await findNamedFile(value, context);
  if (found === undefined) throw await missingFileError(value, context.cwd);
  if (found.kind === 'directory') {
    throw new AppError('usage', `-a takes files, and ${value} is a directory`, { hint: `Send its files: -f ${value}` });
  }
  return addNamedFile(value, found, context, { toType });
}

/** Text types that the API distinguishes. https://ai.google.dev/gemini-api/docs/document-processing */
const TEXT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.htm': 'text/html',
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.xml': 'text/xml',
  '.rtf': 'text/rtf',
  '.md': 'text/md',
  '.js': 'text/javascript',
  '.py': 'text/x-python',
};

function guessType(bytes: Uint8Array, name: string, support: FileSupport): string {
  const media = guessMediaType(bytes, name, support);
  if (typeof media === 'string') return media;
  if (media !== undefined) throw unsendableError(name, media);
  if (decodeText(bytes).isText) return TEXT_TYPES[extname(name).toLowerCase()] ?? 'text/plain';
  throw new AppError('usage', `the media type of ${name} is not known`, { hint: 'Name it: --mime-type <type>' });
}
