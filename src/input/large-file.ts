import { extname } from 'node:path';
import type { FilePart } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import { type FileSupport, fileTooLargeError, MAX_FILE_BYTES } from '../core/files.ts';
import { sniffEncoding } from '../core/text/decode.ts';
import { findOfficeType } from '../core/text/office.ts';
import { readBeginning } from '../platform/files/read.ts';
import { openFileSource } from '../platform/files/upload-source.ts';
import {
  type Attachment,
  guessMediaType,
  officeError,
  toPlainName,
  type Unsendable,
  type UploadedAttachment,
} from './attachment.ts';

const HEAD_BYTES = 256 * 1024;

interface LargeFileOptions {
  readonly support: FileSupport;
  readonly links: 'follow' | 'never';
  readonly toType?: (head: Uint8Array) => string;
}

export async function inspectLargeFile(
  path: string,
  name: string,
  { support, links, toType }: LargeFileOptions,
): Promise<UploadedAttachment | Unsendable> {
  const { head, size } = await readBeginning(path, HEAD_BYTES, { name, links });
  if (size > MAX_FILE_BYTES) throw fileTooLargeError(name, size);
  const mimeType = toType?.(head) ?? guessMediaType(head, name, support) ?? findTextType(head, name);
  if (typeof mimeType !== 'string') return mimeType;
  return { name: toPlainName(name), bytes: size, isUploaded: true, upload: { path, mimeType, links } };
}

function findTextType(head: Uint8Array, name: string): string | Unsendable {
  const encoding = sniffEncoding(head);
  if (encoding !== undefined && encoding !== 'utf8') {
    throw new AppError('usage', `${name} is UTF-16, which cannot be uploaded`, {
      hint: 'Convert it first: iconv -f UTF-16 -t UTF-8 <file> > <other file>',
    });
  }
  const nul = head.indexOf(0);
  if (nul !== -1) return { isText: false, reason: 'nul', offset: nul };
  try {
    // As a stream, since the last character may be cut off.
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return 'text/plain';
  } catch {
    return { isText: false, reason: 'utf8', offset: 0 };
  }
}

/** The part that stands for a file until it is uploaded. Reads the file for its hash. Throws AppError `usage`. */
export async function createFilePart(
  { name, upload: { path, mimeType, links } }: UploadedAttachment,
  signal: AbortSignal,
): Promise<FilePart> {
  const source = await openFileSource(path, { name, signal, links });
  await source.close();
  const { bytes, sha256, modifiedAt, url } = source;
  return {
    fileData: { mimeType, fileUri: url },
    localFile: { name, path, bytes, sha256, modifiedAt },
  };
}

/** https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference#filedata */
const TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
  '.gif': 'image/gif',
  '.heic': 'image/heic',
  '.heif': 'image/heif',
  '.pdf': 'application/pdf',
  '.mp3': 'audio/mp3',
  '.m4a': 'audio/mp4',
  '.wav': 'audio/wav',
  '.aac': 'audio/aac',
  '.ogg': 'audio/ogg',
  '.flac': 'audio/flac',
  '.mp4': 'video/mp4',
  '.mov': 'video/quicktime',
  '.mpeg': 'video/mpeg',
  '.mpg': 'video/mpeg',
  '.avi': 'video/avi',
  '.webm': 'video/webm',
  '.wmv': 'video/wmv',
  '.3gp': 'video/3gpp',
  '.flv': 'video/x-flv',
  '.txt': 'text/plain',
  '.md': 'text/plain',
  '.log': 'text/plain',
  '.csv': 'text/csv',
  '.html': 'text/html',
  '.json': 'text/plain',
};

/** A file in a bucket, which the backend reads itself. Throws AppError `usage`. */
export function createBucketAttachment(uri: string, { hasBuckets, officeGap }: FileSupport, type?: string): Attachment {
  if (!hasBuckets) {
    throw new AppError('usage', `${toPlainName(uri)}: only Vertex AI reads gs:// addresses`, {
      hint: 'Use --backend vertex, or fetch the file first: gcloud storage cp <address> .',
    });
  }
  if (!/^gs:\/\/[a-z\d][\w.-]+\/[^\0-\x20]/.test(uri)) {
    throw new AppError('usage', `${toPlainName(uri)} does not name a file in a bucket`, {
      hint: 'Example: -f gs://bucket/path/talk.mp4',
    });
  }
  const office = findOfficeType(uri);
  if (type === undefined && office !== undefined && officeGap !== undefined) throw officeError(uri, officeGap);
  const mimeType = type ?? office ?? TYPES[extname(uri).toLowerCase()];
  if (mimeType !== undefined) return { name: toPlainName(uri), bytes: 0, mimeType, uri };
  throw new AppError('usage', `the ending of ${toPlainName(uri)} does not tell what it is`, {
    hint: 'Name its type: -a <address> --mime-type <type>',
  });
}
