import { isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';

export type LayerName = 'built-in' | 'system-defaults' | 'user' | 'gmn' | 'workspace' | 'system' | 'environment';

/** One source of settings. */
export interface Layer {
  readonly name: LayerName;
  /** The file; for the environment its variables. */
  readonly source: string;
  readonly state: 'used' | 'absent' | 'ignored';
  /** Why it is ignored. */
  readonly why?: string;
  /** What it sets; empty unless it is used. */
  readonly document: JsonObject;
  /** What of it is not used, in words. */
  readonly notices?: readonly string[];
}

/** A layer that is there but does not count. */
export function ignoredLayer(name: LayerName, source: string, why: string): Layer {
  return { name, source, state: 'ignored', why, document: {} };
}

/** A file that is not there. */
export function absentLayer(name: LayerName, source: string): Layer {
  return { name, source, state: 'absent', document: {} };
}

/** How one value of a lower layer and one of a higher layer become one. */
type Rule = (low: JsonValue, high: JsonValue) => JsonValue;

/** Keys that do not follow the usual rule; everywhere else objects are merged deeply and all else is replaced. */
const RULES: Readonly<Record<string, Rule>> = {
  policyPaths: union,
  adminPolicyPaths: union,
  'tools.exclude': union,
  'advanced.excludedEnvVars': union,
  'extensions.disabled': union,
  'skills.disabled': union,
  'hooksConfig.disabled': union,
  'context.fileFiltering.customIgnoreFilePaths': union,
  'context.includeDirectories': concatenation,
  // What one layer forbids no other may allow.
  'tools.core': intersection,
  'mcp.allowed': intersection,
  'mcp.excluded': union,
  // A server's definition belongs together: half of one and half of another would be a third that nobody wrote.
  mcpServers: shallow,
};

/** Settings of several layers as one, later ones over earlier ones. No key of any layer is lost. */
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
  const rule = Object.hasOwn(RULES, path) ? RULES[path] : path.startsWith('hooks.') ? concatenation : undefined;
  if (rule !== undefined) return rule(low, high);
  return isObject(low) && isObject(high) ? mergeObjects(low, high, `${path}.`) : high;
}

function union(low: JsonValue, high: JsonValue): JsonValue {
  return isList(low) && isList(high) ? [...low, ...high.filter((item) => !low.includes(item))] : high;
}

function concatenation(low: JsonValue, high: JsonValue): JsonValue {
  return isList(low) && isList(high) ? [...low, ...high] : high;
}

function intersection(low: JsonValue, high: JsonValue): JsonValue {
  return isList(low) && isList(high) ? high.filter((item) => low.includes(item)) : high;
}

function shallow(low: JsonValue, high: JsonValue): JsonValue {
  return isObject(low) && isObject(high) ? { ...low, ...high } : high;
}
