import { AppError } from '../core/error.ts';
import { canonicalJson, isList, isObject, type JsonObject, type JsonValue, toJsonObject } from '../core/json.ts';
import { sha256 } from '../platform/runtime/native.ts';
import type { StoredRequest } from './exchange.ts';

/** What two requests are compared by: equal ones have equal texts. */
export interface NormalRequest {
  readonly method: string;
  readonly path: string;
  readonly query: JsonObject;
  readonly body?: JsonValue;
}

/** Changes the text at a place such as `contents[0].parts[1].text`; undefined leaves the field out. */
export type Ignore = (text: string, place: string) => string | undefined;

/** Fields that are new in every run, outside of the conversation, and `store`, which changes no answer. */
const VOLATILE = new Set([
  'store',
  'project',
  'session_id',
  'sessionId',
  'user_prompt_id',
  'cloudaicompanionProject',
  'metadata',
]);

/** Without what differs between runs, and without what `ignored` names. */
export function normaliseRequest(stored: StoredRequest, ignored: readonly Ignore[]): NormalRequest {
  const body = stored.body ?? stored.text ?? (stored.media === undefined ? undefined : { media: stored.media });
  return {
    method: stored.method,
    path: normalisePath(stored.path),
    query: stored.query,
    body: body === undefined ? undefined : applyIgnored(dropVolatile(numberCalls(body)), [...ignored, ...BUILT_IN], ''),
  };
}

export function hashRequest({ method, path, query, body }: NormalRequest): string {
  return sha256(canonicalJson([method, path, query, body ?? null]));
}

/** From the version on: a gateway may have a path of its own, and a project does not matter. */
function normalisePath(path: string): string {
  return path
    .replace(/\/{2,}/g, '/')
    .replace(/^.*?(?=\/(?:upload\/|download\/)?v\d\w{0,20}[/:])/, '')
    .replace(/\/projects\/[^/]+\/locations\/[^/]+(?=\/publishers\/)/, '');
}

function dropVolatile(body: JsonValue): JsonValue {
  if (!isObject(body)) return body;
  const drop = (object: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(object).filter(([key]) => !VOLATILE.has(key)));
  const outer = drop(body as JsonObject);
  return isObject(outer.request) ? { ...outer, request: drop(toJsonObject(outer.request)) } : outer;
}

/** Clients make up ids where the service gives none: which call is answered counts, and not its name. */
function numberCalls(body: JsonValue): JsonValue {
  const names = new Map<JsonValue, string>();
  const number = (id: JsonValue): string => {
    const name = names.get(id) ?? `call-${names.size + 1}`;
    names.set(id, name);
    return name;
  };
  const visit = (value: JsonValue | undefined, key: string): JsonValue | undefined => {
    if (isList(value)) return value.map((item) => visit(item, '') ?? null);
    if (!isObject(value)) return value;
    const object = value as JsonObject;
    const isCall = /^function_?(?:call|response)$/i.test(key);
    if (isCall) return { ...object, id: object.id === undefined ? undefined : number(object.id) };
    return Object.fromEntries(Object.entries(object).map(([name, item]) => [name, visit(item, name)]));
  };
  return visit(body, '') ?? null;
}

function applyIgnored(value: JsonValue, ignored: readonly Ignore[], place: string): JsonValue {
  if (isList(value)) return value.map((item, index) => applyIgnored(item, ignored, `${place}[${index}]`));
  if (isObject(value)) {
    const entries: [string, JsonValue][] = [];
    for (const [key, item] of Object.entries(value as JsonObject)) {
      if (item === undefined) continue;
      const inner = place === '' ? key : `${place}.${key}`;
      // A field is ignored as a whole, also where only one of two requests has it.
      const text = typeof item === 'object' ? '' : String(item);
      const isField = ignored.every((ignore) => ignore(text, inner) !== undefined);
      if (isField) entries.push([key, applyIgnored(item, ignored, inner)]);
    }
    return Object.fromEntries(entries);
  }
  if (typeof value !== 'string') return value;
  return ignored.reduce((text, ignore) => ignore(text, place) ?? text, value);
}

/** What gmn's own prompt says about its surroundings: see agent/prompt.ts. */
const BUILT_IN: readonly Ignore[] = [
  (text, place) =>
    /^(?:request\.)?systemInstruction\b/.test(place)
      ? text.replace(/^(- (?:Working directory|Also in the workspace|System|Date|Git branch): ).*\n?/gm, '')
      : text,
];

const NAMED: Readonly<Record<string, RegExp>> = {
  date: /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?\b|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? (?:\d{1,2} )?[A-Z][a-z]{2,8}\.? (?:\d{1,2},? )?\d{4}\b/g,
  time: /\b\d{1,2}:\d\d(?::\d\d(?:\.\d{1,9})?)?\b/g,
  uuid: /\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/gi,
  path: /(?<![\w.])(?:[A-Za-z]:)?(?:[\\/][\w.@+~-]+){2,}/g,
};

/**
 * `date`, `time`, `uuid` or `path`; a field, such as `generationConfig.seed`; or a field and what to ignore in it:
 * `contents.*.text:/tmp/\S+`. In a field `*` stands for anything; an empty one for all. Throws AppError `usage`.
 */
export function parseIgnored(spec: string): Ignore {
  const named = Object.hasOwn(NAMED, spec) ? NAMED[spec] : undefined;
  if (named !== undefined) return (text) => text.replace(named, '…');
  const colon = spec.indexOf(':');
  const field = toFieldPattern(colon < 0 ? spec : spec.slice(0, colon), spec);
  if (colon < 0) return (text, place) => (field.test(place) ? undefined : text);
  const pattern = parseIgnoredPattern(spec.slice(colon + 1), spec);
  return (text, place) => (field.test(place) ? text.replace(pattern, '…') : text);
}

function toFieldPattern(field: string, spec: string): RegExp {
  if (!/^[\w.*[\]-]*$/.test(field)) throw ignoreError(spec, `"${field}" is not a field`);
  const steps = field.split('*').map((text) => text.replace(/^\.|\.$/g, '').replace(/[.[\]-]/g, '\\$&'));
  return field === '' ? /^/ : new RegExp(`^(?:request\\.)?${steps.join('\\b.*\\b')}(?:[.[]|$)`);
}

function parseIgnoredPattern(text: string, spec: string): RegExp {
  try {
    return new RegExp(text, 'g');
  } catch (cause) {
    throw ignoreError(spec, cause instanceof Error ? cause.message : 'it cannot be read');
  }
}

function ignoreError(spec: string, why: string): AppError {
  return new AppError('usage', `--ignore ${spec}: ${why}`, {
    hint: `Use ${Object.keys(NAMED).join(', ')}, a field such as generationConfig.seed, or 'contents.*.text:/tmp/\\S+'.`,
  });
}
