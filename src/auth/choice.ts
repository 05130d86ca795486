import type { App, Settings } from '../core/app.ts';
import type { AuthType, Credential } from '../core/credential.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import type { Machine } from '../platform/host.ts';
import { sha256 } from '../platform/runtime/native.ts';

export interface ChoiceInput
  extends Pick<App, 'version' | 'env' | 'cwd' | 'homes' | 'clock' | 'send' | 'trace' | 'signal'> {
  /** `--auth`; else `GMN_AUTH`. */
  readonly flag?: string;
  readonly settings: Settings;
  /** Words that cannot wait for the result, e.g. that macOS is asking the person something. */
  readonly say?: (message: string) => void;
  /** Only look: leave no trace of a first use. */
  readonly isRehearsal?: boolean;
  /** The machine, if it is not this one. */
  readonly machine?: Machine;
}

export interface Choice {
  readonly credential: Credential;
  /** Whether it is an API key, or a token of some account. A Vertex key is the express mode. */
  readonly carrier: 'key' | 'bearer';
  /** Things the person should be told, once. */
  readonly notices: readonly string[];
  /** Throws AppError `auth` if it can be told without asking anyone that it will not work. Absent: it cannot be told. */
  readonly look?: () => Promise<void>;
  /** What is known of a sign-in's token. */
  readonly token?: { readonly expiresAt?: number; readonly isRenewable: boolean };
}

/** A type that was asked for, and by what. */
export interface WantedType {
  readonly type: AuthType;
  readonly by: string;
  readonly isGateway: boolean;
}

interface Key {
  readonly type: 'gemini-api-key' | 'vertex-ai';
  readonly key: string;
  /** For people: where it came from. */
  readonly source: string;
  readonly env: Env;
}

/** A key as a credential. Throws AppError `auth` if it could not stand in a header. */
export function keyChoice({ type, key: text, source, env }: Key): Choice {
  const key = text.trim();
  if (!/^[\x21-\x7e]*$/.test(key)) {
    throw new AppError('auth', `authentication failed: ${source} holds characters that no API key has`, {
      hint: 'Copy the key alone from https://aistudio.google.com/apikey',
    });
  }
  const isBearerToo = type === 'gemini-api-key' && env.GEMINI_API_KEY_AUTH_MECHANISM === 'bearer';
  const headers = { 'x-goog-api-key': key, ...(isBearerToo ? { authorization: `Bearer ${key}` } : {}) };
  const credential: Credential = {
    type,
    source,
    get account() {
      return sha256(key).slice(0, 16);
    },
    headers: async () => headers,
  };
  return { credential, carrier: 'key', notices: [] };
}
