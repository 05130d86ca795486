import { expect, test } from 'vitest';
import { joinTexts } from '../../src/api/call.ts';

test('texts that came at once are one event, which keeps its pieces; what stands between them keeps its place', () => {
  const told = joinTexts();
  told.add({ type: 'text', delta: 'a' });
  told.add({ type: 'text', delta: 'b' });
  told.add({ type: 'thought', delta: 'hm' });
  told.add({ type: 'text', delta: 'c' });
  expect(told.events()).toEqual([
    { type: 'text', delta: 'ab', pieces: ['a', 'b'] },
    { type: 'thought', delta: 'hm' },
    { type: 'text', delta: 'c' },
  ]);
});

test('nothing told is no event', () => {
  expect(joinTexts().events()).toEqual([]);
});
