import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  canonicalJson,
  filterObjects,
  isList,
  type JsonValue,
  toNonEmptyString,
  tryParseJson,
} from '../../src/core/json.ts';

const json = fc.jsonValue().map((value): JsonValue => JSON.parse(JSON.stringify(value)));

test('canonical JSON reads back as the same value', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(value);
    }),
  );
});

test('the order of keys makes no difference, that of a list does', () => {
  expect(canonicalJson({ b: [2, 1], a: { d: null, c: 'x' } })).toBe('{"a":{"c":"x","d":null},"b":[2,1]}');
  expect(canonicalJson({ 10: 1, 9: 2, a: 3 })).toBe('{"10":1,"9":2,"a":3}');
  expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]));
});

test('invalid JSON gives undefined, and a byte order mark is accepted', () => {
  expect(['{', '', 'x'].map(tryParseJson)).toEqual([undefined, undefined, undefined]);
  expect(tryParseJson('\uFEFF{"a":1}')).toEqual({ a: 1 });
});

test('objects, lists and strings are told apart', () => {
  expect([[], {}, null, 'x'].map(isList)).toEqual([true, false, false, false]);
  expect(filterObjects([{ a: 1 }, [], null, 'x'])).toEqual([{ a: 1 }]);
  expect(filterObjects({ 0: {} })).toEqual([]);
  expect(['x', '', 1, null].map(toNonEmptyString)).toEqual(['x', undefined, undefined, undefined]);
});
