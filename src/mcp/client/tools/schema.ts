import { isCount, isObject, type JsonObject, type JsonValue, omitEmpty, omitUndefined } from '../../../core/json.ts';
import { resolvePointer } from '../../../core/schema.ts';

/** In characters of JSON. */
const MAX_CHARS = 100_000;
const MAX_DEPTH = 48;

const SINGLE_SCHEMA = new Set(['items', 'not', 'if', 'then', 'else', 'contains', 'propertyNames']);
const SCHEMA_LIST = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const SCHEMA_MAP = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** They only narrow a schema, and the services do not accept them. */
const DROPPED = new Set([
  ...['$schema', 'additionalProperties', 'additionalItems', 'unevaluatedProperties', 'unevaluatedItems'],
  ...['contentSchema', 'dependencies', 'dependentRequired'],
]);

const TYPES = new Set<unknown>(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);

/** The valid values of each keyword; an invalid one is dropped. https://json-schema.org/draft/2020-12/schema */
const isString = (value: JsonValue): boolean => typeof value === 'string';
const isNumber = (value: JsonValue): boolean => typeof value === 'number';
const isBoolean = (value: JsonValue): boolean => typeof value === 'boolean';
const isNonEmptyList = (value: JsonValue): boolean => Array.isArray(value) && value.length > 0;
const VALUE_CHECKS: ReadonlyMap<string, (value: JsonValue) => boolean> = new Map([
  ...['$ref', '$id', '$anchor', '$comment', 'title', 'description', 'format', 'pattern'].map(
    (key) => [key, isString] as const,
  ),
  ...['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum'].map((key) => [key, isNumber] as const),
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minContains', 'maxContains'].map(
    (key) => [key, isCount] as const,
  ),
  ...['minProperties', 'maxProperties'].map((key) => [key, isCount] as const),
  ...['nullable', 'uniqueItems', 'deprecated', 'readOnly', 'writeOnly'].map((key) => [key, isBoolean] as const),
  ['multipleOf', (value) => typeof value === 'number' && value > 0] as const,
  ['enum', isNonEmptyList] as const,
  ['examples', (value) => Array.isArray(value)] as const,
]);

/**
 * Converts a tool's schema to what the model's API accepts: drops `$schema`, `additionalProperties` and the like, and a
 * `default` beside `anyOf`, and turns a union with null into `nullable`. Repairs invalid JSON Schema: an unknown type,
 * a keyword with a wrong value, a required property that does not exist, an array without `items`; then it calls
 * `onRepaired`. Undefined if the schema is unusable: no object, too large or deep, or with a circular or dangling
 * reference. Compiles no pattern. Never throws.
 */
export function toUsableSchema(schema: JsonObject, onRepaired: () => void = () => {}): JsonObject | undefined {
  if (JSON.stringify(schema).length > MAX_CHARS) return undefined;
  const { type = 'object', ...rest } = schema;
  if (filterTypes(type).join() !== 'object') return undefined;
  const cleaned = cleanSchema({ type, ...rest }, { depth: 0, onRepaired });
  if (cleaned === undefined || !hasSoundReferences(cleaned)) return undefined;
  return cleaned.properties === undefined ? { ...cleaned, properties: {} } : cleaned;
}

interface CleanContext {
  readonly depth: number;
  readonly onRepaired: () => void;
}

function cleanSchema(schema: JsonValue, context: CleanContext): JsonObject | undefined {
  // `true` accepts everything, like an empty schema; `false` accepts nothing, so no argument can satisfy it.
  if (schema === true) return {};
  if (!isObject(schema) || context.depth > MAX_DEPTH) return undefined;
  const inner = { ...context, depth: context.depth + 1 };
  const entries: [string, JsonValue][] = [];
  for (const [key, value] of Object.entries(toTuple(schema, context))) {
    // `items: false` closes a tuple; it only narrows, like the dropped keywords.
    if (value === undefined || DROPPED.has(key) || (key === 'items' && value === false)) continue;
    if (!isValidKeyword(key, value)) {
      context.onRepaired();
      continue;
    }
    const cleaned = cleanKeyword(key, value, inner);
    if (cleaned === undefined) return undefined;
    entries.push([key, cleaned]);
  }
  return completeSchema(foldNull(Object.fromEntries(entries)), context);
}

/** Older drafts put the schemas of a tuple under `items`. */
function toTuple(schema: JsonObject, { onRepaired }: CleanContext): JsonObject {
  const { items, ...rest } = schema;
  if (!Array.isArray(items)) return schema;
  onRepaired();
  return { prefixItems: items, ...rest };
}

function isValidKeyword(key: string, value: JsonValue): boolean {
  if (key === 'type') return filterTypes(value).length > 0;
  if (key === 'required') return Array.isArray(value);
  if (SCHEMA_LIST.has(key) && Array.isArray(value)) return value.length > 0;
  return VALUE_CHECKS.get(key)?.(value) ?? true;
}

