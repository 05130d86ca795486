import { expect, test } from 'vitest';
import { findGrowth } from './baseline.ts';

test('a turn more, a sentence more in a request and an unknown task are seen; less is fine', () => {
  const size = { system: 1000, tools: 1000, contents: 1000, total: 3000, isPrefixKept: true };
  const run = { task: 'fix-a-bug', way: 'one-shot' as const, turns: 1, requests: [size] };
  expect(findGrowth(run)).toEqual([]);
  expect(findGrowth({ ...run, turns: 5 })).toEqual([expect.stringMatching(/^turns: 5 instead of \d$/)]);
  const longer = { ...size, system: 3000, tools: 9000 };
  expect(findGrowth({ ...run, requests: [longer] })).toEqual([
    expect.stringMatching(/^system: 3000 instead of 2\d{3}$/),
    expect.stringMatching(/^tools: 9000 instead of 4\d{3}$/),
  ]);
  expect(findGrowth({ ...run, task: 'sing' })).toEqual(['it is not in baseline.json']);
});
