import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts';

/** The largest schema of one tool, as JSON text. */
const MAX_CHARS = 100_000;
const MAX_DEPTH = 48;

/** Keywords under which one schema stands, a list of them, or one for each name. */
const ONE = new Set(['items', 'not', 'if', 'then', 'else', 'contains', 'propertyNames']);
const SEVERAL = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
const DROPPED = new Set(['$schema', 'additionalProperties']);

/**
 * A tool's schema as the model's API takes it: `$schema` and `additionalProperties` dropped, `default` too inside `anyOf`,
 * and what may also be null folded to `nullable`. Undefined if it cannot be used: it is no object, too large or deep, or
 * refers to itself or to what is not there. No pattern in it is compiled. Never throws.
 */
export function usableSchema(schema: JsonObject): JsonObject | undefined {
  if (JSON.stringify(schema).length > MAX_CHARS) return undefined;
  const { type = 'object', ...rest } = schema;
  if (type !== 'object') return undefined;
  const cleaned = clean({ type, ...rest }, { depth: 0, isAlternative: false });
  if (cleaned === undefined || !areSound(cleaned)) return undefined;
  return cleaned.properties === undefined ? { ...cleaned, properties: {} } : cleaned;
}

interface Place {
  readonly depth: number;
  /** Somewhere below `anyOf`. */
  readonly isAlternative: boolean;
}

function clean(schema: JsonValue, place: Place): JsonObject | undefined {
  // `true` lets everything through, as a schema without words does; `false` nothing, which no argument can be.
  if (schema === true) return {};
  if (!isObject(schema) || place.depth > MAX_DEPTH) return undefined;
  const inner = { depth: place.depth + 1, isAlternative: place.isAlternative };
  const entries: [string, JsonValue][] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined || DROPPED.has(key) || (key === 'default' && place.isAlternative)) continue;
    const cleaned = cleanKeyword(key, value, key === 'anyOf' ? { ...inner, isAlternative: true } : inner);
    if (cleaned === undefined) return undefined;
    entries.push([key, cleaned]);
  }
  return foldNull(Object.fromEntries(entries));
}

function cleanKeyword(key: string, value: JsonValue, place: Place): JsonValue | undefined {
  if (ONE.has(key) && !Array.isArray(value)) return clean(value, place);
  if ((SEVERAL.has(key) || ONE.has(key)) && Array.isArray(value)) {
    return whole(value.map((item) => clean(item, place)));
  }
  if (NAMED.has(key)) {
    if (!isObject(value)) return undefined;
    const names = Object.keys(value);
    const schemas = whole(Object.values(value).map((item) => clean(item ?? null, place)));
    return schemas && Object.fromEntries(names.map((name, index) => [name, schemas[index] ?? {}]));
  }
  return SEVERAL.has(key) ? undefined : value;
}

function whole<Item>(items: readonly (Item | undefined)[]): readonly Item[] | undefined {
  const there = items.filter((item) => item !== undefined);
  return there.length === items.length ? there : undefined;
}

/** `[X, null]`, as a pair of types or of alternatives, is X that is nullable. */
function foldNull(schema: JsonObject): JsonObject {
  const { type } = schema;
  if (Array.isArray(type) && type.length === 2 && type.includes('null')) {
    const [kind] = type.filter((item) => item !== 'null');
    if (kind !== undefined) return { ...schema, type: kind, nullable: true };
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

/** Whether every reference leads somewhere in the schema, and none to where it comes from. */
function areSound(root: JsonObject): boolean {
  const finished = new Set<JsonObject>();
  const visit = (schema: JsonObject, trail: ReadonlySet<JsonObject>): boolean => {
    if (finished.has(schema)) return true;
    if (trail.has(schema)) return false;
    const longer = new Set(trail).add(schema);
    const { $ref } = schema;
    if (typeof $ref === 'string') {
      const target = lookUp(root, $ref);
      if (target === undefined || !visit(target, longer)) return false;
    }
    const isFine = innerSchemas(schema).every((inner) => visit(inner, longer));
    if (isFine) finished.add(schema);
    return isFine;
  };
  return visit(root, new Set());
}

/** The schemas that stand in a schema. What a `default`, an `enum` or an `example` holds is none, whatever it looks like. */
function innerSchemas(schema: JsonObject): readonly JsonObject[] {
  return Object.entries(schema).flatMap(([key, value]) => {
    if (ONE.has(key) || SEVERAL.has(key)) return (Array.isArray(value) ? value : [value]).filter(isSchema);
    return NAMED.has(key) && isObject(value) ? Object.values(value).filter(isSchema) : [];
  });
}

function isSchema(value: JsonValue | undefined): value is JsonObject {
  return isObject(value);
}

function lookUp(root: JsonObject, pointer: string): JsonObject | undefined {
  if (!pointer.startsWith('#')) return undefined;
  let at: JsonValue | undefined = root;
  for (const step of pointer.slice(1).split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (isObject(at)) at = Object.hasOwn(at, key) ? at[key] : undefined;
    else at = Array.isArray(at) ? at[Number(key)] : undefined;
  }
  return isObject(at) ? at : undefined;
}
