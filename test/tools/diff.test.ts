import { expect, test } from 'vitest';
import { unifiedDiff } from '../../src/tools/diff.ts';

const idle = new AbortController().signal;

test.for([
  ['a\n', 'b\n', '@@ -1,1 +1,1 @@\n-a\n+b\n', 1, 1],
  ['a\nb\n', 'c', '@@ -1,2 +1,1 @@\n-a\n-b\n+c\n\\ No newline at end of file\n', 1, 2],
  ['a', 'b\n', '@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n', 1, 1],
  ['\n', 'b\n', '@@ -1,1 +1,1 @@\n-\n+b\n', 1, 1],
  ['', 'a\nb\n', '@@ -0,0 +1,2 @@\n+a\n+b\n', 2, 0],
  ['a\nb\n', '', '@@ -1,2 +0,0 @@\n-a\n-b\n', 0, 2],
] as const)(
  '%j to %j is the same diff, whether or not there was time for it',
  async ([before, after, hunk, added, removed]) => {
    const whole = { diff: `--- a/x\n+++ b/x\n${hunk}`, added, removed };
    expect(await unifiedDiff('x', before, after, idle)).toEqual(whole);
    expect(await unifiedDiff('x', before, after, idle, -1)).toEqual(whole);
  },
);

test('without time for more, all lines go and all come', async () => {
  expect(await unifiedDiff('x', 'same\na\n', 'same\nb\n', idle, -1)).toEqual({
    diff: '--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-same\n-a\n+same\n+b\n',
    added: 2,
    removed: 2,
  });
});
