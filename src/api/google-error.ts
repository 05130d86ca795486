import { type AppError, serverError } from '../core/error.ts';
import { filterObjects, isObject, omitUndefined, toNonEmptyString } from '../core/json.ts';
import { tryParseDuration } from '../core/text/format.ts';
import { redact } from '../core/text/secrets.ts';
import { FAILURE_TEXTS } from './failure-texts.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A parsed Google error body. https://google.aip.dev/193 */
export interface GoogleError {
  readonly code?: number;
  readonly status?: string;
  readonly message: string;
  /** `ErrorInfo.reason` of every detail that has one. */
  readonly reasons: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  /** Of every violation, and the `quota_limit` of Code Assist. */
  readonly quotaIds: readonly string[];
  /** `QuotaFailure.violations[].quotaValue` by quota id, where it is a number. */
  readonly quotaLimits?: Readonly<Record<string, number>>;
  /** A quota of 0 was violated, which no wait mends. */
  readonly hasZeroQuota?: boolean;
  readonly retryMs?: number;
  /** `Help.links[].url`, and where Code Assist lets an account be verified. */
  readonly links: readonly string[];
}

const MAX_NESTING = 10;

/** However it is wrapped: in a list, a string, other text, its own `message`. Never throws. */
export function tryParseGoogleError(body: unknown, depth = 0): GoogleError | undefined {
  const value = typeof body === 'string' ? parseLoosely(body) : body;
  const outer: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof outer === 'string' && depth < MAX_NESTING) return tryParseGoogleError(outer, depth + 1);
  if (!isObject(outer)) return undefined;
  const error = isObject(outer.error) ? outer.error : outer;
  const message = toNonEmptyString(error.message) ?? toNonEmptyString(outer.error) ?? '';
  const inner = depth < MAX_NESTING ? tryParseGoogleError(message, depth + 1) : undefined;
  const own = toGoogleError(error, message);
  // An object without these fields is not an error body: any page with a style sheet contains braces.
  if (message === '' && own.code === undefined && own.status === undefined && !Array.isArray(error.details))
    return undefined;
  // Braces in a message may be plain text: an inner object counts only if it has a message.
  return inner === undefined || inner.message === '' ? own : { ...own, ...omitUndefined(inner) };
}

export function toGoogleError(error: Fields, message: string): GoogleError {
  const details = filterObjects(error.details);
  const code = Number(error.code);
  const status = toNonEmptyString(error.status);
  const violations = details.flatMap((detail) => filterObjects(detail.violations));
  const limits = violations.flatMap((entry) => toQuotaLimit(entry));
  const hasZeroQuota = violations.some(({ quotaValue }) => String(quotaValue) === '0');
  const links = details.flatMap((detail) => filterObjects(detail.links));
  const metadata = Object.fromEntries(details.flatMap((detail) => listStringEntries(detail.metadata)));
  const retryMs = details.map((detail) => tryParseDelay(detail.retryDelay)).find((ms) => ms !== undefined);
  return {
    code: Number.isInteger(code) && code > 0 ? code : undefined,
    status,
    retryMs,
    message,
    reasons: filterTexts(details.map(({ reason }) => reason)),
    metadata,
    quotaIds: filterTexts([...violations.map(({ quotaId }) => quotaId), metadata.quota_limit]),
    quotaLimits: limits.length === 0 ? undefined : Object.fromEntries(limits),
    hasZeroQuota: hasZeroQuota || undefined,
    links: filterTexts([...links.map(({ url }) => url), metadata.validation_link, metadata.validation_url]),
  };
}

function filterTexts(values: readonly unknown[]): readonly string[] {
  return values.flatMap((value) => toNonEmptyString(value) ?? []);
}

function toQuotaLimit({ quotaId, quotaValue }: Fields): readonly (readonly [string, number])[] {
  const limit = Number(quotaValue ?? Number.NaN);
  return typeof quotaId === 'string' && Number.isFinite(limit) && limit > 0 ? [[quotaId, limit]] : [];
}

/** Parses a protobuf duration (`34.07s`, also `900ms`, `1h2m`) to milliseconds. */
export function tryParseDelay(value: unknown): number | undefined {
  return typeof value === 'string' ? tryParseDuration(value.replaceAll(' ', '')) : undefined;
}

function parseLoosely(text: string): unknown {
  const plain = text.replaceAll('\u00a0', ' ');
  const inside = plain.slice(Math.max(0, plain.indexOf('{')), plain.lastIndexOf('}') + 1);
  for (const candidate of [plain, inside, inside.replace(/,(?:\s*,)+/g, ',')]) {
    try {
      return JSON.parse(candidate);
    } catch {}
  }
  return undefined;
}

function listStringEntries(value: unknown): readonly (readonly [string, string])[] {
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, entry]) => (typeof entry === 'string' ? [[key, entry] as const] : []));
}

