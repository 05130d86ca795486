import { appendFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { talkativeGemini } from './talk.ts';
import { type Blow, blowsOf, deal, noStrace, SCENES, type Wound } from './torture-rig.ts';

/** Every blow with `npm run test:faults`, a few in every test run. */
const isWhole = process.env.GMN_TORTURE === 'all';
const report = process.env.GMN_TORTURE_REPORT;

test.for(SCENES.slice(0, isWhole ? undefined : 2))(
  `$name survives every system call that fails once${noStrace ? ` (skipped: ${noStrace})` : ''}`,
  { timeout: isWhole ? 6 * 3_600_000 : 120_000, skip: noStrace !== undefined },
  async (scene, t) => {
    const gemini = await talkativeGemini(t);
    const blows = await blowsOf(t, gemini, scene);
    expect(blows.length).toBeGreaterThan(60);
    const wounds: Wound[] = [];
    for (const blow of isWhole ? blows : few(blows)) {
      const wound = await deal(t, gemini, scene, blow);
      wounds.push(wound);
      if (report !== undefined) appendFileSync(report, `${JSON.stringify(wound)}\n`);
    }
    expect(wounds.filter(({ wrongs }) => wrongs.length > 0)).toEqual([]);
    expect(wounds.some(({ hit }) => hit !== undefined)).toBe(true);
  },
);

/** One of each kind that has cost somebody data: the store, the line, the output. */
function few(blows: readonly Blow[]): readonly Blow[] {
  const kinds = ['write ENOSPC', 'rename EIO', 'fdatasync EIO', 'read EIO', 'connect EACCES'];
  return kinds.flatMap((kind) => blows.filter(({ call, error }) => `${call} ${error}` === kind).slice(-1));
}
