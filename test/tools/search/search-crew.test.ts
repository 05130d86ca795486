import { expect, onTestFinished, test } from 'vitest';
import { place } from '../place.ts';

test('many searches at once leave no warning behind', async () => {
  const here = await place({ 'a.txt': 'needle\n' });
  const warnings: string[] = [];
  const onWarning = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  // Of one reply, eight run at a time.
  for (let round = 0; round < 2; round += 1) {
    const { signal } = new AbortController();
    const calls = Array.from({ length: 8 }, () => here.call('search_file_content', { pattern: 'needle' }, signal));
    expect((await Promise.all(calls)).map(({ ok }) => ok)).toEqual(Array(8).fill(true));
  }
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toEqual([]);
});
