import { filterStrings, type JsonObject, type JsonValue, toJsonObject } from '../core/json.ts';
import { resolvePointer } from '../core/schema.ts';

const MAX_DEPTH = 24;

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-02',
  'date-time': '2026-01-02T03:04:05Z',
  time: '03:04:05Z',
  duration: 'P1D',
  email: 'demo@example.com',
  hostname: 'example.com',
  ipv4: '127.0.0.1',
  ipv6: '::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

/**
 * Has only required properties, each as short as allowed. An array without `minItems` gets one element: some SDKs lose
 * `minItems` on the way, and then reject an empty list. Understands JSON Schema and Google's upper-case dialect, but
 * not `pattern` and `not`.
 */
export function createMinimalInstance(schema: JsonValue | undefined): JsonValue {
  const root = toJsonObject(schema);
  return makeValue({ root, schema: root, depth: 0, salt: 0, refs: ['#'] });
}

interface Work {
  readonly root: JsonObject;
  readonly schema: JsonObject;
  readonly depth: number;
  /** Makes neighbours in an array differ. */
  readonly salt: number;
  readonly refs: readonly string[];
}

function makeValue(work: Work): JsonValue {
  if (work.depth > MAX_DEPTH) return null;
  const schema = resolveRefs(work);
  const refs = [...work.refs, ...collectRefs(work.schema)];
  const inner = { ...work, schema, refs, depth: work.depth + 1 };
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[work.salt % schema.enum.length] ?? null;
  const branches = Array.isArray(schema.anyOf) ? schema.anyOf : schema.oneOf;
  if (Array.isArray(branches) && branches.length > 0) {
    const { anyOf: _anyOf, oneOf: _oneOf, ...rest } = schema;
    return makeValue({ ...inner, schema: { ...rest, ...toJsonObject(branches[0]) } });
  }
  switch (findType(schema)) {
    case 'object':
      return makeObject(inner);
    case 'array':
      return makeArray(inner);
    case 'integer':
    case 'number':
      return makeNumber(schema, work.salt);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return makeString(schema, work.salt);
  }
}

function findType(schema: JsonObject): string {
  const named = Array.isArray(schema.type) ? schema.type.find((type) => type !== 'null') : schema.type;
  if (typeof named === 'string') return named.toLowerCase();
  if (schema.properties !== undefined || schema.required !== undefined) return 'object';
  return schema.items === undefined ? 'string' : 'array';
}

function resolveRefs({ root, schema, depth }: Pick<Work, 'root' | 'schema' | 'depth'>): JsonObject {
  let current = schema;
  for (let hops = 0; typeof current.$ref === 'string' && hops + depth < MAX_DEPTH; hops += 1) {
    const { $ref, ...rest } = current;
    current = { ...resolvePointer(root, $ref), ...rest };
  }
  if (!Array.isArray(current.allOf)) return current;
  const { allOf, ...own } = current;
  const all = [own, ...allOf.map((item) => resolveRefs({ root, schema: toJsonObject(item), depth: depth + 1 }))];
  return {
    ...Object.assign({}, ...all),
    properties: Object.assign({}, ...all.map(({ properties }) => properties)),
    required: all.flatMap(({ required }) => filterStrings(required)),
  };
}

function collectRefs({ $ref, allOf }: JsonObject): readonly string[] {
  const own = typeof $ref === 'string' ? [$ref] : [];
  return Array.isArray(allOf) ? [...own, ...allOf.flatMap((item) => collectRefs(toJsonObject(item)))] : own;
}

function makeObject(work: Work): JsonObject {
  const properties = toJsonObject(work.schema.properties);
  const entries = filterStrings(work.schema.required).map((name) => [
    name,
    makeValue({ ...work, schema: toJsonObject(properties[name]) }),
  ]);
  return Object.fromEntries(entries);
}

function makeArray(work: Work): JsonValue {
  const prefix = Array.isArray(work.schema.prefixItems) ? work.schema.prefixItems : [];
  const least =
    toFiniteNumber(work.schema.minItems) ?? Math.min(chooseLength(work), toFiniteNumber(work.schema.maxItems) ?? 1);
  const length = Math.max(least, prefix.length);
  return Array.from({ length }, (_item, index) =>
    makeValue({ ...work, salt: index, schema: toJsonObject(prefix[index] ?? work.schema.items) }),
  );
}

/** Zero if the elements refer back to a schema that contains them: a tree of trees would never end. */
function chooseLength({ schema, refs }: Work): number {
  const items = toJsonObject(schema.items);
  const branches = Array.isArray(items.anyOf) ? items.anyOf : items.oneOf;
  const first = Array.isArray(branches) ? toJsonObject(branches[0]) : {};
  return [...collectRefs(items), ...collectRefs(first)].some((ref) => refs.includes(ref)) ? 0 : 1;
}

function makeNumber(schema: JsonObject, salt: number): number {
  const step = toFiniteNumber(schema.multipleOf) ?? 1;
  const low = toFiniteNumber(schema.minimum) ?? Number.NEGATIVE_INFINITY;
  const high = toFiniteNumber(schema.maximum) ?? Number.POSITIVE_INFINITY;
  const above = toFiniteNumber(schema.exclusiveMinimum) ?? Number.NEGATIVE_INFINITY;
  const below = toFiniteNumber(schema.exclusiveMaximum) ?? Number.POSITIVE_INFINITY;
  const fits = (value: number): boolean => value >= low && value <= high && value > above && value < below;
  const bottom = Math.max(low, above);
  const top = Math.min(high, below);
  const first = Math.ceil(bottom / step) * step;
  const last = Math.floor(top / step) * step;
  // Multiples of the step may not fit a narrow range of fractions; then the middle does.
  const found = [0, first, first + step, last, last - step, (bottom + top) / 2].find(fits) ?? 0;
  const salted = found + salt * step;
  return fits(salted) ? salted : found;
}

function makeString(schema: JsonObject, salt: number): string {
  const format = typeof schema.format === 'string' ? FORMATS[schema.format.toLowerCase()] : undefined;
  if (format !== undefined) return format;
  const word = salt === 0 ? 'demo' : `${salt + 1} demo`;
  const padded = word.padEnd(toFiniteNumber(schema.minLength) ?? 0, '.');
  return padded.slice(0, toFiniteNumber(schema.maxLength) ?? padded.length);
}

/** Google's int64 fields are strings. */
function toFiniteNumber(value: JsonValue | undefined): number | undefined {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}
