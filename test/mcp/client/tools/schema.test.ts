import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../src/core/json.ts';
import { toUsableSchema } from '../../../../src/mcp/client/tools/schema.ts';
import { corpus, FUZZ_TIMEOUT, fuzz } from '../../../support/fuzz.ts';
import { schemaObjection } from '../../../support/gemini-schemas.ts';

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
  expect(toUsableSchema(schema)).toEqual(
    of({ a: of({}), additionalProperties: { type: 'string' }, $schema: { type: 'string' } }),
  );
});

test('default is dropped beside anyOf and kept elsewhere, inside the branches too', () => {
  const schema = of({
    a: { type: 'string', default: 'x' },
    b: { anyOf: [{ type: 'string', default: 'x' }, of({ c: { type: 'number', default: 1 } })], default: 'y' },
    c: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null },
    d: { oneOf: [{ type: 'string' }, { type: 'number' }], default: 'x' },
    default: { type: 'string' },
  });
  expect(toUsableSchema(schema)).toEqual(
    of({
      a: { type: 'string', default: 'x' },
      b: { anyOf: [{ type: 'string', default: 'x' }, of({ c: { type: 'number', default: 1 } })] },
      c: { type: 'string', nullable: true, default: null },
      d: { oneOf: [{ type: 'string' }, { type: 'number' }], default: 'x' },
      default: { type: 'string' },
    }),
  );
});

test.for<readonly [string, JsonObject, JsonObject]>([
  ['a type that is a number', of({ q: { type: 5, title: 'Q' } }), of({ q: { title: 'Q' } })],
  ['a type nobody knows', of({ q: { type: 'nonsense' } }), of({ q: {} })],
  ['a type in capitals', of({ q: { type: 'STRING' } }), of({ q: { type: 'string' } })],
  ['types some of which are none', of({ q: { type: ['string', 'str', 7] } }), of({ q: { type: 'string' } })],
  ['required as a word', of({ q: {} }, { required: 'q' }), of({ q: {} })],
  ['required on a property', of({ q: { type: 'string', required: true } }), of({ q: { type: 'string' } })],
  ['required of what is not there', of({ q: {} }, { required: ['q', 'r', 3] }), of({ q: {} }, { required: ['q'] })],
  ['required without properties', { type: 'object', required: ['q'] }, of({})],
  ['a list without items', of({ q: { type: 'array' } }), of({ q: { type: 'array', items: {} } })],
  [
    'a list or null without items',
    of({ q: { type: ['array', 'null'] } }),
    of({ q: { type: 'array', nullable: true, items: {} } }),
  ],
  [
    'a tuple of an older draft',
    of({ q: { type: 'array', items: [{ type: 'string' }, { type: 'number' }] } }),
    of({ q: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: {} } }),
  ],
  ['no choice at all', of({ q: { type: 'string', enum: [] } }), of({ q: { type: 'string' } })],
  ['no alternatives at all', of({ q: { anyOf: [], default: 1 } }), of({ q: { default: 1 } })],
  [
    'keywords with wrong values',
    of({ q: { description: 5, minimum: '1', exclusiveMinimum: true, maxLength: -1, pattern: [], uniqueItems: 'yes' } }),
    of({ q: {} }),
  ],
])('a schema with %s is repaired, and that is reported', ([, schema, fit]) => {
  let mended = 0;
  expect(toUsableSchema(schema, () => (mended += 1))).toEqual(fit);
  expect(mended).toBeGreaterThan(0);
  expect(schemaObjection(fit, 'fit')).toBeUndefined();
});

