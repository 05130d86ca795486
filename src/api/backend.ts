import type { HttpRequest } from '../core/http.ts';
import type { ModelRequest } from '../core/model.ts';
import type { CredentialKind } from './failure.ts';

/** How one service takes a model request and gives its answer: everything that differs between them. */
export interface Backend {
  /** For the debug trace. */
  readonly name: string;
  readonly credential: CredentialKind;
  /** What to do when the credential is refused. */
  readonly authHint: string;
  /** Whether a 401 may be cured by `renew`. */
  readonly canRenew: boolean;
  /**
   * The request on the wire. May fetch a credential, and with `renew` must fetch a fresh one.
   * Throws AppError: `usage` for a request that cannot be sent, `auth` if there is no credential.
   */
  prepare(
    request: ModelRequest,
    options: { readonly signal: AbortSignal; readonly renew: boolean },
  ): Promise<HttpRequest>;
  /** Takes the envelope off one event; gives back what it does not know. */
  unwrap(event: unknown): unknown;
  /** Removes this backend's own secrets from words of the server. */
  conceal(text: string): string;
}
