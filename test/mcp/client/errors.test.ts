import fc from 'fast-check';
import { expect, test } from 'vitest';
import { simplifyMessage } from '../../../src/mcp/client/errors.ts';

test.for([
  ['no such thing', 'no such thing'],
  ['MCP error -32602: MCP error -32602: no such thing', 'no such thing'],
  ['[{"path":["a","b"],"message":"Required"}]', 'a.b: Required'],
  [
    'Invalid: [\n  {"path":[],"message":"Odd"},\n  {"message":"Even","path":["list",0]}\n]',
    'Invalid: Odd; list.0: Even',
  ],
  ['took [{"a":1}]', 'took [{"a":1}]'],
  ['took [{"message":7}]', 'took [{"message":7}]'],
  ['broken [{"message":"a"}', 'broken [{"message":"a"}'],
  ['[{"message":"a"}] and more', '[{"message":"a"}] and more'],
])('%j is simplified to %j', ([words = '', plain]) => {
  expect(simplifyMessage(words)).toBe(plain);
});

test('no words make it throw', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc.json().map((json) => `[{${json}}]`),
      ),
      (words) => {
        expect(typeof simplifyMessage(words)).toBe('string');
      },
    ),
  );
});
