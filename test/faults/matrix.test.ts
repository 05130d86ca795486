import { appendFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'vitest';
import { isWindows } from '../support/posix.ts';
import { type Fault, type Variant, type Way, waysOf } from './fault.ts';
import { IDS, MATRIX } from './matrix.ts';
import { judge } from './oracle.ts';
import { openScene } from './scene.ts';

/** `all`: every variant in every way; else one of each fault. */
const isWhole = process.env.GMN_FAULTS === 'all';
/** Only these families or ids, e.g. `N` or `S2,S14`. */
const ONLY = (process.env.GMN_FAULTS_ONLY ?? '').split(',').filter((name) => name !== '');
/** Where `npm run test:faults` reads what came of every run. */
const REPORT = process.env.GMN_FAULTS_REPORT;
const TIMEOUT_MS = 120_000;

interface Run {
  readonly variant: Variant;
  readonly way: Way;
}

/** One way of the first variant, another for each fault so that all of them are gone; or all of all. */
function runsOf({ id, variants }: Fault): readonly Run[] {
  const all = variants.flatMap((variant) => waysOf(variant).map((way) => ({ variant, way })));
  if (isWhole) return all;
  const [first] = variants;
  const ways = first === undefined ? [] : waysOf(first);
  const way = ways[IDS.indexOf(id) % ways.length];
  return first === undefined || way === undefined ? [] : [{ variant: first, way }];
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
    for (const run of runsOf(fault)) {
      const { variant, way } = run;
      const name = `${fault.id} ${fault.what}: ${variant.name} (${way.format}, ${way.surface})`;
      test.concurrent(name, { timeout: TIMEOUT_MS }, (t) => play(t, fault, run));
    }
  }
});
