import { isObject, type JsonObject, parseJson, stringOf } from '../../core/json.ts';
import { makePrivateDirectory, replaceFile } from '../../platform/atomic-file.ts';
import { sha256 } from '../../platform/hash.ts';
import { acquireLock } from '../../platform/lock.ts';
import { readStateFile } from '../../platform/state-file.ts';
import type { ClientContext } from './context.ts';
import { parseObject } from './remote-values.ts';

/** What is kept of a sign-in at one address. */
export interface SignInRecord {
  readonly url: string;
  /** How gmn is registered there, in the SDK's words, with the issuer. */
  readonly client?: JsonObject;
  /** Where that registration lets the server send the person back to. */
  readonly redirectUrl?: string;
  /** In the SDK's words, with the issuer. */
  readonly tokens?: JsonObject;
  /** When the access token ends, in milliseconds since the epoch. */
  readonly expiresAt?: number;
}

/** The sign-ins of one user at one address, in a file for their eyes only; never in the official CLI's directory. */
export interface SignInStore {
  /** What is kept now; other processes may have changed it. Throws AppError `config` if the file cannot be read. */
  read(): SignInRecord;
  /** Changes some of it and keeps the rest; undefined forgets a part. Throws AppError `config`. */
  change(part: { readonly [Key in keyof SignInRecord]?: SignInRecord[Key] | undefined }): Promise<void>;
  /** Runs `work` while no other process does the same for this address. */
  exclusively<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value>;
}

/** The store for an address. */
export function signInStore(url: string, { homes, clock }: Pick<ClientContext, 'homes' | 'clock'>): SignInStore {
  const directory = `${homes().gmn}/mcp`;
  // The address may hold anything, also what no file can be called.
  const file = `${directory}/sign-in-${sha256(url)}.json`;
  const read = (): SignInRecord => parseRecord(parseJson(readStateFile(file) ?? ''), url);
  return {
    read,
    async change(part) {
      await makePrivateDirectory(directory);
      const record = { version: 1, ...read(), ...part };
      await replaceFile(file, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
    },
    async exclusively(signal, work) {
      const lock = await acquireLock(`${file}.lock`, { clock, signal, patienceMs: 20_000, isDone: async () => false });
      try {
        return await work();
      } finally {
        await lock?.release();
      }
    },
  };
}

function parseRecord(value: unknown, url: string): SignInRecord {
  if (!isObject(value) || value.version !== 1 || value.url !== url) return { url };
  const redirectUrl = stringOf(value.redirectUrl);
  return {
    url,
    ...(isObject(value.client) ? { client: parseObject(value.client) } : {}),
    ...(isObject(value.tokens) ? { tokens: parseObject(value.tokens) } : {}),
    ...(redirectUrl === undefined ? {} : { redirectUrl }),
    ...(typeof value.expiresAt === 'number' ? { expiresAt: value.expiresAt } : {}),
  };
}
