import type { Hash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import type { LocalFile } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import type { UploadSource } from '../../core/files.ts';
import { READ_FLAGS, READ_FLAGS_NO_LINK } from './path.ts';
import { irregularFileError, readError, readFully } from './read.ts';

export interface FileSource extends UploadSource {
  readonly url: string;
  /** In milliseconds since the epoch. */
  readonly modifiedAt: number;
  close(): Promise<void>;
}

interface SourceOptions {
  readonly name: string;
  readonly signal: AbortSignal;
  /** `never` rejects a path whose last segment is a link. */
  readonly links?: 'follow' | 'never';
  /** Called with the size and the first bytes before the whole file is read. May throw. */
  readonly check?: (bytes: number, head: Uint8Array) => void;
  /** An earlier state: if size and time are the same, the hash is, too, and the file is not read for it. */
  readonly known?: Pick<FileSource, 'bytes' | 'sha256' | 'modifiedAt'>;
}

const HASH_BYTES = 1024 * 1024;
const HEAD_BYTES = 1024 * 1024;

/** Reads it once for its hash, and stays open: a file that takes its place is not read. Throws AppError `usage`. */
export async function openFileSource(path: string, options: SourceOptions): Promise<FileSource> {
  const { name, signal, links = 'follow', check, known } = options;
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, links === 'never' ? READ_FLAGS_NO_LINK : READ_FLAGS);
    const version = await readStatus(handle, name);
    check?.(version.size, await readFully(handle, 0, Buffer.allocUnsafe(Math.min(HEAD_BYTES, version.size))));
    const isKnown = known?.bytes === version.size && known.modifiedAt === version.modifiedAt;
    const sha256 = isKnown ? known.sha256 : await hashFile(handle, version, options);
    return createSource(handle, { ...version, name, sha256, url: pathToFileURL(path).href });
  } catch (thrown) {
    await handle?.close();
    throw thrown instanceof AppError || signal.aborted ? thrown : readError(thrown, name);
  }
}

interface Version {
  readonly size: number;
  readonly modifiedAt: number;
}

async function hashFile(handle: FileHandle, version: Version, { name, signal }: SourceOptions): Promise<string> {
  const { size } = version;
  const buffer = Buffer.allocUnsafe(Math.min(HASH_BYTES, size));
  const hash = createHash();
  for (let offset = 0; offset < size; ) {
    signal.throwIfAborted();
    const piece = await readFully(handle, offset, buffer.subarray(0, size - offset));
    if (piece.length === 0) throw changedError(name);
    hash.update(piece);
    offset += piece.length;
  }
  await throwIfChanged(handle, name, version);
  return hash.digest('hex');
}

function createSource(
  handle: FileHandle,
  { name, size, modifiedAt, sha256, url }: Version & Pick<FileSource, 'name' | 'sha256' | 'url'>,
): FileSource {
  // Hashed once more as it is sent: a file can change and keep its time stamp.
  let sent: { readonly hash: Hash; readonly bytes: number } | undefined = { hash: createHash(), bytes: 0 };
  return {
    name,
    bytes: size,
    sha256,
    url,
    modifiedAt,
    async read(offset, into) {
      const piece = await readFully(handle, offset, into).catch((thrown: unknown) => {
        throw readError(thrown, name);
      });
      await throwIfChanged(handle, name, { size, modifiedAt });
      if (piece.length < Math.min(into.length, size - offset)) throw changedError(name);
      if (sent !== undefined && offset > sent.bytes) sent = undefined;
      if (sent !== undefined && offset + piece.length > sent.bytes) {
        sent.hash.update(piece.subarray(sent.bytes - offset));
        sent = { ...sent, bytes: offset + piece.length };
      }
      if (sent?.bytes === size && sent.hash.copy().digest('hex') !== sha256) throw changedError(name);
      return piece;
    },
    close: () => handle.close(),
  };
}

function createHash(): Hash {
  return process.getBuiltinModule('node:crypto').createHash('sha256');
}

async function readStatus(handle: FileHandle, name: string): Promise<Version> {
  const status = await handle.stat();
  if (!status.isFile()) throw irregularFileError(name);
  return { size: status.size, modifiedAt: status.mtimeMs };
}

async function throwIfChanged(handle: FileHandle, name: string, { size, modifiedAt }: Version): Promise<void> {
  const now = await readStatus(handle, name);
  if (now.size !== size || now.modifiedAt !== modifiedAt) throw changedError(name);
}

/** Opened only when it must be uploaded. `open` throws AppError `usage` if the file is missing or has changed. */
export function createLocalSource(local: LocalFile): UploadSource & Pick<FileSource, 'close'> {
  const { name, path, bytes, sha256 } = local;
  let source: FileSource | undefined;
  return {
    name,
    bytes,
    sha256,
    async open(signal) {
      if (source !== undefined) return;
      const opened = await openFileSource(path, { name, signal, known: local }).catch((thrown: unknown) => {
        throw signal.aborted ? thrown : neededAgainError(`${name} is needed again, and cannot be read`, path, thrown);
      });
      if (opened.bytes === bytes && opened.sha256 === sha256) source = opened;
      else {
        await opened.close();
        throw neededAgainError(`${name} is not the file that it was`, path);
      }
    },
    async read(offset, into) {
      if (source === undefined) throw new AppError('internal', `${name} is not open`);
      return source.read(offset, into);
    },
    async close() {
      await source?.close();
      source = undefined;
    },
  };
}

function neededAgainError(what: string, path: string, cause?: unknown): AppError {
  return new AppError('usage', `${what}: ${path}`, {
    cause,
    hint: 'The service has no copy any more. Put the file back, or begin a new conversation.',
  });
}

function changedError(name: string): AppError {
  return new AppError('usage', `${name} changed while it was being read`, {
    hint: 'Wait until nothing writes to it, or send a copy.',
  });
}
