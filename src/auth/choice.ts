import type { App, Settings } from '../core/app.ts';
import type { AuthType, Credential, KeyKind } from '../core/credential.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import type { Machine } from '../platform/host.ts';
import { sha256 } from '../platform/runtime/native.ts';

export interface ChoiceInput
  extends Pick<App, 'version' | 'env' | 'cwd' | 'homes' | 'clock' | 'send' | 'trace' | 'signal' | 'replayed'> {
  readonly flag?: string;
  readonly settings: Settings;
  /** For messages that cannot wait for the result, e.g. that macOS is asking the user something. */
  readonly notify?: (message: string) => void;
  /** Writes nothing that a first use would write. */
  readonly isRehearsal?: boolean;
  readonly machine?: Machine;
}

export interface CredentialChoice {
  readonly credential: Credential;
  readonly carrier: 'key' | 'bearer';
  readonly notices: readonly string[];
  /** Throws AppError `auth` if it is certain, without a request, that the credential will not work. */
  readonly check?: () => Promise<void>;
  readonly token?: { readonly expiresAt?: number; readonly canRefresh: boolean };
}

export interface RequestedType {
  readonly type: AuthType;
  readonly requestedBy: string;
  readonly isGateway: boolean;
}

interface Key {
  readonly type: 'gemini-api-key' | 'vertex-ai';
  readonly key: string;
  readonly source: string;
  readonly env: Env;
}

/**
 * The kind of a key of the Gemini API, by its beginning; undefined for a key of another form. Standard keys are the older
 * kind: Google refuses those without restrictions since June 2026, and has announced to refuse all.
 * https://aistudio.google.com/docs/api-key
 */
function findKeyKind(key: string): KeyKind | undefined {
  if (key.startsWith('AIza')) return 'standard';
  return key.startsWith('AQ.') ? 'auth' : undefined;
}

/** Throws AppError `auth` if a header cannot carry it. */
export function createKeyChoice({ type, key: text, source, env }: Key): CredentialChoice {
  const key = text.trim();
  if (!/^[\x21-\x7e]*$/.test(key)) {
    throw new AppError('auth', `${source} contains characters that no API key has`, {
      hint: 'Copy the key alone from https://aistudio.google.com/apikey',
    });
  }
  const isBearerToo = type === 'gemini-api-key' && env.GEMINI_API_KEY_AUTH_MECHANISM === 'bearer';
  const headers: Record<string, string> = { 'x-goog-api-key': key };
  if (isBearerToo) headers.authorization = `Bearer ${key}`;
  const credential: Credential = {
    type,
    source,
    keyKind: type === 'gemini-api-key' ? findKeyKind(key) : undefined,
    get account() {
      return sha256(key).slice(0, 16);
    },
    headers: async () => headers,
  };
  return { credential, carrier: 'key', notices: [] };
}
