import { AppError, refused } from '../core/error.ts';
import { isObject } from '../core/json.ts';
import type { KeyDocument } from './key-document.ts';
import type { SeenAnswer } from './library-fetch.ts';
import { parseJson } from './token.ts';

/** What was seen last while Google's library tried to get a token. */
export interface Seen {
  readonly answer?: SeenAnswer;
  readonly failure?: unknown;
}

const AGAIN = 'Check the network and try again in a moment.';

/** The error for a credential file that brought no token: why, in words that hold none of its secrets. */
export function noTokenFrom(file: KeyDocument, { answer, failure }: Seen): AppError {
  const fail = (why: string, hint: string): AppError =>
    refused('auth', `${file.source} gave no token: ${why}`, { hint });
  if (answer === undefined) {
    if (failure === undefined) return fail('what is in it cannot be used', newKey(file));
    return fail(failure instanceof AppError ? failure.words : 'the token server did not answer', AGAIN);
  }
  const { status } = answer;
  const code = codeOf(parseJson(answer.text));
  if (status === 200) return fail('the token server answered without a token that can be sent', AGAIN);
  if (status >= 300 && status < 400) return fail(`the token server answered with a redirect (${status})`, AGAIN);
  if (status >= 500 || status === 429 || status === 408) return fail(`the token server answered ${status}`, AGAIN);
  return fail(`the token server refused it (${code ?? status})`, newKey(file));
}

function newKey({ value }: KeyDocument): string {
  return value.type === 'authorized_user'
    ? 'Run: gcloud auth application-default login'
    : 'Check that the account and its key still exist and may be used, or name another file in GOOGLE_APPLICATION_CREDENTIALS.';
}

/** OAuth's word for a refusal, or Google's. */
function codeOf(body: unknown): string | undefined {
  const error = isObject(body) ? body.error : undefined;
  const code = isObject(error) ? error.status : error;
  return typeof code === 'string' && /^[A-Za-z_]{1,40}$/.test(code) ? code : undefined;
}
