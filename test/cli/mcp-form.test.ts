import fc from 'fast-check';
import { expect, test } from 'vitest';
import { collectDefaults, toFields } from '../../src/approval/elicitation.ts';
import { createSampleArguments } from '../../src/commands/mcp/trial.ts';
import type { JsonObject } from '../../src/core/json.ts';

const SCHEMA: JsonObject = {
  type: 'object',
  required: ['name', 'size'],
  properties: {
    name: { type: 'string', title: 'Your name', description: 'As on \u001b[31mpaper' },
    size: { type: 'string', enum: ['s', 'l'], enumNames: ['Small', 'Large'] },
    color: {
      type: 'string',
      oneOf: [
        { const: '#f00', title: 'Red' },
        { const: '#00f', title: 'Blue' },
      ],
      default: '#f00',
    },
    count: { type: 'integer' },
    share: { type: 'number' },
    sure: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string', enum: ['a', 'b', 'c'] }, default: ['a'] },
  },
};

const field = (name: string) => {
  const found = toFields(SCHEMA).find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(name);
  return found;
};

test('a label holds all a person must know, and nothing a terminal obeys', () => {
  expect(toFields(SCHEMA).map(({ label }) => label)).toEqual([
    'Your name (As on \\x1b[31mpaper)',
    'size (Small | Large)',
    'color (Red | Blue; Enter for #f00)',
    'count (a number; Enter to skip)',
    'share (a number; Enter to skip)',
    'sure (yes or no; Enter to skip)',
    'tags (a | b | c; Enter for a)',
  ]);
});

test.for([
  ['name', ' Ada ', 'Ada'],
  ['name', '', undefined],
  ['size', 'Small', 's'],
  ['size', 'l', 'l'],
  ['size', 'x', undefined],
  ['color', 'Blue', '#00f'],
  ['count', '12', 12],
  ['count', '1.5', undefined],
  ['count', 'many', undefined],
  ['share', '1.5', 1.5],
  ['share', '', undefined],
  ['sure', 'Y', true],
  ['sure', 'no', false],
  ['sure', 'maybe', undefined],
  ['tags', 'a, c', ['a', 'c']],
  ['tags', 'a,z', undefined],
] as const)('in %s, %j means %j', ([name, answer, expected]) => {
  expect(field(name).parse(answer)).toEqual(expected);
});

test('defaults are those the schema gives, and no others', () => {
  expect(collectDefaults(SCHEMA)).toEqual({ color: '#f00', tags: ['a'] });
});

test('no schema, however odd, makes a form or a sample throw or go on for ever', () => {
  const json = fc.jsonValue({ maxDepth: 4 });
  const schema = fc.dictionary(
    fc.constantFrom('properties', 'required', 'type', 'enum', 'oneOf', 'items', 'default', 'title', 'enumNames', 'x'),
    json,
  );
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('properties', 'required', 'type'), fc.oneof(schema, json)), (value) => {
      const odd = value as JsonObject;
      for (const { parse } of toFields(odd)) parse('x');
      collectDefaults(odd);
      expect(typeof createSampleArguments(odd)).toBe('object');
    }),
  );
});

test('sample arguments are what the schema names, else something of the type', () => {
  expect(
    createSampleArguments({
      type: 'object',
      required: ['a'],
      properties: {
        a: { type: 'string' },
        b: { type: 'integer', minimum: 2.5 },
        c: { type: ['boolean', 'null'] },
        d: { type: 'array', items: { type: 'number' } },
        e: { type: 'object', properties: { x: {}, y: {} }, required: ['x'] },
        f: { const: 7 },
        g: { type: 'string', examples: ['eg'] },
        h: { type: 'null' },
      },
    }),
  ).toEqual({ a: 'test', b: 3, c: true, d: [1], e: { x: 'test' }, f: 7, g: 'eg', h: null });
});
