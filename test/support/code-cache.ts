import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Vitest runs this once, before the first test file. A fresh home has no compiled code in it, and compiling costs a run of gmn
 * a quarter of its time, so that `place` lends every home the code that earlier runs of this build have left here.
 */
export default function setUpCodeCache(): (() => void) | undefined {
  // It is asked once for each project.
  if (process.env.GMN_TEST_CODE_CACHE !== undefined) return undefined;
  const directory = mkdtempSync(join(tmpdir(), 'gmn-test-code-'));
  process.env.GMN_TEST_CODE_CACHE = directory;
  return () => rmSync(directory, { recursive: true, force: true });
}
