import { isObject, type JsonObject, objectsOf, parseJson, stringOf } from '../../../core/json.ts';
import { acquireLock } from '../../../platform/files/lock.ts';
import { readStateFile } from '../../../platform/files/small-file.ts';
import { makePrivateDirectory, replaceFile } from '../../../platform/files/write.ts';
import { sha256 } from '../../../platform/runtime/native.ts';
import { parseObject } from '../parse.ts';
import type { ClientContext } from '../types.ts';

/** What is kept of a sign-in for one address at one issuer. */
interface SignInRecord {
  /** Who gave it all, and the only one it may be shown to; the MCP server itself is shown the access token. */
  readonly issuer?: string;
  /** How gmn is registered there, in the SDK's words. */
  readonly client?: JsonObject;
  /** Where that registration lets the issuer send the person back to. */
  readonly redirectUrl?: string;
  /** In the SDK's words. */
  readonly tokens?: JsonObject;
  /** When the access token ends, in milliseconds since the epoch. */
  readonly expiresAt?: number;
}

type Part = Omit<{ readonly [Key in keyof SignInRecord]?: SignInRecord[Key] | undefined }, 'issuer'>;

/** Changes some of what is kept of an issuer and keeps the rest; undefined forgets a part. Throws AppError `config`. */
export type ChangeSignIn = (issuer: string, part: Part) => Promise<void>;

/** The sign-ins of one user for one address, in a file for their eyes only; never in the official CLI's directory. */
export interface SignInStore {
  /**
   * What is kept now of this issuer, or of the one that gave the latest tokens; other processes may have changed it. Throws
   * AppError `config` if the file cannot be read.
   */
  read(issuer?: string): SignInRecord;
  /** Waits for other processes. */
  readonly change: ChangeSignIn;
  /** Forgets all issuers. False if there was nothing. Throws AppError `config`. */
  forget(): Promise<boolean>;
  /** Runs `work`, which is given its own way to change, while no other process changes anything for this address. */
  exclusively<Value>(signal: AbortSignal, work: (change: ChangeSignIn) => Promise<Value>): Promise<Value>;
}

/** A server could name another issuer every day. */
const MAX_ISSUERS = 8;

/** The store for an address. */
export function signInStore(url: string, { homes, clock }: Pick<ClientContext, 'homes' | 'clock'>): SignInStore {
  const directory = `${homes().gmn}/mcp`;
  // The address may hold anything, also what no file can be called.
  const file = `${directory}/sign-in-${sha256(url)}.json`;
  const readAll = (): readonly SignInRecord[] => parseRecords(parseJson(readStateFile(file) ?? ''), url);
  const write = async (signIns: readonly SignInRecord[]): Promise<void> => {
    await makePrivateDirectory(directory);
    await replaceFile(file, `${JSON.stringify({ version: 2, url, signIns }, null, 2)}\n`, { mode: 0o600 });
  };
  const change: ChangeSignIn = async (issuer, part) => {
    const all = readAll();
    const others = all.filter((record) => !isOf(issuer, record));
    const record = { ...all.find((each) => isOf(issuer, each)), ...part, issuer };
    const sorted = part.tokens === undefined ? [...others, record] : [record, ...others];
    await write(parseRecords({ version: 2, url, signIns: sorted }, url).slice(0, MAX_ISSUERS));
  };
  const exclusively: SignInStore['exclusively'] = async (signal, work) => {
    const lock = await acquireLock(`${file}.lock`, { clock, signal, patienceMs: 20_000, isDone: async () => false });
    try {
      return await work(change);
    } finally {
      await lock?.release();
    }
  };
  const patient = <Value>(work: (change: ChangeSignIn) => Promise<Value>): Promise<Value> =>
    exclusively(new AbortController().signal, work);
  return {
    read(issuer) {
      const all = readAll();
      return (issuer === undefined ? all[0] : all.find((record) => isOf(issuer, record))) ?? {};
    },
    change: (issuer, part) => patient((locked) => locked(issuer, part)),
    forget: () =>
      patient(async () => {
        const isThere = readAll().some(({ tokens, client }) => tokens !== undefined || client !== undefined);
        if (isThere) await write([]);
        return isThere;
      }),
    exclusively,
  };
}

/** One slash more or less at the end means the same, as in the discovery of an issuer. */
function isOf(issuer: string, { issuer: known = '' }: SignInRecord): boolean {
  return known.replace(/\/$/, '') === issuer.replace(/\/$/, '');
}

function parseRecords(value: unknown, url: string): readonly SignInRecord[] {
  if (!isObject(value) || value.version !== 2 || value.url !== url) return [];
  return objectsOf(value.signIns).flatMap(({ issuer, redirectUrl, client, tokens, expiresAt }) => {
    if (typeof issuer !== 'string') return [];
    const back = stringOf(redirectUrl);
    return [
      {
        issuer,
        ...(isObject(client) ? { client: parseObject(client) } : {}),
        ...(isObject(tokens) ? { tokens: parseObject(tokens) } : {}),
        ...(back === undefined ? {} : { redirectUrl: back }),
        ...(typeof expiresAt === 'number' ? { expiresAt } : {}),
      },
    ];
  });
}
