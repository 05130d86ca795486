import { join } from 'node:path';
import { AppError, serverError } from '../core/error.ts';
import type { Clock } from '../core/io.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { readFileState } from '../platform/files/read.ts';
import { makePrivateDirectory, quarantine, removeFiles, writeAtomic } from '../platform/files/write.ts';
import type { Machine } from '../platform/host.ts';
import { createKeyring, type KeyringEntry } from '../platform/process/keyring.ts';

const ENTRY: KeyringEntry = { service: 'gmn', account: 'gemini-api-key' };
const TIMEOUT_MS = 2000;

type KeyPlace = 'keyring' | 'file';

interface StoredKey {
  readonly key: string;
  readonly place: KeyPlace;
}

/** Keeps the key of `gmn auth set-key` in the system keyring, or else in a private file. */
interface KeyStore {
  read(): Promise<StoredKey | undefined>;
  /** Does not read the key. Never throws. */
  place(): Promise<KeyPlace | undefined>;
  write(key: string): Promise<KeyPlace>;
  /** False if there was none. Throws AppError `config` if it cannot be removed or belongs to another user. */
  remove(): Promise<boolean>;
}

/** A small file in `home` says where the key is, so that the keyring is opened only if it has the key. */
export function keyStore(home: string, machine: Pick<Machine, 'keyringModule' | 'uid'>, clock: Clock): KeyStore {
  const path = join(home, 'key.json');
  const keyring = () => {
    const module = machine.keyringModule();
    return module === undefined ? undefined : createKeyring(module);
  };
  const save = async (record: object): Promise<void> => {
    await writeAtomic(path, `${JSON.stringify({ version: 1, ...record })}\n`, { mode: 0o600, uid: machine.uid });
  };
  return {
    async read() {
      const file = await readFileState(path, machine.uid);
      if (file.kind === 'absent') return undefined;
      if (file.kind === 'unreadable') throw keyUnavailableError(`cannot read ${path}: ${file.why}`);
      if (!file.isOurs) throw wrongOwnerError('auth', path);
      const record = tryParseKeyRecord(tryParseJson(file.text));
      if (record === undefined) {
        await quarantine(path, clock.now());
        throw keyUnavailableError(`${path} was damaged, and was renamed to key.json.corrupt-…`);
      }
      if (record.place === 'file') return record;
      const answer = await keyring()?.get(ENTRY, TIMEOUT_MS);
      if (answer?.kind !== 'secret')
        throw keyUnavailableError("the system's keyring did not return the stored API key");
      return { key: answer.secret, place: 'keyring' };
    },
    async place() {
      const file = await readFileState(path);
      return file.kind === 'text' ? tryParseKeyRecord(tryParseJson(file.text))?.place : undefined;
    },
    async write(key) {
      await makePrivateDirectory(home);
      const answer = await keyring()?.set(ENTRY, key, TIMEOUT_MS);
      const isInKeyring = answer !== undefined && answer.kind !== 'unavailable';
      await save(isInKeyring ? { place: 'keyring' } : { place: 'file', key });
      return isInKeyring ? 'keyring' : 'file';
    },
    async remove() {
      const file = await readFileState(path, machine.uid);
      if (file.kind === 'text' && !file.isOurs) throw wrongOwnerError('config', path);
      const record = file.kind === 'text' ? tryParseKeyRecord(tryParseJson(file.text)) : undefined;
      if (record?.place === 'keyring') {
        const answer = await keyring()?.delete(ENTRY, TIMEOUT_MS);
        if (answer === undefined || answer.kind === 'unavailable') throw notRemovedError();
      }
      // Quarantined files may still hold the key.
      return (await removeFiles(home, (name) => /^key\.json(\.corrupt-.*)?$/.test(name), machine.uid)) > 0;
    },
  };
}

/** Trims a pasted key. Throws AppError `usage`, without repeating the key, if it cannot be one. */
export function checkKey(pasted: string): string {
  const key = pasted.trim();
  if (key === '')
    throw new AppError('usage', 'no key was given', { hint: 'Get one at https://aistudio.google.com/apikey' });
  if (/^[\x21-\x7e]{10,500}$/.test(key)) return key;
  const why = /\s/.test(key) ? 'it has spaces or line breaks in it' : 'it has the wrong length or characters';
  throw new AppError('usage', `that is not an API key: ${why}`, {
    hint: 'Copy the key alone from https://aistudio.google.com/apikey',
  });
}

function tryParseKeyRecord(
  value: unknown,
): (StoredKey & { readonly place: 'file' }) | { readonly place: 'keyring' } | undefined {
  if (!isObject(value) || value.version !== 1) return undefined;
  if (value.place === 'keyring') return { place: 'keyring' };
  return value.place === 'file' && typeof value.key === 'string' ? { place: 'file', key: value.key } : undefined;
}

function keyUnavailableError(why: string): AppError {
  return new AppError('auth', `${why}`, { hint: 'Store the key again: gmn auth set-key' });
}

function wrongOwnerError(fault: 'auth' | 'config', path: string): AppError {
  const message = `${path} belongs to another user`;
  const hint = 'gmn does not touch it. Remove it, or run chown on it, then: gmn auth set-key';
  return fault === 'auth' ? serverError('auth', message, { hint }) : new AppError('config', message, { hint });
}

function notRemovedError(): AppError {
  return new AppError('config', "the system's keyring did not remove the stored API key", {
    hint: `Unlock the keyring and try again, or remove the entry "${ENTRY.service}" in it by hand.`,
  });
}
