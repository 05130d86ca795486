import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { MAX_DEPTH, nestedTooDeeply } from '../core/nesting.ts';
import { findMisfit } from './keys.ts';
import { loadExpansion, loadJsonc } from './lazy.ts';
import { modernised, oldKeyFor } from './legacy-keys.ts';

/** A settings file as it was found. */
export interface SettingsText {
  readonly file: string;
  readonly text: string;
}

/**
 * What a settings file says: today's keys, values as written, the keys gmn reads of the right type, no `__proto__`.
 * Throws AppError `config` with `file:line:column` of the fault, and the key where it is about one.
 */
export async function parseSettingsText({ file, text: written }: SettingsText): Promise<JsonObject> {
  const text = written.startsWith('\uFEFF') ? written.slice(1) : written;
  const value = await parseJson(text, file);
  if (!isObject(value)) throw await misfitError({ file, text }, { path: [], wanted: 'an object' });
  const document = modernised(parseObject(value, file));
  const misfit = findMisfit(document);
  if (misfit !== undefined) throw await misfitError({ file, text }, misfit);
  return document;
}

/** What `parseSettingsText` left out and a person would miss: a server whose name no object can safely have. Never throws. */
export async function serverNotices({ file, text }: SettingsText): Promise<readonly string[]> {
  // `\u005f` is an underscore too.
  if (!text.includes('__proto__') && !/\\u00(?:5[fF]|[67])/.test(text)) return [];
  const value = await parseJson(text.replace(/^\uFEFF/, ''), file).catch(() => undefined);
  const servers = isObject(value) ? value.mcpServers : undefined;
  if (!isObject(servers) || !Object.hasOwn(servers, '__proto__')) return [];
  return [`${file}: an MCP server cannot be named "__proto__", not used`];
}

/**
 * The document with variables put in, secret ones not into the command line of a server. A copy is made only if `text`, from
 * which it was parsed, can hold one.
 */
export async function expandDocument(document: JsonObject, text: string, env: Env): Promise<JsonObject> {
  // `\u0024` is a dollar sign too.
  if (!text.includes('$') && !text.includes('\\u0024')) return document;
  const { expand, expandInCommandLine } = await loadExpansion();
  return mapValues(document, (value, key) => expanded(value, [key], [expand, expandInCommandLine], env));
}

type Expand = (text: string, env: Env) => string;

function expanded(value: JsonValue, path: readonly string[], ways: readonly [Expand, Expand], env: Env): JsonValue {
  if (typeof value === 'string') return (isInCommandLine(path) ? ways[1] : ways[0])(value, env);
  if (Array.isArray(value)) return value.map((item) => expanded(item, path, ways, env));
  return isObject(value) ? mapValues(value, (item, key) => expanded(item, [...path, key], ways, env)) : value;
}

function isInCommandLine([first, second, third]: readonly string[]): boolean {
  if (first === 'mcp') return second === 'serverCommand';
  return first === 'mcpServers' && (third === 'command' || third === 'args');
}

/** Plain JSON is read by the engine; only a file with comments, or a broken one, needs the tolerant parser. */
async function parseJson(text: string, file: string): Promise<unknown> {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    const { parseJsonc } = await loadJsonc();
    return parseJsonc(text, file);
  }
}

/** A clean copy: an own `__proto__`, harmless here, would not stay so in the next careless assignment. */
function parseObject(value: Readonly<Record<string, unknown>>, file: string, depth = 0): JsonObject {
  const copy: Record<string, JsonValue> = {};
  for (const [key, item] of Object.entries(value)) {
    if (key !== '__proto__') copy[key] = parseValue(item, file, depth + 1);
  }
  return copy;
}

function parseValue(value: unknown, file: string, depth: number): JsonValue {
  if (depth > MAX_DEPTH) throw nestedTooDeeply(file);
  if (Array.isArray(value)) return value.map((item) => parseValue(item, file, depth + 1));
  return isObject(value) ? parseObject(value, file, depth) : (value as JsonValue);
}

function mapValues(document: JsonObject, change: (value: JsonValue, key: string) => JsonValue): JsonObject {
  return Object.fromEntries(Object.entries(document).map(([key, value]) => [key, change(value ?? null, key)]));
}

async function misfitError(
  { file, text }: SettingsText,
  { path, wanted }: { readonly path: readonly string[]; readonly wanted: string },
): Promise<AppError> {
  const { positionOf } = await loadJsonc();
  const old = oldKeyFor(path);
  const position = positionOf(text, [path, ...(old === undefined ? [] : [[old]])]);
  const what = path.length === 0 ? 'the file' : path.join('.');
  return new AppError('config', `${file}:${position}: ${what} must be ${wanted}`, {
    hint: path.length === 0 ? 'Mend the file: settings are a JSON object.' : 'Mend that key, or remove it.',
  });
}
