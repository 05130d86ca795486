/** The kinds of credential gmn knows, by the names of `security.auth.selectedType`. */
export type AuthType = 'oauth-personal' | 'gemini-api-key' | 'vertex-ai' | 'compute-default-credentials';

/** How a credential travels: as an API key, or as a token of somebody who signed in. */
export type Carrier = 'key' | 'bearer';

/** What proves who is asking. It never prints itself: `source` and `account` are all that may be shown or stored. */
export interface Credential {
  readonly type: AuthType;
  /** For people: `GEMINI_API_KEY`, `~/.gemini/oauth_creds.json`, … */
  readonly source: string;
  /** A stable name for caches; derived from the secret or the account, never the secret itself. */
  readonly account: string;
  /** The headers that carry it, fresh for at least five minutes. Throws AppError `auth`. */
  headers(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /**
   * Called after a 401: resolves if `headers` now gives something else than `refused`, the headers that were turned down
   * (the last ones given, if absent); throws AppError `auth` if it cannot. Absent: a 401 is final.
   */
  renew?(signal: AbortSignal, refused?: Readonly<Record<string, string>>): Promise<void>;
}
