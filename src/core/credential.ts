/** What `--auth` and the settings accept; `gateway` and `cloud-shell` are variants of other types. */
export const AUTH_TYPES = [
  'oauth-personal',
  'gemini-api-key',
  'vertex-ai',
  'compute-default-credentials',
  'gateway',
  'cloud-shell',
] as const;

export type AuthType = 'oauth-personal' | 'gemini-api-key' | 'vertex-ai' | 'compute-default-credentials';

export type AuthScheme = 'key' | 'bearer';

export type KeyKind = 'standard' | 'auth';

/** Only `source` and `account` may be shown or stored. */
export interface Credential {
  readonly type: AuthType;
  readonly source: string;
  /** A stable key for caches, derived from the secret or the account; never the secret itself. */
  readonly account: string;
  /** Of a key of the Gemini API, if its form tells. */
  readonly keyKind?: KeyKind;
  /** Resolves with headers that stay valid for at least five minutes. Throws AppError `auth`. */
  headers(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /**
   * Called after a 401. Resolves once `headers` returns something other than `rejected` (absent: the last headers
   * returned); throws AppError `auth` if it cannot. Absent: a 401 is final.
   */
  refresh?(signal: AbortSignal, rejected?: Readonly<Record<string, string>>): Promise<void>;
}
