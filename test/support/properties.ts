// The tests get this module when they import fast-check (test/vitest.config.mts).
import fc from '../../node_modules/fast-check/lib/fast-check.js';

const { GMN_FUZZ_SEED: SEED } = process.env;

// What lands is judged with one seed (.ci/run), so that the same commit gets the same answer twice.
if (SEED !== undefined) fc.configureGlobal({ seed: Number(SEED) });

export default fc;
