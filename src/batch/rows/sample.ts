import { createRandom } from '../../core/random.ts';
import type { Row, Rows } from './row.ts';

/** `count` random rows in the order of the input, the same for the same input. Keeps only these in memory. */
export async function sampleRows(
  rows: Rows,
  count: number,
): Promise<{ readonly sample: readonly Row[]; readonly total: number }> {
  const random = createRandom(1);
  const sample: Row[] = [];
  let total = 0;
  for await (const row of rows) {
    total += 1;
    if (sample.length < count) sample.push(row);
    else {
      const at = Math.floor(random() * total);
      if (at < count) sample[at] = row;
    }
  }
  return { sample: sample.sort((left, right) => left.index - right.index), total };
}
