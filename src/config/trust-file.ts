import { dirname } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { isObject } from '../core/json.ts';
import { acquireLock } from '../platform/files/lock.ts';
import { readStateFile } from '../platform/files/small-file.ts';
import { makePrivateDirectory, replaceFile } from '../platform/files/write.ts';

/** What `gmn trust` keeps about a folder. */
export interface TrustRecord {
  /** When, as an ISO date. */
  readonly time: string;
  /** The fingerprint of each MCP server's definition at that time. */
  readonly servers: Readonly<Record<string, string>>;
}

/** Folders, by their path without links. */
export type TrustRecords = ReadonlyMap<string, TrustRecord>;

/** Where `gmn trust` keeps its word. */
export function trustFilePath(gmnHome: string): string {
  return `${gmnHome}/trust.json`;
}

/** Every folder trusted by `gmn trust`; no file, no folders. Throws AppError `config` if the file is broken. */
export function readTrustFile(file: string): TrustRecords {
  const text = readStateFile(file);
  return text === undefined ? new Map() : parseRecords(text, file);
}

/**
 * Changes the file as one step: what another process adds at the same time is not lost, what does not parse is left
 * alone. Throws AppError `config`.
 */
export async function changeTrustFile(
  file: string,
  { clock, signal }: Pick<App, 'clock' | 'signal'>,
  change: (records: TrustRecords) => TrustRecords,
): Promise<void> {
  await makePrivateDirectory(dirname(file));
  const lock = await acquireLock(`${file}.lock`, { clock, signal, patienceMs: 5000, isDone: async () => false });
  try {
    const records = change(readTrustFile(file));
    const text = `${JSON.stringify({ version: 1, folders: Object.fromEntries(records) }, null, 2)}\n`;
    await replaceFile(file, text, { mode: 0o600 });
  } finally {
    await lock?.release();
  }
}

function parseRecords(text: string, file: string): TrustRecords {
  const value = parseJson(text, file);
  if (!isObject(value) || value.version !== 1 || !isObject(value.folders)) throw broken(file, 'it is not a trust file');
  return new Map(Object.entries(value.folders).map(([path, record]) => [path, parseRecord(record, path, file)]));
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw broken(file, 'it is not JSON', cause);
  }
}

function parseRecord(value: unknown, path: string, file: string): TrustRecord {
  const servers = isObject(value) ? value.servers : undefined;
  if (!isObject(value) || typeof value.time !== 'string' || !isObject(servers)) {
    throw broken(file, `the entry for ${JSON.stringify(path)} is not one`);
  }
  const hashes = Object.entries(servers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { time: value.time, servers: Object.fromEntries(hashes) };
}

function broken(file: string, why: string, cause?: unknown): AppError {
  return new AppError('config', `${file}: ${why}`, {
    cause,
    hint: 'Remove that file; then run gmn trust again in the folders you trust.',
  });
}
