import { isObject } from '../../src/core/json.ts';

const TYPES: readonly unknown[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];
const STRINGS = ['$ref', '$id', '$anchor', '$comment', 'title', 'description', 'format', 'pattern'];
const NUMBERS = ['multipleOf', 'maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum'];
const COUNTS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'minContains'];
const BOOLEANS = ['nullable', 'uniqueItems', 'deprecated', 'readOnly', 'writeOnly'];
const INNER = ['items', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'];
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const UNKNOWN = ['$schema', 'additionalProperties', 'additionalItems', 'unevaluatedProperties', 'unevaluatedItems'];

export function declarationObjection(declaration: unknown): string | undefined {
  if (!isObject(declaration) || !/^[A-Za-z_][\w.-]{0,63}$/.test(String(declaration.name))) return 'name is none';
  const { parametersJsonSchema: schema } = declaration;
  if (!isObject(schema) || schema.type !== 'object') return `${declaration.name}: the parameters are no object`;
  const why = schemaObjection(schema, 'parameters');
  return why === undefined ? undefined : `${declaration.name}: ${why}`;
}

/** The first thing in a schema that is not JSON Schema, or that Vertex rejects, with its place. */
export function schemaObjection(schema: unknown, at: string): string | undefined {
  if (!isObject(schema)) return `${at}: is no schema`;
  const { type, properties, required, items, anyOf, enum: choices } = schema;
  const has = (key: string): boolean => schema[key] !== undefined;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  const isArray = types.includes('array');
  const faults: readonly (string | false)[] = [
    ...UNKNOWN.map((key) => has(key) && `${key}: unknown field`),
    has('type') && (types.length === 0 || types.some((name) => !TYPES.includes(name))) && 'type: is none',
    new Set(types).size < types.length && 'type: named twice',
    isArray && items === undefined && 'items: missing field',
    has('default') && anyOf !== undefined && 'default: stands beside anyOf',
    has('enum') && !(Array.isArray(choices) && choices.length > 0) && 'enum: is no list of choices',
    has('required') && !Array.isArray(required) && 'required: is no list',
    ...(Array.isArray(required) ? required : []).map(
      (name) => !(isObject(properties) && Object.hasOwn(properties, String(name))) && `required: no property ${name}`,
    ),
    ...STRINGS.map((key) => has(key) && typeof schema[key] !== 'string' && `${key}: is no string`),
    ...NUMBERS.map((key) => has(key) && typeof schema[key] !== 'number' && `${key}: is no number`),
    ...COUNTS.map(
      (key) => has(key) && !(Number.isInteger(schema[key]) && Number(schema[key]) >= 0) && `${key}: is no count`,
    ),
    ...BOOLEANS.map((key) => has(key) && typeof schema[key] !== 'boolean' && `${key}: is neither true nor false`),
    ...LISTS.map(
      (key) => has(key) && !(Array.isArray(schema[key]) && schema[key].length > 0) && `${key}: is no list of schemas`,
    ),
    ...MAPS.map((key) => has(key) && !isObject(schema[key]) && `${key}: is no object`),
  ];
  const fault = faults.find((each) => each !== false);
  if (fault !== undefined) return `${at}.${fault}`;
  for (const [place, inner] of innerSchemas(schema, at)) {
    const why = schemaObjection(inner, place);
    if (why !== undefined) return why;
  }
  return undefined;
}

function innerSchemas(schema: Readonly<Record<string, unknown>>, at: string): readonly (readonly [string, unknown])[] {
  return [
    ...INNER.flatMap((key) => (schema[key] === undefined ? [] : [[`${at}.${key}`, schema[key]] as const])),
    ...LISTS.flatMap((key) =>
      (Array.isArray(schema[key]) ? schema[key] : []).map((item, index) => [`${at}.${key}[${index}]`, item] as const),
    ),
    ...MAPS.flatMap((key) =>
      Object.entries(isObject(schema[key]) ? schema[key] : {}).map(([name, item]) => [`${at}.${name}`, item] as const),
    ),
  ];
}
