import type { Carrier, Credential } from '../core/credential.ts';
import { refused } from '../core/error.ts';
import type { CredentialKind } from './failure.ts';

/** A credential on the wire: fresh headers for each request, and its secrets kept out of whatever is quoted later. */
export interface Identity {
  readonly kind: CredentialKind;
  /** Whether a 401 may be cured by `renew`. */
  readonly canRenew: boolean;
  /** What to do when the credential is refused. */
  readonly authHint: string;
  /** The headers that carry it, with `renew` those of a new token. Throws AppError `auth`. */
  headers(options: HeaderOptions): Promise<Readonly<Record<string, string>>>;
  /** Every secret that `headers` ever gave, for `concealed`. */
  readonly secrets: ReadonlySet<string>;
}

export interface HeaderOptions {
  readonly signal: AbortSignal;
  readonly renew: boolean;
  /** With `renew`: the headers that were turned down; absent: those given last. */
  readonly refused?: Readonly<Record<string, string>> | undefined;
}

/** The headers that hold a secret, whole or after the word `Bearer`. */
export const SECRET_HEADERS: readonly string[] = ['authorization', 'x-goog-api-key'];

/** A credential as the backends use it; a token's requests are charged to `quotaProject` if one is named. */
export function identity(credential: Credential, carrier: Carrier, quotaProject?: string): Identity {
  const secrets = new Set<string>();
  const charged = carrier === 'bearer' && quotaProject ? { 'x-goog-user-project': quotaProject } : {};
  return {
    kind: carrier === 'key' ? 'key' : 'account',
    canRenew: credential.renew !== undefined,
    authHint: authHint(credential, carrier),
    async headers({ signal, renew, refused }) {
      if (renew) await credential.renew?.(signal, refused);
      const headers = { ...charged, ...(await credential.headers(signal)) };
      for (const [name, value] of Object.entries(headers)) {
        checkHeader(value, credential);
        const secret = SECRET_HEADERS.includes(name.toLowerCase()) ? value.replace(/^Bearer /, '') : '';
        if (secret !== '') secrets.add(secret);
      }
      return headers;
    },
    secrets,
  };
}

/** A pasted line end would make the header invalid, with an error that helps nobody. */
function checkHeader(value: string, credential: Credential): void {
  if (/^[\x20-\x7e]*$/.test(value)) return;
  throw refused('auth', `${credential.source} holds characters that cannot be sent`, {
    hint: 'Copy it again, alone and whole.',
  });
}

const KEY_URL = 'https://aistudio.google.com/apikey';

function authHint({ type, source }: Credential, carrier: Carrier): string {
  if (carrier === 'key') {
    if (type === 'vertex-ai') return `Set ${source} to a valid key.`;
    return source === 'GEMINI_API_KEY'
      ? `Set GEMINI_API_KEY to a valid key: ${KEY_URL}`
      : `Store a valid key: gmn auth set-key (${KEY_URL})`;
  }
  if (source === 'GOOGLE_CLOUD_ACCESS_TOKEN') return 'Set GOOGLE_CLOUD_ACCESS_TOKEN to a token that is still valid.';
  return type === 'oauth-personal'
    ? 'Please re-authenticate using: gemini'
    : 'Run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS';
}
