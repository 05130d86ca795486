// The tests get this module when they import fast-check (test/vitest.config.mts).
import fc from '../../node_modules/fast-check/lib/fast-check.js';

const { GMN_FUZZ_SEED: SEED } = process.env;

// What lands is judged with one seed (.ci/run), so that the same commit gets the same answer twice.
if (SEED !== undefined) fc.configureGlobal({ seed: Number(SEED) });

/** A character for `fc.string({ unit })`. fast-check's own `binary` makes a table of all of them first: 135 MB, and a second, in each process. */
export const codePoint = fc
  .integer({ min: 0, max: 0x10f7ff })
  .map((index) => String.fromCodePoint(index < 0xd800 ? index : index + 0x800));

export default fc;
