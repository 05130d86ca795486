import { expect, test } from 'vitest';
import { unifiedDiff } from '../../src/tools/diff.ts';

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
    expect(await unifiedDiff('x', before, after)).toEqual(whole);
    expect(await unifiedDiff('x', before, after, 0)).toEqual(whole);
  },
);

test('above its limit of changes, all lines between the first and the last difference go and come', async () => {
  const file = (...lines: readonly string[]): string => ['1\n2\n3\n4\n', ...lines, '5\n6\n7\n8'].join('');
  const args = ['x', file('a\n', 'same\n', 'b\n'), file('c\n', 'same\n')] as const;
  expect(await unifiedDiff(...args)).toMatchObject({ added: 1, removed: 2 });
  expect(await unifiedDiff(...args, 0)).toEqual({
    diff: '--- a/x\n+++ b/x\n@@ -2,9 +2,8 @@\n 2\n 3\n 4\n-a\n-same\n-b\n+c\n+same\n 5\n 6\n 7\n',
    added: 2,
    removed: 3,
  });
});
