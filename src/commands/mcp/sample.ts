import { isList, isObject, type JsonObject, type JsonValue } from '../../core/json.ts';

/** Deeper samples than this are left empty: a schema may go on for ever. */
const MAX_DEPTH = 5;

/** Arguments a tool should take: what its schema gives as default, example or first choice, else something of the type. */
export function sampleArguments(schema: JsonObject): JsonObject {
  const sample = sampleOf({ ...schema, type: 'object' }, 0);
  return isObject(sample) ? sample : {};
}

function sampleOf(schema: JsonObject, depth: number): JsonValue {
  const { default: fallback, const: only, enum: choices, examples, type, properties, items } = schema;
  const given = [fallback, only, isList(examples) ? examples[0] : undefined, isList(choices) ? choices[0] : undefined];
  const first = given.find((value) => value !== undefined);
  if (first !== undefined) return first;
  switch (isList(type) ? type[0] : type) {
    case 'object':
      return depth >= MAX_DEPTH || !isObject(properties) ? {} : sampleObject(schema, properties, depth);
    case 'array':
      return isObject(items) && depth < MAX_DEPTH ? [sampleOf(items, depth + 1)] : [];
    case 'number':
    case 'integer':
      return typeof schema.minimum === 'number' ? Math.ceil(schema.minimum) : 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return 'test';
  }
}

function sampleObject({ required }: JsonObject, properties: JsonObject, depth: number): JsonObject {
  const needed = isList(required) ? required : [];
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => needed.includes(name) || depth === 0)
      .map(([name, value]) => [name, sampleOf(isObject(value) ? value : {}, depth + 1)]),
  );
}
