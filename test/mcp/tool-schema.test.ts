import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/core/json.ts';
import { usableSchema } from '../../src/mcp/client/tool-schema.ts';
import { corpus, fuzz } from '../support/fuzz.ts';

const of = (properties: JsonObject, rest: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...rest });

test('$schema and additionalProperties are dropped at every depth, but not properties of that name', () => {
  const schema = of(
    {
      a: of({}, { additionalProperties: false }),
      additionalProperties: { type: 'string' },
      $schema: { type: 'string' },
    },
    { $schema: 'https://json-schema.org/draft/2020-12/schema', additionalProperties: false },
  );
  expect(usableSchema(schema)).toEqual(
    of({ a: of({}), additionalProperties: { type: 'string' }, $schema: { type: 'string' } }),
  );
});

test('default is dropped inside anyOf and kept elsewhere', () => {
  const schema = of({
    a: { type: 'string', default: 'x' },
    b: { anyOf: [{ type: 'string', default: 'x' }, of({ c: { type: 'number', default: 1 } })], default: 'y' },
    default: { type: 'string' },
  });
  expect(usableSchema(schema)).toEqual(
    of({
      a: { type: 'string', default: 'x' },
      b: { anyOf: [{ type: 'string' }, of({ c: { type: 'number' } })], default: 'y' },
      default: { type: 'string' },
    }),
  );
});

test('what may also be null is nullable', () => {
  const schema = of({
    a: { type: ['string', 'null'], description: 'A.' },
    b: { anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }], description: 'B.' },
    c: { type: ['string', 'number', 'null'] },
    d: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }] },
    e: { type: ['null', 'boolean'] },
    f: { oneOf: [{ type: 'null' }, { type: 'string', enum: ['x'] }], description: 'F.' },
    g: { oneOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }] },
  });
  expect(usableSchema(schema)).toEqual(
    of({
      a: { type: 'string', nullable: true, description: 'A.' },
      b: { type: 'integer', minimum: 1, description: 'B.', nullable: true },
      c: { type: ['string', 'number', 'null'] },
      d: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }] },
      e: { type: 'boolean', nullable: true },
      f: { type: 'string', enum: ['x'], description: 'F.', nullable: true },
      g: { oneOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }] },
    }),
  );
});

test('a schema that says nothing takes no arguments, and `true` is one that lets everything through', () => {
  expect(usableSchema({})).toEqual(of({}));
  expect(usableSchema({ type: 'object' })).toEqual(of({}));
  expect(usableSchema(of({ a: true }))).toEqual(of({ a: {} }));
});

test('local references stay, and so do the same ones used twice', () => {
  const schema = of(
    { a: { $ref: '#/$defs/x~1y' }, b: { $ref: '#/$defs/x~1y' }, list: { type: 'array', items: { $ref: '#/$defs/z' } } },
    { $defs: { 'x/y': { type: 'string' }, z: { $ref: '#/$defs/x~1y' } } },
  );
  expect(usableSchema(schema)).toEqual(schema);
});

test('what a default, a choice or an example holds is no schema, and a property may be called $ref', () => {
  const ref = { $ref: '#/nowhere', properties: 'none' };
  const schema = of({
    a: { type: 'object', default: ref, enum: [ref], const: ref, examples: [ref] },
    $ref: { type: 'string' },
  });
  expect(usableSchema(schema)).toEqual(schema);
  expect(usableSchema(of({ $ref: { $ref: '#/nowhere' } }))).toBeUndefined();
});

const deep = (depth: number): JsonObject => (depth === 0 ? { type: 'string' } : of({ a: deep(depth - 1) }));

test.for<readonly [string, JsonObject]>([
  ['is no object', { type: 'string' }],
  ['may be something else than an object', { type: ['object', 'null'] }],
  ['refers to itself', of({ a: { $ref: '#' } })],
  [
    'refers to itself in a circle',
    of(
      { a: { $ref: '#/$defs/x' } },
      { $defs: { x: of({ b: { $ref: '#/$defs/y' } }), y: { items: { $ref: '#/$defs/x' } } } },
    ),
  ],
  ['refers to what is not there', of({ a: { $ref: '#/$defs/x' } })],
  ['refers to another place', of({ a: { $ref: 'https://example.com/x.json' } })],
  ['is too deep', deep(60)],
  ['is too large', of({ a: { enum: Array.from({ length: 30_000 }, (_, index) => index) } })],
  ['has properties that are none', { type: 'object', properties: [] }],
  ['lets nothing through', of({ a: false })],
  ['has alternatives that are none', of({ a: { anyOf: 'x' } })],
])('a schema that %s cannot be used', ([, schema]) => {
  expect(usableSchema(schema)).toBeUndefined();
});

const json = fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<JsonValue>;

function schemas(depth: number): fc.Arbitrary<JsonValue> {
  if (depth === 0) return fc.constantFrom<JsonValue>({ type: 'string' }, { type: 'null' }, { $ref: '#' }, true, false);
  const inner = schemas(depth - 1);
  return fc.record(
    {
      type: fc.constantFrom<JsonValue>('object', 'string', 'null', ['string', 'null'], ['null', 'null']),
      properties: fc.dictionary(fc.constantFrom('a', 'default', '$schema', 'anyOf'), inner, { maxKeys: 3 }),
      anyOf: fc.array(inner, { maxLength: 3 }),
      oneOf: fc.array(inner, { maxLength: 3 }),
      items: fc.oneof(inner, json),
      default: json,
      $schema: fc.string(),
      additionalProperties: fc.oneof(inner, json),
      $ref: fc.constantFrom('#/properties/a', '#/nowhere'),
    },
    { requiredKeys: [] },
  );
}

/** The words of all the schemas in a schema, but not the names of properties. */
function keywordsOf(schema: JsonValue | undefined): readonly string[] {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return [];
  const { properties = {}, anyOf, items } = schema as JsonObject;
  const inner = [...Object.values(properties as JsonObject), ...(Array.isArray(anyOf) ? anyOf : [anyOf])];
  return [...Object.keys(schema), ...[...inner, ...(Array.isArray(items) ? items : [items])].flatMap(keywordsOf)];
}

test('whatever a server writes: no exception, and what was made usable is not changed a second time', () => {
  fc.assert(
    fc.property(schemas(3), (schema) => {
      const once = usableSchema(schema as JsonObject);
      if (once === undefined) return;
      expect(usableSchema(once)).toEqual(once);
      expect(keywordsOf(once)).not.toContain('$schema');
      expect(keywordsOf(once)).not.toContain('additionalProperties');
      expect([once.type, typeof once.properties]).toEqual(['object', 'object']);
    }),
    { ...fuzz(500), examples: corpus<JsonValue>('tool-schema').map((schema) => [schema]) },
  );
});
