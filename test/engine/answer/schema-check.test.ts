import { Validator } from '@cfworker/json-schema';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/core/json.ts';
import { StepLimitError } from '../../../src/core/text/pattern.ts';
import { compileSchemaCheck } from '../../../src/engine/answer/schema-check.ts';
import { FUZZ_TIMEOUT, fuzz } from '../../support/fuzz.ts';

const NAMES = ['a', 'b', 'ab', 'c/d', '~'];

const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<JsonValue>(
      null,
      true,
      false,
      0,
      1,
      2,
      1.5,
      -1,
      10,
      '',
      'a',
      'ab',
      'abc',
      '😀',
      '2024-02-29',
      'x@y.org',
    ),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}));

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];
const small = fc.nat(3);
const names = fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 2 });

const { schema } = fc.letrec<{ schema: JsonValue }>((tie) => {
  const map = fc.dictionary(fc.constantFrom(...NAMES), tie('schema'), { maxKeys: 2, noNullPrototype: true });
  const list = fc.array(tie('schema'), { minLength: 1, maxLength: 3 });
  const keywords: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    type: fc.oneof(
      fc.constantFrom(...TYPES),
      fc.uniqueArray(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 3 }),
    ),
    enum: fc.array(value, { minLength: 1, maxLength: 3 }),
    const: value,
    ...{ minimum: small, maximum: small, exclusiveMinimum: small, exclusiveMaximum: small },
    multipleOf: fc.constantFrom(1, 2, 0.5),
    ...{ minLength: small, maxLength: small, minItems: small, maxItems: small },
    ...{ minProperties: small, maxProperties: small },
    pattern: fc.constantFrom('^a', 'b$', '^[a-z]*$', '😀'),
    format: fc.constantFrom('date', 'email', 'uri', 'unknown'),
    ...{ allOf: list, anyOf: list, oneOf: list, not: tie('schema') },
    ...Object.fromEntries(['if', 'then', 'else'].map((key) => [key, tie('schema')])),
    ...{ properties: map, additionalProperties: tie('schema'), propertyNames: tie('schema') },
    patternProperties: fc.dictionary(fc.constantFrom('^a', 'b', '.'), tie('schema'), {
      maxKeys: 2,
      noNullPrototype: true,
    }),
    ...{ required: names, dependentSchemas: map, dependentRequired: fc.dictionary(fc.constantFrom(...NAMES), names) },
    ...{ prefixItems: list, items: tie('schema'), contains: tie('schema'), uniqueItems: fc.boolean() },
    ...{ unevaluatedProperties: tie('schema'), unevaluatedItems: tie('schema') },
    $ref: fc.constantFrom('#/$defs/x', '#y', 'other', 'other#/$defs/z'),
  };
  return {
    schema: fc.oneof(
      { depthSize: 'small', maxDepth: 4 },
      fc.constantFrom<JsonValue>(true, true, false, {}),
      fc
        .subarray(Object.keys(keywords), { minLength: 1, maxLength: 3 })
        .chain((keys) => fc.record(Object.fromEntries(keys.map((key) => [key, keywords[key] ?? fc.constant(true)])))),
    ) as fc.Arbitrary<JsonValue>,
  };
});

const document = fc.tuple(schema, schema, schema, schema, schema).map(([root, x, y, other, z]): JsonObject => {
  const around = (inner: JsonValue): JsonObject =>
    typeof inner === 'object' ? (inner as JsonObject) : { allOf: [inner] };
  // References only lead down, so that none goes round in circles.
  const plain = (inner: JsonValue): JsonValue => JSON.parse(JSON.stringify(inner).replaceAll('"$ref"', '"$comment"'));
  return {
    ...around(root),
    $defs: {
      x: plain(x),
      y: { ...around(plain(y)), $anchor: 'y' },
      other: { ...around(plain(other)), $id: 'other', $defs: { z: plain(z) } },
    },
  };
});

test('a value matches a schema if another implementation says so', { timeout: FUZZ_TIMEOUT }, () => {
  fc.assert(
    fc.property(document, value, (wanted, given) => {
      const { valid, errors } = new Validator(structuredClone(wanted) as object, '2020-12', false).validate(given);
      const mismatch = compileSchemaCheck(wanted)(given, { left: 10_000_000 });
      expect({ valid: mismatch === undefined, mismatch, errors }).toEqual({ valid, mismatch, errors });
    }),
    fuzz(1500, 100_000),
  );
});

/** Takes the steps of the check; the value must match. */
function countSteps(wanted: JsonObject, given: JsonValue): number {
  const limit = { left: 1e9 };
  expect(compileSchemaCheck(wanted)(given, limit)).toBeUndefined();
  return 1e9 - limit.left;
}

test.for<[name: string, schema: JsonObject, value: (size: number) => JsonValue]>([
  ['items that must differ', { uniqueItems: true }, (size) => Array.from({ length: size }, (_, a) => ({ a, b: [{}] }))],
  ['a pattern that backtracks', { pattern: '^(a+)+$' }, (size) => 'a'.repeat(size)],
  ['names that match patterns', { patternProperties: { '(x+)+y': false } }, (size) => ({ ['x'.repeat(size)]: 1 })],
  ['a long list', { items: { anyOf: [{ type: 'null' }, { enum: [1, 2] }] } }, (size) => Array(size).fill(2)],
])('%s take steps in proportion to the value', ([, wanted, make]) => {
  const [some, twice] = [1000, 2000].map((size) => countSteps(wanted, make(size))) as [number, number];
  expect(twice).toBeLessThan(2.2 * some);
});

test('a schema that applies itself again and again ends at the limit', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => {
      const next = { $ref: `#/$defs/${index + 1}` };
      return [String(index), { allOf: [next, next] }];
    }),
  );
  const check = compileSchemaCheck({ $ref: '#/$defs/0', $defs: { ...$defs, 30: {} } });
  expect(() => check(1, { left: 1_000_000 })).toThrow(StepLimitError);
});
