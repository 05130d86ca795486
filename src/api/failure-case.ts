import { type AppError, type ErrorOptions, serverError } from '../core/error.ts';
import { redactKnown } from '../core/text/secrets.ts';
import { FAILURE_TEXTS, type FailureTextName } from './failure-texts.ts';
import { type GoogleError, htmlToText, toGoogleError, toOneLine, tryParseGoogleError } from './google-error.ts';

export interface FailedCall {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  readonly model?: string;
  /** Whether the request had Google Search, which has a quota of its own. */
  readonly usesSearch?: boolean;
  /** What a call without a model was for, as in `the server does not offer …`. */
  readonly asks?: string;
  /** The caller's secrets, which must not be quoted. */
  readonly secrets: ReadonlySet<string>;
  readonly credential: CredentialKind;
  readonly authHint: string;
  readonly notFoundHint?: string;
}

/** A 403 with a key means a bad key; an account may be valid and still lack the permission. */
export type CredentialKind = 'key' | 'account';

export interface FailureCase extends FailedCall {
  readonly error: GoogleError;
  readonly detail: string;
  readonly says: (text: FailureTextName) => boolean;
  /** `toOneLine` after redaction: a truncated secret would not be recognized. */
  readonly quote: (text: string, max?: number) => string;
}

export function toFailureCase(refusal: FailedCall): FailureCase {
  const parsed = tryParseGoogleError(refusal.body);
  const error = parsed ?? toGoogleError({}, '');
  const redactSecrets = (text: string): string => redactKnown(text, refusal.secrets);
  const quote = (text: string, max?: number): string => toOneLine(redactSecrets(text), max);
  return {
    ...refusal,
    error,
    detail: parsed === undefined ? htmlToText(redactSecrets(refusal.body)) : quote(parsed.message),
    says: (text) => FAILURE_TEXTS[text].pattern.test(error.message),
    quote,
  };
}

export function formatHttpStatus({ status, error, quote }: FailureCase): string {
  return error.status === undefined ? `${status}` : `${status} ${quote(error.status, 60)}`;
}

export function formatForModel({ model }: FailureCase): string {
  return model === undefined ? '' : ` for ${toOneLine(model, 100)}`;
}

export function authError(failed: FailureCase, hint: string): AppError {
  const detail = failed.detail === '' ? 'the server refused the credential' : failed.detail;
  return serverError('auth', `${detail} (${formatHttpStatus(failed)})`, { hint, status: failed.status });
}

export function refusalError(failed: FailureCase, what: string, options: ErrorOptions<'api'>): AppError {
  const detail = failed.detail === '' ? '' : `: ${failed.detail}`;
  return serverError('api', `${what} (${formatHttpStatus(failed)})${detail}`, { ...options, status: failed.status });
}
