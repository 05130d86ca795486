import { expect, test } from 'vitest';
import { selectSendable } from '../../src/chat/prompt.ts';

test.for([
  ['none is to blame: all stay', [], 3, ['a', 'b', 'c']],
  ['one is to blame: it goes', ['b'], 3, ['a', 'c']],
  ['they are too much together: all go', [], 2, []],
] as const)('%s', async ([, bad, most, kept]) => {
  const isFine = async (paths: readonly string[]): Promise<boolean> =>
    paths.length <= most && !paths.some((path) => bad.some((one) => one === path));
  expect(await selectSendable(['a', 'b', 'c'], isFine)).toEqual(kept);
});
