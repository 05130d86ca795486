import { expect, test } from 'vitest';
import { joinTexts } from '../../src/api/call.ts';

test('texts that came at once are one event, which keeps its pieces; what stands between them keeps its place', () => {
  const joined = joinTexts([
    { type: 'text', delta: 'a' },
    { type: 'text', delta: 'b' },
    { type: 'thought', delta: 'hm' },
    { type: 'text', delta: 'c' },
  ]);
  expect(joined).toEqual([
    { type: 'text', delta: 'ab', pieces: ['a', 'b'] },
    { type: 'thought', delta: 'hm' },
    { type: 'text', delta: 'c' },
  ]);
});

test('an empty notice is no event', () => {
  expect(joinTexts([])).toEqual([]);
});
