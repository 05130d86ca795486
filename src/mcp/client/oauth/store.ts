import { join } from 'node:path';
import {
  filterObjects,
  isObject,
  type JsonObject,
  toJsonObject,
  toNonEmptyString,
  tryParseJson,
} from '../../../core/json.ts';
import { acquireLock } from '../../../platform/files/lock.ts';
import { readSmallFile } from '../../../platform/files/small-file.ts';
import { makePrivateDirectory, writeAtomic } from '../../../platform/files/write.ts';
import { sha256 } from '../../../platform/runtime/native.ts';
import type { ClientContext } from '../types.ts';

interface SignInRecord {
  /** These credentials may be sent to no other issuer; only the access token also goes to the MCP server. */
  readonly issuer?: string;
  readonly client?: JsonObject;
  readonly redirectUrl?: string;
  readonly tokens?: JsonObject;
  readonly expiresAt?: number;
}

type RecordChange = Partial<Omit<SignInRecord, 'issuer'>>;

/** Keeps the other fields of the issuer's record; undefined removes a field. Throws AppError `config`. */
export type ChangeSignIn = (issuer: string, part: RecordChange) => Promise<void>;

export type SignInStore = ReturnType<typeof openSignInStore>;

/** A server could name another issuer every day. */
const MAX_ISSUERS = 8;

/** The sign-ins of one user for one address, in a private file; never in the official CLI's directory. */
export function openSignInStore(url: string, { homes, clock }: Pick<ClientContext, 'homes' | 'clock'>) {
  const directory = join(homes().gmn, 'mcp');
  // Hashed: an address may hold characters that a file name cannot.
  const file = join(directory, `sign-in-${sha256(url)}.json`);
  const readAll = (): readonly SignInRecord[] => parseSignIns(tryParseJson(readSmallFile(file) ?? ''), url);
  const write = async (signIns: readonly SignInRecord[]): Promise<void> => {
    await makePrivateDirectory(directory);
    await writeAtomic(file, `${JSON.stringify({ version: 2, url, signIns }, null, 2)}\n`, { mode: 0o600 });
  };
  const change: ChangeSignIn = async (issuer, part) => {
    const all = readAll();
    const others = all.filter((record) => !isFromIssuer(issuer, record));
    const record = { ...all.find((each) => isFromIssuer(issuer, each)), ...part, issuer };
    const sorted = part.tokens === undefined ? [...others, record] : [record, ...others];
    await write(parseSignIns({ version: 2, url, signIns: sorted }, url).slice(0, MAX_ISSUERS));
  };
  /** Runs `work` under the lock of this address; it must use the `change` it is given, since the public one would wait. */
  const withLock = async <Value>(
    signal: AbortSignal,
    work: (change: ChangeSignIn) => Promise<Value>,
  ): Promise<Value> => {
    const lock = await acquireLock(`${file}.lock`, { clock, signal, maxWaitMs: 20_000, isDone: async () => false });
    try {
      return await work(change);
    } finally {
      await lock?.release();
    }
  };
  const waitForLock = <Value>(work: (change: ChangeSignIn) => Promise<Value>): Promise<Value> =>
    withLock(new AbortController().signal, work);
  return {
    /** Of this issuer, or of the one that gave the latest tokens; other processes may change it. Throws AppError `config`. */
    read(issuer?: string): SignInRecord {
      const all = readAll();
      return (issuer === undefined ? all[0] : all.find((record) => isFromIssuer(issuer, record))) ?? {};
    },
    change: (issuer: string, part: RecordChange) => waitForLock((locked) => locked(issuer, part)),
    remove: () =>
      waitForLock(async () => {
        const isStored = readAll().some(({ tokens, client }) => tokens !== undefined || client !== undefined);
        if (isStored) await write([]);
        return isStored;
      }),
    withLock,
  };
}

/** A trailing slash makes no difference, as in the discovery of an issuer. */
function isFromIssuer(issuer: string, { issuer: known = '' }: SignInRecord): boolean {
  return known.replace(/\/$/, '') === issuer.replace(/\/$/, '');
}

function parseSignIns(value: unknown, url: string): readonly SignInRecord[] {
  if (!isObject(value) || value.version !== 2 || value.url !== url) return [];
  return filterObjects(value.signIns).flatMap(({ issuer, redirectUrl, client, tokens, expiresAt }) => {
    if (typeof issuer !== 'string') return [];
    return [
      {
        issuer,
        client: isObject(client) ? toJsonObject(client) : undefined,
        tokens: isObject(tokens) ? toJsonObject(tokens) : undefined,
        redirectUrl: toNonEmptyString(redirectUrl),
        expiresAt: typeof expiresAt === 'number' ? expiresAt : undefined,
      },
    ];
  });
}
