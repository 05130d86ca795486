import { AppError } from './error.ts';

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** True for `{…}`: not for null, not for an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True for `[…]`; unlike `Array.isArray` it keeps the type of what is in it. */
export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** The objects among the items of a list; none if it is no list. */
export function objectsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The value if it is a string that says something. */
export function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** What the text says as JSON, a byte order mark allowed; undefined if it is none. Never throws. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text);
  } catch {
    return undefined;
  }
}

/** The same text for the same value, however its keys were ordered. */
export function canonicalJson(value: JsonValue): string {
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item ?? null)}`).join(',')}}`;
}

/** How deep a file may nest: no setting needs a tenth of it, and much deeper ones would exhaust the stack. */
export const MAX_DEPTH = 100;

/** For a file whose values nest deeper than `MAX_DEPTH`. */
export function nestedTooDeeply(file: string): AppError {
  return new AppError('config', `${file}: nested deeper than ${MAX_DEPTH} levels`, {
    hint: 'Mend or remove that file.',
  });
}
