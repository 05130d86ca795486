import { type AppError, refused } from '../core/error.ts';
import { isObject, objectsOf, stringOf } from '../core/json.ts';
import { parseDuration } from '../core/text/format.ts';
import { redact } from '../core/text/secrets.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What a Google error body says. https://google.aip.dev/193 */
export interface GoogleError {
  readonly code?: number;
  /** `RESOURCE_EXHAUSTED` and the like. */
  readonly status?: string;
  readonly message: string;
  /** `ErrorInfo.reason` of every detail that has one. */
  readonly reasons: readonly string[];
  /** `ErrorInfo.metadata`, merged. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly quotaIds: readonly string[];
  /** `RetryInfo.retryDelay` */
  readonly retryMs?: number;
  readonly links: readonly string[];
}

const MAX_NESTING = 10;

/**
 * Reads an error body however it is wrapped: in a list, in a string, in other text, in its own `message`.
 * Undefined if there is no such object in it. Never throws.
 */
export function parseGoogleError(body: unknown, depth = 0): GoogleError | undefined {
  const value = typeof body === 'string' ? parseLoosely(body) : body;
  const outer: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof outer === 'string' && depth < MAX_NESTING) return parseGoogleError(outer, depth + 1);
  if (!isObject(outer)) return undefined;
  const error = isObject(outer.error) ? outer.error : outer;
  const message = stringOf(error.message) ?? stringOf(outer.error) ?? '';
  const inner = message.includes('{') && depth < MAX_NESTING ? parseGoogleError(message, depth + 1) : undefined;
  const own = readError(error, message);
  // An object that says nothing was not an error body: any page with a style sheet has braces in it.
  if (message === '' && own.code === undefined && own.status === undefined && !Array.isArray(error.details))
    return undefined;
  // Only an inner object that says something is an error body; braces alone may be part of the sentence.
  return inner === undefined || inner.message === '' ? own : { ...own, ...inner };
}

function readError(error: Fields, message: string): GoogleError {
  const details = objectsOf(error.details);
  const code = Number(error.code);
  const status = stringOf(error.status);
  const retryMs = details.map((detail) => parseDelay(detail.retryDelay)).find((ms) => ms !== undefined);
  return {
    ...(Number.isInteger(code) && code > 0 ? { code } : {}),
    ...(status === undefined ? {} : { status }),
    ...(retryMs === undefined ? {} : { retryMs }),
    message,
    reasons: details.flatMap((detail) => stringOf(detail.reason) ?? []),
    metadata: Object.fromEntries(details.flatMap((detail) => stringEntries(detail.metadata))),
    quotaIds: details
      .flatMap((detail) => objectsOf(detail.violations))
      .flatMap((entry) => stringOf(entry.quotaId) ?? []),
    links: details.flatMap((detail) => objectsOf(detail.links)).flatMap((link) => stringOf(link.url) ?? []),
  };
}

/** A protobuf duration (`34.07s`, also `900ms`, `1h2m`) in milliseconds. */
export function parseDelay(value: unknown): number | undefined {
  return typeof value === 'string' && value !== '' ? parseDuration(value.replaceAll(' ', '')) : undefined;
}

function parseLoosely(text: string): unknown {
  const plain = text.replaceAll('\u00a0', ' ').trim();
  const inside = plain.slice(Math.max(0, plain.indexOf('{')), plain.lastIndexOf('}') + 1);
  for (const candidate of [plain, inside, inside.replace(/,(?:\s*,)+/g, ',')]) {
    try {
      return JSON.parse(candidate);
    } catch {
      // The next candidate is more forgiving.
    }
  }
  return undefined;
}

function stringEntries(value: unknown): readonly (readonly [string, string])[] {
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, entry]) => (typeof entry === 'string' ? [[key, entry] as const] : []));
}

/** What the server said of an account it does not serve. */
interface Trouble {
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

/** Control characters, line ends and the marks that turn the direction of text. */
const UNSAFE = /[\u0000-\u0020\u007f-\u00a0\u2028-\u202e\u2066-\u2069\ufeff]+/g;

/** Words from a server as one harmless line of at most `max` characters, without anything that looks like a credential. */
export function oneLine(text: string, max = 500): string {
  const line = redact(text.slice(0, 4 * max).replace(UNSAFE, ' '), '‹redacted›')
    .trim()
    .toWellFormed();
  if (line.length <= max) return line;
  return `${line.slice(0, max).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** The first `max` characters a reader of this HTML page would see; other text comes back as `oneLine` of it. */
export function visibleText(page: string, max = 200): string {
  let text = '';
  let at = 0;
  while (at < page.length && text.length < 4 * max) {
    const open = page.indexOf('<', at);
    text += `${page.slice(at, open === -1 ? page.length : Math.min(open, at + 4 * max))} `;
    if (open === -1) break;
    at = tagEnd(page, open);
  }
  return oneLine(text.replace(/\s+/g, ' '), max);
}

/** Where reading goes on after the tag at `open`; the insides of scripts and styles are not for readers. */
function tagEnd(page: string, open: number): number {
  const hidden = /^<(script|style|!--)/i.exec(page.slice(open, open + 8))?.[1]?.toLowerCase();
  const close = hidden === undefined ? '>' : hidden === '!--' ? '-->' : `</${hidden}>`;
  const end = page.indexOf(close, open);
  return end === -1 ? page.length : end + close.length;
}
