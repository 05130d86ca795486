import { isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';

export type LayerName =
  | 'built-in'
  | 'system-defaults'
  | 'extension'
  | 'user'
  | 'gmn'
  | 'workspace'
  | 'system'
  | 'environment';

export interface Layer {
  readonly name: LayerName;
  readonly source: string;
  readonly state: 'used' | 'absent' | 'ignored';
  readonly why?: string;
  readonly document: JsonObject;
  /** What the file sets though a folder may not; only `gmn config explain` shows it. */
  readonly refused?: JsonObject;
  readonly notices?: readonly string[];
}

export function ignoredLayer(name: LayerName, source: string, why: string): Layer {
  return { name, source, state: 'ignored', why, document: {} };
}

export function absentLayer(name: LayerName, source: string): Layer {
  return { name, source, state: 'absent', document: {} };
}

export function nestValue([key = '', ...rest]: readonly string[], value: JsonValue): JsonObject {
  return { [key]: rest.length === 0 ? value : nestValue(rest, value) };
}

type Rule = (low: JsonValue, high: JsonValue) => JsonValue;

/** Exceptions. Everywhere else objects are merged deeply and other values replaced. */
const RULES: Readonly<Record<string, Rule>> = {
  policyPaths: unite,
  adminPolicyPaths: unite,
  'tools.exclude': unite,
  'advanced.excludedEnvVars': unite,
  'extensions.disabled': unite,
  'skills.disabled': unite,
  'hooksConfig.disabled': unite,
  'context.fileFiltering.customIgnoreFilePaths': unite,
  'context.includeDirectories': concatenate,
  // What one layer forbids, no other may allow.
  'tools.core': intersect,
  'mcp.allowed': intersect,
  'mcp.excluded': unite,
  // A server is replaced as a whole, since a mix of two definitions makes no sense.
  mcpServers: mergeShallow,
};

export function mergeDocuments(documents: readonly JsonObject[]): JsonObject {
  return documents.reduce((low, high) => mergeObjects(low, high, ''), {});
}

function mergeObjects(low: JsonObject, high: JsonObject, prefix: string): JsonObject {
  const merged: Record<string, JsonValue | undefined> = { ...low };
  for (const [key, value] of Object.entries(high)) {
    const below = Object.hasOwn(low, key) ? low[key] : undefined;
    merged[key] = below === undefined || value === undefined ? value : mergeValues(below, value, prefix + key);
  }
  return merged;
}

function mergeValues(low: JsonValue, high: JsonValue, path: string): JsonValue {
  const rule = Object.hasOwn(RULES, path) ? RULES[path] : path.startsWith('hooks.') ? concatenate : undefined;
  if (rule !== undefined) return rule(low, high);
  return isObject(low) && isObject(high) ? mergeObjects(low, high, `${path}.`) : high;
}

function unite(low: JsonValue, high: JsonValue): JsonValue {
  return isList(low) && isList(high) ? [...low, ...high.filter((item) => !low.includes(item))] : high;
}

function concatenate(low: JsonValue, high: JsonValue): JsonValue {
  return isList(low) && isList(high) ? [...low, ...high] : high;
}

function intersect(low: JsonValue, high: JsonValue): JsonValue {
  return isList(low) && isList(high) ? high.filter((item) => low.includes(item)) : high;
}

function mergeShallow(low: JsonValue, high: JsonValue): JsonValue {
  return isObject(low) && isObject(high) ? { ...low, ...high } : high;
}
