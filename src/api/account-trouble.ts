import { type AppError, refused } from '../core/error.ts';
import { oneLine } from './server-text.ts';

/** What the server said of an account it does not serve. */
export interface Trouble {
  /** The server's own words, one line. */
  readonly words: string;
  /** Status and name, for the end of the message; absent if it was no error of HTTP. */
  readonly label?: string;
  /** Where the account may be mended, the likeliest first. */
  readonly links?: readonly string[];
  readonly status?: number;
}

const KEY_WAY = 'Use an API key: gmn auth set-key (https://aistudio.google.com/apikey)';

/**
 * The AppError `auth` for an account Google knows but does not serve, with the way out; undefined if `reasons` name none
 * of that. Signing in again never helps here, so it is never advised.
 */
export function accountTrouble(reasons: readonly string[], trouble: Trouble): AppError | undefined {
  const has = (reason: string): boolean => reasons.includes(reason);
  if (has('UNSUPPORTED_CLIENT')) {
    return explained(
      'Google answered UNSUPPORTED_CLIENT: personal accounts can no longer use this sign-in (since 2026-06-18)',
      trouble,
      `${KEY_WAY}, or a Workspace or Code Assist account with GOOGLE_CLOUD_PROJECT=<id>`,
    );
  }
  if (has('TOS_VIOLATION')) {
    const what = 'Google answered TOS_VIOLATION: it has suspended this account for breaking its terms of service';
    return explained(what, trouble, `${KEY_WAY} of another account, or appeal to Google`);
  }
  if (!has('VALIDATION_REQUIRED')) return undefined;
  return explained('Google wants this account verified first', trouble, validationHint(trouble.links ?? []));
}

function explained(what: string, { words, label, status }: Trouble, hint: string): AppError {
  const all = `${what}${label ? ` (${label})` : ''}${words && `: ${words}`}`;
  return refused('auth', all, { hint, ...(status === undefined ? {} : { status }) });
}

/** A link is offered for opening only if it leads to Google; anything else stays in the quoted words. */
function validationHint(links: readonly string[]): string {
  const link = links.find((candidate) => URL.canParse(candidate) && isGoogle(new URL(candidate)));
  return link === undefined
    ? 'Verify the account with Google, then try again.'
    : `Open the link, verify the account, then try again: ${oneLine(link)}`;
}

function isGoogle({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' && /(^|\.)google\.com$/.test(hostname);
}
