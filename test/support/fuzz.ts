import { readFileSync } from 'node:fs';

const { GMN_FUZZ_RUNS: RUNS } = process.env;

export const isLong = RUNS !== undefined;

export const FUZZ_TIMEOUT = isLong ? 6 * 3_600_000 : 120_000;

/**
 * How often a property is tried: `usual` times in an ordinary test run, `GMN_FUZZ_RUNS` times in a long one (`npm run test:faults`), but
 * never more than `most`. A failure prints its seed, which `GMN_FUZZ_SEED` tries again (properties.ts).
 */
export function fuzz(usual: number, most = Number.POSITIVE_INFINITY): { readonly numRuns: number } {
  return { numRuns: isLong ? Math.min(Number(RUNS), most) : usual };
}

/** Cases to try in every run: `test/fixtures/fuzz/<name>.json`. */
export function corpus<Case>(name: string): Case[] {
  return JSON.parse(readFileSync(new URL(`../fixtures/fuzz/${name}.json`, import.meta.url), 'utf8'));
}
