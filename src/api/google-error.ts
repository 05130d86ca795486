import { isObject, objectsOf, stringOf } from '../core/json.ts';
import { parseDuration } from '../core/text/format.ts';

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