test('a schema that is merely simplified is not reported', () => {
  const schema = of(
    {
      a: { type: ['string'] },
      b: { type: ['string', 'null'] },
      c: { type: 'array', prefixItems: [{}], items: false },
      d: { anyOf: [{ type: 'string' }, { type: 'number' }], default: 1 },
    },
    { $schema: 'x', required: [], additionalProperties: false },
  );
  expect(toUsableSchema(schema, () => expect.unreachable())).toBeDefined();
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
  expect(toUsableSchema(schema)).toEqual(
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
  expect(toUsableSchema({})).toEqual(of({}));
  expect(toUsableSchema({ type: 'object' })).toEqual(of({}));
  expect(toUsableSchema(of({ a: true }))).toEqual(of({ a: {} }));
});

test('local references stay, and so do the same ones used twice', () => {
  const schema = of(
    { a: { $ref: '#/$defs/x~1y' }, b: { $ref: '#/$defs/x~1y' }, list: { type: 'array', items: { $ref: '#/$defs/z' } } },
    { $defs: { 'x/y': { type: 'string' }, z: { $ref: '#/$defs/x~1y' } } },
  );
  expect(toUsableSchema(schema)).toEqual(schema);
});

test('what a default, a choice or an example holds is no schema, and a property may be called $ref', () => {
  const ref = { $ref: '#/nowhere', properties: 'none' };
  const schema = of({
    a: { type: 'object', default: ref, enum: [ref], const: ref, examples: [ref] },
    $ref: { type: 'string' },
  });
  expect(toUsableSchema(schema)).toEqual(schema);
  expect(toUsableSchema(of({ $ref: { $ref: '#/nowhere' } }))).toBeUndefined();
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
  expect(toUsableSchema(schema)).toBeUndefined();
});

const json = fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<JsonValue>;
const PLAIN = [
  ...['title', 'description', 'format', 'pattern', '$id', '$comment', 'minimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxItems', 'minProperties', 'nullable', 'uniqueItems', 'readOnly', 'enum', 'examples', 'const'],
  ...['unevaluatedItems', 'additionalItems', 'x-odd', 'required', 'type', 'default', '$schema', 'additionalProperties'],
];

/**
 * Mostly schemas, often with a wrong value under a keyword, and rarely with something else where a schema should be.
 */
function schemas(depth: number): fc.Arbitrary<JsonValue> {
  const plain = fc.dictionary(fc.constantFrom(...PLAIN), json, { maxKeys: 3 });
  const types = fc.constantFrom<JsonValue>('object', 'array', 'string', 'null', 'STRING', 'nonsense', 5);
  const type = fc.oneof(types, fc.array(types, { maxLength: 3 }));
  if (depth === 0) return fc.record({ type, title: fc.string() }, { requiredKeys: [] });
  const refs = fc.constantFrom<JsonValue>({ $ref: '#' }, { $ref: '#/properties/a' }, { $ref: '#/nowhere' });
  const inner = fc.oneof(
    { weight: 40, arbitrary: schemas(depth - 1) },
    { weight: 1, arbitrary: fc.oneof(refs, json, fc.boolean()) },
  );
  const several = fc.array(inner, { maxLength: 3 });
  const keywords: Readonly<Record<string, fc.Arbitrary<JsonValue>>> = {
    type,
    properties: fc.dictionary(fc.constantFrom('a', 'default', '$schema', 'anyOf', '__proto__'), inner, { maxKeys: 3 }),
    required: fc.array(fc.constantFrom<JsonValue>('a', 'default', 'gone', 7), { maxLength: 3 }),
    anyOf: several,
    oneOf: several,
    items: fc.oneof(inner, several),
    prefixItems: several,
    not: inner,
    $defs: fc.dictionary(fc.constantFrom('a', 'b'), inner, { maxKeys: 2 }),
    default: json,
  };
  const entry = fc.oneof(...Object.entries(keywords).map(([key, value]) => fc.tuple(fc.constant(key), value)));
  const known = fc.uniqueArray(entry, { maxLength: 4, selector: ([key]) => key });
  return fc.tuple(known, plain).map(([entries, more]) => ({ ...Object.fromEntries(entries), ...more }));
}

test(
  'whatever a server writes: no exception, a strict service takes it, and a second time changes nothing',
  () => {
    let usable = 0;
    fc.assert(
      fc.property(
        schemas(2),
        fc.constantFrom<JsonValue>('object', 'OBJECT', ['object'], 'string', 5),
        (schema, type) => {
          const once = toUsableSchema({ ...(schema as JsonObject), type });
          if (once === undefined) return;
          usable += 1;
          expect(schemaObjection(once, 'parameters')).toBeUndefined();
          expect(toUsableSchema(once, () => expect.unreachable())).toEqual(once);
          expect([once.type, typeof once.properties]).toEqual(['object', 'object']);
        },
      ),
      fuzz(500),
    );
    // Otherwise this test would show little.
    expect(usable).toBeGreaterThan(100);
    for (const schema of corpus<JsonObject>('tool-schema')) {
      const once = toUsableSchema(schema);
      if (once !== undefined) expect(schemaObjection(once, 'parameters')).toBeUndefined();
    }
  },
  FUZZ_TIMEOUT,
);
