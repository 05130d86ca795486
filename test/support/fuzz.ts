import { readFileSync } from 'node:fs';

/**
 * How often a property is tried: a few times in every test run, `GMN_FUZZ_RUNS` times in a long one (`npm run test:faults`).
 * A failure prints its seed; `GMN_FUZZ_SEED` tries that one again.
 */
export function fuzz(usual: number): { readonly numRuns: number; readonly seed?: number } {
  const { GMN_FUZZ_RUNS: runs, GMN_FUZZ_SEED: seed } = process.env;
  return { numRuns: runs === undefined ? usual : Number(runs), ...(seed === undefined ? {} : { seed: Number(seed) }) };
}

/** Cases that are worth keeping, whatever chance picks: `test/fixtures/fuzz/<name>.json`. */
export function corpus<Case>(name: string): readonly Case[] {
  return JSON.parse(readFileSync(new URL(`../fixtures/fuzz/${name}.json`, import.meta.url), 'utf8'));
}
