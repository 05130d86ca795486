import { appendFileSync } from 'node:fs';
import { describe, test } from 'vitest';
import { judgeRecording } from './judge.ts';
import { findKind, type Recording, readRecordings } from './recording.ts';

/** Without a file, the few that are part of this repository: the same shapes in our own words. */
const FILE = process.env.GMN_RECORDED_FILE;
const SEED = Number(process.env.GMN_RECORDED_SEED ?? 1);
/** How many of them, taken by the seed; all if it is absent. */
const SAMPLE = Number(process.env.GMN_RECORDED_SAMPLE || Number.POSITIVE_INFINITY);
/** Only these ids. */
const ONLY = (process.env.GMN_RECORDED_ONLY ?? '').split(',').filter((id) => id !== '');
/** Where `npm run test:recorded` reads what came of each. */
const REPORT = process.env.GMN_RECORDED_REPORT;

/** The recording's own random numbers, so that one alone is cut as it is among all. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

function takeSample(all: readonly Recording[]): readonly Recording[] {
  if (ONLY.length > 0) return all.filter(({ id }) => ONLY.includes(id));
  if (SAMPLE >= all.length) return all;
  const random = createRandom(SEED);
  return all
    .map((recording) => ({ recording, order: random() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, SAMPLE)
    .map(({ recording }) => recording);
}

function note(record: object): void {
  if (REPORT !== undefined) appendFileSync(REPORT, `${JSON.stringify(record)}\n`);
}

/** A file of others is played to the program as it was built; our own few, to save time, in this process, where only one can run. */
const isSpawned = FILE !== undefined;

describe('recorded answers of the service', { concurrent: isSpawned }, () => {
  const all = readRecordings(FILE ?? new URL('ours.jsonl', import.meta.url));
  for (const recording of takeSample(all)) {
    const { id, source } = recording;
    test(`${id} ${source}`, { timeout: 120_000 }, async (t) => {
      const kind = findKind(recording);
      if (typeof kind !== 'string') {
        note({ id, ...kind });
        t.skip(kind.skipped);
        return;
      }
      const random = createRandom(SEED * 65_537 + Number.parseInt(id, 36));
      const problems = await judgeRecording(t, recording, { kind, random, isSpawned });
      note({ id, kind, problems });
      if (problems.length > 0) throw new Error(problems.join('\n'));
    });
  }
});
