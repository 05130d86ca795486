import type { FilePart } from './content.ts';
import { AppError } from './error.ts';
import { isObject, toJsonObject } from './json.ts';
import { formatSize } from './text/format.ts';

/** Kept for two days. */
export interface RemoteFile {
  readonly name: string;
  readonly uri: string;
  readonly mimeType: string;
  /** `PROCESSING`, `ACTIVE` or `FAILED`; untrusted text. */
  readonly state: string;
  /** Absent if the service does not say. */
  readonly bytes?: number;
  readonly sha256?: string;
  /** Untrusted text. */
  readonly displayName?: string;
  /** In milliseconds since the epoch. */
  readonly createdAt?: number;
  readonly expiresAt?: number;
  /** Why it is `FAILED`. Untrusted text. */
  readonly problem?: string;
}

/** The caller that opened it closes it. */
export interface UploadSource {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Fills `into` from `offset` on. Throws AppError `usage` if the content no longer matches `bytes` and `sha256`. */
  read(offset: number, into: Uint8Array): Promise<Uint8Array>;
  /** Called before the first read, if that may fail or take long. Throws AppError `usage`. */
  open?(signal: AbortSignal): Promise<void>;
}

/** The most that the service takes in one file. https://ai.google.dev/gemini-api/docs/files */
export const MAX_FILE_BYTES = 2 * 1024 ** 3;

export const RETENTION = '48 hours';

export function fileTooLargeError(name: string, bytes: number): AppError {
  return new AppError('usage', `${name} is ${formatSize(bytes)}; the service takes files of at most 2 GB`, {
    hint: 'Send a part of it, or a smaller version.',
  });
}

export interface FileSupport {
  readonly hasUploads: boolean;
  readonly hasBuckets: boolean;
  /** What to do about a file that is too large, if it keeps no files. */
  readonly hint: string;
  /** Absent if the model reads Office files, or may. */
  readonly officeGap?: OfficeGap;
}

export interface OfficeGap {
  readonly model: string;
  readonly reader: string;
}

/** `talk.mp4 (video/mp4, 912.4 MB)`; the address of a file that is not on this machine. Untrusted text. */
export function describeFile({ fileData, localFile }: FilePart): string {
  // An imported session may have anything here.
  const { mimeType = '', fileUri = '' } = toJsonObject(fileData);
  if (!isObject(localFile)) return `${fileUri} (${mimeType})`;
  return `${localFile.name} (${mimeType}, ${formatSize(localFile.bytes)})`;
}
