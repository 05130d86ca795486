import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { isObject, type JsonObject, type JsonValue, MAX_DEPTH, nestingError } from '../core/json.ts';
import { findTypeMismatch } from './keys.ts';

export interface SettingsText {
  readonly file: string;
  readonly text: string;
}

/**
 * Parses a settings file: old keys are moved to their current place, variables stay as written, keys that gmn reads are
 * type-checked, `__proto__` is dropped. Throws AppError `config` with `file:line:column`, and the key if it is about
 * one.
 */
export async function parseSettingsText({ file, text: written }: SettingsText): Promise<JsonObject> {
  const text = written.startsWith('\uFEFF') ? written.slice(1) : written;
  const value = await parseFileText(text, file);
  if (!isObject(value)) throw await typeMismatchError({ file, text }, { path: [], expected: 'an object' });
  const document = moveOldKeys(parseObject(value, file));
  const misfit = findTypeMismatch(document);
  if (misfit !== undefined) throw await typeMismatchError({ file, text }, misfit);
  return document;
}

/** Reports an MCP server named `__proto__`, which `parseSettingsText` drops. Never throws. */
export async function findServerNotices({ file, text }: SettingsText): Promise<readonly string[]> {
  // `\u005f` is an underscore, too.
  if (!text.includes('__proto__') && !/\\u00(?:5[fF]|[67])/.test(text)) return [];
  const value = await parseFileText(text.replace(/^\uFEFF/, ''), file).catch(() => undefined);
  const servers = isObject(value) ? value.mcpServers : undefined;
  if (!isObject(servers) || !Object.hasOwn(servers, '__proto__')) return [];
  return [`${file}: an MCP server cannot be named "__proto__", not used`];
}

/** Secret ones stay as they are in the command line of a server. `text` is the source of the document. */
export async function expandDocument(document: JsonObject, text: string, env: Env): Promise<JsonObject> {
  // `\u0024` is a dollar sign, too.
  if (!text.includes('$') && !text.includes('\\u0024')) return document;
  const variables = await import('./variables.ts');
  return mapValues(document, (value, key) => expandValue(value, [key], { variables, env }));
}

interface Expansion {
  readonly variables: typeof import('./variables.ts');
  readonly env: Env;
}

function expandValue(value: JsonValue, path: readonly string[], expansion: Expansion): JsonValue {
  // The shell fills in the variables of hooks, which may be set only when one runs.
  if (path[0] === 'hooks') return value;
  const { variables, env } = expansion;
  if (typeof value === 'string') {
    if (path.join('.') === 'mcp.serverCommand') return variables.expandInLine(value, env);
    const [first, , third] = path;
    const isWord = first === 'mcpServers' && (third === 'command' || third === 'args');
    return isWord ? variables.expandInCommandLine(value, env) : variables.expandVariables(value, env);
  }
  if (Array.isArray(value)) return value.map((item) => expandValue(item, path, expansion));
  if (!isObject(value)) return value;
  const expanded = mapValues(value as JsonObject, (item, key) => expandValue(item, [...path, key], expansion));
  const isServer = path[0] === 'mcpServers' && path.length === 2;
  return isServer ? variables.expandShellLines(value as JsonObject, expanded, env) : expanded;
}

/** `JSON.parse` first; only files with comments, or broken ones, need the tolerant parser. */
async function parseFileText(text: string, file: string): Promise<unknown> {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    const { parseJsonc } = await import('./jsonc.ts');
    return parseJsonc(text, file);
  }
}

/** Drops `__proto__` keys: a later assignment could make them take effect. */
function parseObject(value: Readonly<Record<string, unknown>>, file: string, depth = 0): JsonObject {
  const copy: Record<string, JsonValue> = {};
  for (const [key, item] of Object.entries(value)) {
    if (key !== '__proto__') copy[key] = toSettingValue(item, file, depth + 1);
  }
  return copy;
}

function toSettingValue(value: unknown, file: string, depth: number): JsonValue {
  if (depth > MAX_DEPTH) throw nestingError(file);
  if (Array.isArray(value)) return value.map((item) => toSettingValue(item, file, depth + 1));
  return isObject(value) ? parseObject(value, file, depth) : (value as JsonValue);
}

function mapValues(document: JsonObject, change: (value: JsonValue, key: string) => JsonValue): JsonObject {
  return Object.fromEntries(Object.entries(document).map(([key, value]) => [key, change(value ?? null, key)]));
}

async function typeMismatchError(
  { file, text }: SettingsText,
  { path, expected }: { readonly path: readonly string[]; readonly expected: string },
): Promise<AppError> {
  const { findPosition } = await import('./jsonc.ts');
  const old = findOldKey(path);
  const position = findPosition(text, [path, ...(old === undefined ? [] : [[old]])]);
  const what = path.length === 0 ? 'the file' : path.join('.');
  return new AppError('config', `${file}:${position}: ${what} must be ${expected}`, {
    hint: path.length === 0 ? 'Fix the file: settings are a JSON object.' : 'Fix that key, or remove it.',
  });
}

/** Flat keys of the official CLI's first format. */
const MOVED_KEYS: Readonly<Record<string, string>> = {
  model: 'model.name',
  selectedAuthType: 'security.auth.selectedType',
  enforcedAuthType: 'security.auth.enforcedType',
  folderTrust: 'security.folderTrust.enabled',
  contextFileName: 'context.fileName',
  includeDirectories: 'context.includeDirectories',
  fileFiltering: 'context.fileFiltering',
  coreTools: 'tools.core',
  allowedTools: 'tools.allowed',
  excludeTools: 'tools.exclude',
  mcpServerCommand: 'mcp.serverCommand',
  allowMCPServers: 'mcp.allowed',
  excludeMCPServers: 'mcp.excluded',
};

export function listMovedKeys(): readonly string[] {
  return Object.values(MOVED_KEYS);
}

/** If both are set, the current key wins. */
function moveOldKeys(document: JsonObject): JsonObject {
  let result = document;
  for (const [old, today] of Object.entries(MOVED_KEYS)) {
    if (!Object.hasOwn(document, old)) continue;
    const { [old]: value, ...rest } = result;
    // In the current format `model` is an object; only a string is the old key.
    if (value === undefined || (old === 'model' && typeof value !== 'string')) continue;
    result = setDefault(rest, today.split('.'), value) ?? result;
  }
  return result;
}

export function findOldKey(path: readonly string[]): string | undefined {
  const key = path.join('.');
  return Object.entries(MOVED_KEYS).find(([, today]) => key === today || key.startsWith(`${today}.`))?.[0];
}

/** Undefined if the path leads through something other than an object; `findTypeMismatch` reports that. */
function setDefault(document: JsonObject, path: readonly string[], value: JsonValue): JsonObject | undefined {
  const [key = '', ...rest] = path;
  const current = document[key];
  if (rest.length === 0) return current === undefined ? { ...document, [key]: value } : document;
  if (current !== undefined && !isObject(current)) return undefined;
  const inner = setDefault(current ?? {}, rest, value);
  return inner && { ...document, [key]: inner };
}
