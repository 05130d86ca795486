import { AppError } from '../core/error.ts';
import type { Clock, Env } from '../core/io.ts';
import { isObject, toJsonObject, tryParseJson } from '../core/json.ts';
import { readFileState } from '../platform/files/read.ts';
import { writeAtomic } from '../platform/files/write.ts';
import type { Machine } from '../platform/host.ts';
import { createKeyring, type KeyringEntry, readKeychain, sealedBox } from '../platform/process/keyring.ts';
import type { KnownFile } from './official-files.ts';
import {
  type GrantedToken,
  type TokenStore,
  tryParsePassword,
  unreadableSignInError,
  waitUntilComplete,
} from './token.ts';

const SIGN_IN: KeyringEntry = { service: 'gemini-cli-oauth', account: 'main-account' };
export const API_KEY: KeyringEntry = { service: 'gemini-cli-api-key', account: 'default-api-key' };

const BACKGROUND_TIMEOUT_MS = 2000;
const INTERACTIVE_TIMEOUT_MS = 60_000;
const ANNOUNCE_AFTER_MS = 1000;

interface SecretStore {
  readonly name: string;
  read(entry: KeyringEntry, signal: AbortSignal): Promise<string | undefined>;
  /** Replaces `before` by `after`; false if it cannot be written or no longer holds `before`. */
  replace(entry: KeyringEntry, before: string, after: string): Promise<boolean>;
}

export interface SecretStoreOptions {
  readonly machine: Machine;
  readonly clock: Clock;
  readonly notify: (message: string) => void;
}

/**
 * The macOS Keychain. If it does not answer, it counts as having no such entry, so that the file is tried. Written only
 * through the keyring library: the `security` program would need the secret as an argument.
 */
export function keychain({ machine, clock, notify }: SecretStoreOptions): SecretStore {
  const limitMs = machine.isInteractive ? INTERACTIVE_TIMEOUT_MS : BACKGROUND_TIMEOUT_MS;
  const module = machine.keyringModule();
  return {
    name: 'macOS Keychain',
    async read(entry, signal) {
      const done = new AbortController();
      const asking = machine.isInteractive
        ? announcePrompt(clock, AbortSignal.any([signal, done.signal]), notify)
        : undefined;
      const viaLibrary = module === undefined ? undefined : await createKeyring(module).get(entry, limitMs);
      const answer =
        viaLibrary === undefined || (viaLibrary.kind === 'unavailable' && viaLibrary.why === 'failed')
          ? await readKeychain(machine.securityProgram, entry, limitMs)
          : viaLibrary;
      done.abort();
      await asking;
      signal.throwIfAborted();
      return answer.kind === 'secret' ? answer.secret : undefined;
    },
    async replace(entry, before, after) {
      if (module === undefined) return false;
      const keyring = createKeyring(module);
      const now = await keyring.get(entry, limitMs);
      if (now.kind !== 'secret' || now.secret !== before) return false;
      return (await keyring.set(entry, after, limitMs)).kind !== 'unavailable';
    },
  };
}

async function announcePrompt(clock: Clock, signal: AbortSignal, notify: (message: string) => void): Promise<void> {
  try {
    await clock.sleep(ANNOUNCE_AFTER_MS, signal);
    notify('macOS is asking whether gmn may read the Gemini sign-in from the Keychain (waiting up to 60 s).');
  } catch {
    // The Keychain answered quickly: no message needed.
  }
}

export const ENCRYPTED_FILE = 'gemini-credentials.json';

/** Readable only on the machine and by the user that wrote it. */
export function encryptedFile({ path, name }: KnownFile, { machine, clock }: SecretStoreOptions): SecretStore {
  const box = sealedBox('gemini-cli-oauth', `${machine.hostname}-${machine.username}-gemini-cli`);
  const load = async () => {
    const file = await readFileState(path, machine.uid);
    if (file.kind === 'absent') return undefined;
    if (file.kind === 'unreadable') throw unreadableSignInError(name, file.why);
    const opened = box.open(file.text);
    if (opened.kind === 'foreign') throw otherMachineError(name);
    const value = opened.kind === 'opened' ? tryParseJson(opened.text) : undefined;
    return isObject(value) ? { value, version: file.version, isOurs: file.isOurs } : 'broken';
  };
  return {
    name,
    async read(entry, signal) {
      const loaded = await waitUntilComplete(load, { path: name, clock, signal });
      return loaded === undefined ? undefined : findPassword(loaded.value, entry);
    },
    async replace(entry, before, after) {
      const loaded = await load();
      if (loaded === undefined || loaded === 'broken' || !loaded.isOurs) return false;
      if (findPassword(loaded.value, entry) !== before) return false;
      const { [entry.service]: accounts, ...others } = loaded.value;
      const changed = {
        ...others,
        [entry.service]: { ...toJsonObject(accounts), [entry.account]: after },
      };
      const text = box.seal(JSON.stringify(changed, null, 2));
      return (await writeAtomic(path, text, { expected: loaded.version })) === 'written';
    },
  };
}

export function usesEncryptedFile(env: Env): boolean {
  return env.GEMINI_FORCE_ENCRYPTED_FILE_STORAGE === 'true';
}

export function avoidsKeyring(env: Env): boolean {
  return env.GEMINI_FORCE_FILE_STORAGE === 'true';
}

function findPassword(
  value: Readonly<Record<string, unknown>>,
  { service, account }: KeyringEntry,
): string | undefined {
  const accounts = Object.hasOwn(value, service) ? value[service] : undefined;
  const password = isObject(accounts) && Object.hasOwn(accounts, account) ? accounts[account] : undefined;
  return typeof password === 'string' ? password : undefined;
}

function otherMachineError(name: string): AppError {
  return new AppError('auth', `${name} was stored for another machine or user`, {
    hint: 'Sign in again on this machine using: gemini',
  });
}

export function passwordStore(place: SecretStore, clock: Clock): TokenStore {
  return {
    source: place.name,
    async read(signal) {
      const password = await place.read(SIGN_IN, signal);
      const token = password === undefined ? undefined : tryParsePassword(password, clock.now());
      return token?.accessToken === undefined && token?.refreshToken === undefined ? undefined : token;
    },
    // Reading costs a process or a key derivation, and tokens that gmn refreshed are in its own cache anyway.
    peek: async () => undefined,
    async rotate(used, granted) {
      const password = await place.read(SIGN_IN, new AbortController().signal);
      const changed = password === undefined ? undefined : replacePasswordTokens(password, used, granted);
      return password !== undefined && changed !== undefined && place.replace(SIGN_IN, password, changed);
    },
  };
}

function replacePasswordTokens(password: string, used: string, granted: GrantedToken): string | undefined {
  const value = tryParseJson(password);
  if (!isObject(value) || !isObject(value.token) || value.token.refreshToken !== used) return undefined;
  const { accessToken, refreshToken = used, expiresAt } = granted;
  return JSON.stringify({ ...value, token: { ...value.token, accessToken, refreshToken, expiresAt } });
}