function filterTypes(type: JsonValue): readonly string[] {
  const names = (Array.isArray(type) ? type : [type]).map((name) => String(name).toLowerCase());
  return [...new Set(names)].filter((name) => TYPES.has(name));
}

function cleanKeyword(key: string, value: JsonValue, context: CleanContext): JsonValue | undefined {
  if (key === 'type') return cleanType(value, context);
  if (SINGLE_SCHEMA.has(key)) return cleanSchema(value, context);
  if (SCHEMA_LIST.has(key))
    return Array.isArray(value) ? allOrNone(value.map((item) => cleanSchema(item, context))) : undefined;
  if (!SCHEMA_MAP.has(key)) return value;
  if (!isObject(value)) return undefined;
  const names = Object.keys(value);
  const schemas = allOrNone(Object.values(value).map((item) => cleanSchema(item ?? null, context)));
  return schemas && Object.fromEntries(names.map((name, index) => [name, schemas[index] ?? {}]));
}

function cleanType(type: JsonValue, { onRepaired }: CleanContext): JsonValue {
  const names = filterTypes(type);
  if ((Array.isArray(type) ? type : [type]).some((name) => !TYPES.has(name))) onRepaired();
  return names.length === 1 ? (names[0] ?? '') : names;
}

function allOrNone<Item>(items: readonly (Item | undefined)[]): readonly Item[] | undefined {
  const present = items.filter((item) => item !== undefined);
  return present.length === items.length ? present : undefined;
}

function completeSchema(schema: JsonObject, { onRepaired }: CleanContext): JsonObject {
  const { required, default: fallback, ...rest } = schema;
  const names = Array.isArray(required) ? required.filter(isPropertyIn(rest)) : [];
  const needed = names.filter((name, index) => names.indexOf(name) === index);
  if (Array.isArray(required) && needed.length < required.length) onRepaired();
  const isList = rest.type === 'array' || (Array.isArray(rest.type) && rest.type.includes('array'));
  const isOpen = isList && rest.items === undefined;
  if (isOpen && rest.prefixItems === undefined) onRepaired();
  return omitUndefined({
    ...rest,
    required: omitEmpty(needed),
    // Vertex rejects `default` beside `anyOf`.
    default: rest.anyOf === undefined ? fallback : undefined,
    items: isOpen ? {} : rest.items,
  });
}

function isPropertyIn({ properties }: JsonObject): (name: JsonValue) => boolean {
  return (name) => typeof name === 'string' && isObject(properties) && Object.hasOwn(properties, name);
}

/** Turns `[X, null]`, as types or as alternatives, into X with `nullable`. */
function foldNull(schema: JsonObject): JsonObject {
  const { type } = schema;
  if (Array.isArray(type) && type.length === 2 && type.includes('null')) {
    const [kind] = type.filter((item) => item !== 'null');
    if (kind !== undefined) return foldNull({ ...schema, type: kind, nullable: true });
  }
  for (const key of ['anyOf', 'oneOf']) {
    const { [key]: pair, ...rest } = schema;
    if (!Array.isArray(pair) || pair.length !== 2) continue;
    const [only, ...more] = pair.filter((item) => !isNull(item));
    if (isObject(only) && more.length === 0) return foldNull({ ...only, ...rest, nullable: true });
  }
  return schema;
}

function isNull(schema: JsonValue): boolean {
  return isObject(schema) && schema.type === 'null';
}

function hasSoundReferences(root: JsonObject): boolean {
  const finished = new Set<JsonObject>();
  const visit = (schema: JsonObject, trail: ReadonlySet<JsonObject>): boolean => {
    if (finished.has(schema)) return true;
    if (trail.has(schema)) return false;
    const longer = new Set(trail).add(schema);
    const { $ref } = schema;
    if (typeof $ref === 'string') {
      const target = resolvePointer(root, $ref);
      if (target === undefined || !visit(target, longer)) return false;
    }
    const isFine = listSubschemas(schema).every((inner) => visit(inner, longer));
    if (isFine) finished.add(schema);
    return isFine;
  };
  return visit(root, new Set());
}

/** Values of `default`, `enum` or `example` are not schemas, whatever they look like. */
function listSubschemas(schema: JsonObject): readonly JsonObject[] {
  return Object.entries(schema).flatMap(([key, value]) => {
    if (SINGLE_SCHEMA.has(key) || SCHEMA_LIST.has(key))
      return (Array.isArray(value) ? value : [value]).filter(isSchema);
    return SCHEMA_MAP.has(key) && isObject(value) ? Object.values(value).filter(isSchema) : [];
  });
}

function isSchema(value: JsonValue | undefined): value is JsonObject {
  return isObject(value);
}
