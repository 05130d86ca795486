import { expect, test } from 'vitest';
import { parseToolArguments } from '../../../src/app/servers/arguments.ts';

test.for([
  ['12', 12],
  ['-9007199254740991', -9007199254740991],
  ['12345678901234567890', '12345678901234567890'],
  ['1e400', '1e400'],
  ['1e30', 1e30],
  ['0.1', 0.1],
  ['"@x"', '@x'],
  ['"-"', '-'],
] as const)('the value %s is %j: no number becomes another', ([text, value]) => {
  expect(parseToolArguments([['id', text]], {})).toEqual({ id: value });
});