interface AccountProblem {
  readonly detail: string;
  /** Status code and name, for the end of the message; absent if it was not an HTTP error. */
  readonly label?: string;
  /** Pages where the user can fix the account, most likely first. */
  readonly links?: readonly string[];
  readonly status?: number;
}

const KEY_HINT = 'Use an API key: gmn auth set-key (https://aistudio.google.com/apikey)';

/** For an account that Google knows but does not serve. Signing in again never helps, so no hint advises it. */
export function findAccountError(reasons: readonly string[], problem: AccountProblem): AppError | undefined {
  const has = (reason: string): boolean => reasons.includes(reason);
  if (has('UNSUPPORTED_CLIENT')) {
    return accountError(
      'Google answered UNSUPPORTED_CLIENT: personal accounts can no longer use this sign-in (since 2026-06-18)',
      problem,
      `${KEY_HINT}, or a Workspace or Code Assist account with GOOGLE_CLOUD_PROJECT=<id>`,
    );
  }
  if (has('TOS_VIOLATION') || FAILURE_TEXTS.termsViolated.pattern.test(problem.detail)) {
    const answer = has('TOS_VIOLATION') ? 'Google answered TOS_VIOLATION: it' : 'Google';
    const what = `${answer} has suspended this account for breaking its terms of service`;
    return accountError(what, problem, `${KEY_HINT} of another account, or appeal to Google`);
  }
  if (has('VALIDATION_REQUIRED')) {
    return accountError('Google requires this account to be verified first', problem, validationHint(problem.links));
  }
  return NOT_SERVED.some(has) || FAILURE_TEXTS.notEligible.pattern.test(problem.detail)
    ? notServedError(problem)
    : undefined;
}

/** Reasons for which Code Assist refuses an account. */
const NOT_SERVED: readonly string[] = [
  'DASHER_USER',
  'INELIGIBLE_ACCOUNT',
  'NON_USER_ACCOUNT',
  'RESTRICTED_AGE',
  'RESTRICTED_DASHER_USER',
  'RESTRICTED_NETWORK',
  'UNKNOWN_LOCATION',
  'UNSUPPORTED_LOCATION',
];

export function notServedError(problem: AccountProblem): AppError {
  return accountError(
    'Code Assist does not serve this account',
    problem,
    `${KEY_HINT}, or set GOOGLE_CLOUD_PROJECT=<id> of a project with a Code Assist licence`,
  );
}

export function isAccountReason(reason: string): boolean {
  return ['VALIDATION_REQUIRED', 'TOS_VIOLATION', 'UNSUPPORTED_CLIENT', ...NOT_SERVED].includes(reason);
}

function accountError(what: string, { detail, label, status }: AccountProblem, hint: string): AppError {
  const all = `${what}${label ? ` (${label})` : ''}${detail && `: ${detail}`}`;
  return serverError('auth', all, { hint, status });
}

/** Suggests only links to Google; any other stays in the quoted message. */
function validationHint(links: AccountProblem['links']): string {
  const link = links?.find((candidate) => URL.canParse(candidate) && isGoogleUrl(new URL(candidate)));
  return link === undefined
    ? 'Verify the account with Google, then try again.'
    : `Open the link, verify the account, then try again: ${toOneLine(link)}`;
}

function isGoogleUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' && /(^|\.)google\.com$/.test(hostname);
}

/** Control characters, line breaks and bidirectional marks. */
const UNSAFE = /[\u0000-\u0020\u007f-\u00a0\u2028-\u202e\u2066-\u2069\ufeff]+/g;

/** Server text as one safe line of at most `max` characters, with credentials redacted. */
export function toOneLine(text: string, max = 500): string {
  const line = redact(text.slice(0, 4 * max).replace(UNSAFE, ' '), '‹redacted›')
    .trim()
    .toWellFormed();
  if (line.length <= max) return line;
  return `${line.slice(0, max).replace(/[\ud800-\udbff]$/, '')}…`;
}

const MAX_PAGE_TEXT = 200;

/** The first visible characters of an HTML page; other text becomes one line. */
export function htmlToText(page: string): string {
  let text = '';
  let at = 0;
  while (text.length < 4 * MAX_PAGE_TEXT) {
    const open = page.indexOf('<', at);
    text += `${page.slice(at, open === -1 ? page.length : Math.min(open, at + 4 * MAX_PAGE_TEXT))} `;
    if (open === -1) break;
    at = findTagEnd(page, open);
  }
  return toOneLine(text.replace(/\s+/g, ' '), MAX_PAGE_TEXT);
}

function findTagEnd(page: string, open: number): number {
  const hidden = /^<(script|style|!--)/.exec(page.slice(open, open + 8).toLowerCase())?.[1];
  const close = hidden === undefined ? '>' : hidden === '!--' ? '-->' : `</${hidden}>`;
  const end = page.indexOf(close, open);
  return end === -1 ? page.length : end + close.length;
}
