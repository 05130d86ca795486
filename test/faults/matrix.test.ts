import { appendFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'vitest';
import { isWindows } from '../support/posix.ts';
import { type Fault, type Variant, type Way, waysOf } from './fault.ts';
import { IDS, MATRIX } from './matrix.ts';
import { judge } from './oracle.ts';
import { openScene, WITHIN_MS } from './scene.ts';

/** `all`: every variant in every way; `each`: every variant in one; else one variant in one, of faults that no other test proves. */
const SET = process.env.GMN_FAULTS ?? 'quick';
/** Only these families or ids, e.g. `N` or `S2,S14`. */
const ONLY = (process.env.GMN_FAULTS_ONLY ?? '').split(',').filter((name) => name !== '');
/** Where `npm run test:faults` reads what came of every run. */
const REPORT = process.env.GMN_FAULTS_REPORT;
/** For what comes before and after a run. */
const MARGIN_MS = 60_000;

interface Run {
  readonly variant: Variant;
  readonly way: Way;
}

/** The ways are taken in turn, so that each is gone by some fault. */
function runsOf({ id, variants, seenBy }: Fault): readonly Run[] {
  const chosen = SET === 'all' || SET === 'each' ? variants : variants.slice(0, seenBy.length === 0 ? 1 : 0);
  return chosen.flatMap((variant, index) => {
    const ways = waysOf(variant);
    const turn = (IDS.indexOf(id) + index) % ways.length;
    return (SET === 'all' ? ways : ways.slice(turn, turn + 1)).map((way) => ({ variant, way }));
  });
}

async function play(t: TestContext, { id }: Fault, { variant, way }: Run): Promise<void> {
  const record = { id, variant: variant.name, ...way };
  const reason = variant.skip?.();
  if (reason !== undefined) {
    tell({ ...record, skipped: reason });
    t.skip(reason);
  }
  const scene = await openScene(t, variant, way);
  await judge(scene, variant);
  tell({ ...record, problems: scene.problems });
  if (scene.problems.length > 0) {
    throw new Error(scene.problems.map(({ kind, detail }) => `${kind}: ${detail}`).join('\n'));
  }
}

function isWanted(id: string): boolean {
  return ONLY.length === 0 || ONLY.includes(id) || ONLY.includes(id.slice(0, 1));
}

function tell(record: object): void {
  if (REPORT !== undefined) appendFileSync(REPORT, `${JSON.stringify(record)}\n`);
}

// Signals, /proc and permission bits are what most of this is about.
describe.skipIf(isWindows)('the fault matrix', () => {
  for (const fault of MATRIX.filter(({ id }) => isWanted(id))) {
    if (fault.seenBy.length > 0) tell({ id: fault.id, seenBy: fault.seenBy });
    for (const run of runsOf(fault)) {
      const { variant, way } = run;
      const name = `${fault.what}: ${variant.name}, ${way.format}, ${way.surface} (${fault.id})`;
      const timeout = (variant.withinMs ?? WITHIN_MS) + MARGIN_MS;
      (variant.isAlone ? test : test.concurrent)(name, { timeout }, (t) => play(t, fault, run));
    }
  }
});
