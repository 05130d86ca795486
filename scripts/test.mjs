// `npm test`: installs what the lock file names, builds, checks, tests. Downloads nothing else.
import { ensureInstalled, root, run, tool } from './project.mjs';

ensureInstalled();
run(process.execPath, [`${root}/scripts/build.mjs`]);
run(process.execPath, [`${root}/scripts/check.mjs`]);
const words = process.argv.slice(2);
// The coverage thresholds are for the whole suite; a part of it would always miss them.
const coverage = words.length === 0 ? ['--coverage.enabled'] : [];
tool('vitest/vitest.mjs', ['run', '--config', 'test/vitest.config.mts', ...coverage, ...words]);
