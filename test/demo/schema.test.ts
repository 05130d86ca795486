import { type Schema, Validator } from '@cfworker/json-schema';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { createMinimalInstance } from '../../src/demo/schema.ts';

const bounds = (low: string, high: string, from: number): fc.Arbitrary<JsonObject> =>
  fc
    .tuple(fc.integer({ min: from, max: 6 }), fc.nat({ max: 6 }), fc.boolean())
    .map(([start, width, both]) => ({ [low]: start, ...(both ? { [high]: start + width } : {}) }));

const { schema } = fc.letrec<{ schema: JsonObject; object: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<JsonObject>({ type: 'boolean' }, { type: 'null' }, { const: { a: [1] } }, { enum: [3, 'x'] }, {}),
    bounds('minLength', 'maxLength', 0).map((limits) => ({ type: 'string', ...limits })),
    bounds('minimum', 'maximum', -6).map((limits) => ({ type: 'integer', ...limits })),
    fc
      .integer({ min: -5, max: 5 })
      .map((low) => ({ type: 'number', exclusiveMinimum: low, exclusiveMaximum: low + 1 })),
    fc.integer({ min: -9, max: 9 }).map((low) => ({ type: 'integer', minimum: low, multipleOf: 3 })),
    fc.constantFrom('date', 'date-time', 'email', 'uri', 'uuid', 'ipv4').map((format) => ({ type: 'string', format })),
    fc.tuple(tie('schema'), bounds('minItems', 'maxItems', 0)).map(([items, limits]) => ({
      type: 'array',
      items,
      ...limits,
    })),
    tie('object'),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    fc.tuple(tie('object'), tie('object')).map(([left, right]) => ({
      allOf: [left, { ...right, properties: {}, required: [] }],
    })),
  ),
  object: fc
    .dictionary(fc.constantFrom('a', 'b', 'c', '~d/'), tie('schema'))
    .chain((properties) =>
      fc.subarray(Object.keys(properties)).map((required) => ({ type: 'object', properties, required })),
    ),
}));

test('the instance of a schema is valid', () => {
  fc.assert(
    fc.property(schema, (given) => {
      const result = new Validator(given as Schema, '2020-12').validate(createMinimalInstance(given));
      expect(result.errors).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test.each<[JsonObject, unknown]>([
  [{ type: 'array', items: { type: 'string' } }, ['demo']],
  [{ type: 'array', items: { type: 'string' }, minItems: 0 }, []],
  [{ type: 'array', items: { type: 'string' }, maxItems: 0 }, []],
  [
    {
      $ref: '#/$defs/tree',
      $defs: {
        tree: {
          type: 'object',
          required: ['branches'],
          properties: { branches: { type: 'array', items: { $ref: '#/$defs/tree' } } },
        },
      },
    },
    { branches: [] },
  ],
  [
    {
      type: 'object',
      required: ['rows'],
      properties: { rows: { type: 'array', items: { anyOf: [{ $ref: '#' }, { type: 'null' }] } } },
    },
    { rows: [] },
  ],
  [{ type: 'ARRAY', minItems: '2', items: { type: 'STRING' } }, ['demo', '2 demo']],
  [{ type: ['null', 'integer'] }, 0],
  [{ $ref: '#/$defs/p~1q', $defs: { 'p/q': { const: 5 } } }, 5],
  [
    { type: 'object', required: ['next'], properties: { next: { anyOf: [{ type: 'null' }, { $ref: '#' }] } } },
    { next: null },
  ],
  [{ type: 'array', uniqueItems: true, minItems: 3, items: { type: 'integer', maximum: 9 } }, [0, 1, 2]],
])('%j gives %j', (given, expected) => {
  expect(createMinimalInstance(given)).toEqual(expected);
});

test('a schema without an end still comes to one', () => {
  const endless = { type: 'object', required: ['next'], properties: { next: { $ref: '#' } } };
  expect(JSON.stringify(createMinimalInstance(endless)).length).toBeLessThan(1000);
});
