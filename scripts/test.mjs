// `npm test`: installs what the lock file names, builds, checks, tests. Downloads nothing else.
import { ensureInstalled, root, run, tool } from './project.mjs';

ensureInstalled();
run(process.execPath, [`${root}/scripts/build.mjs`]);
run(process.execPath, [`${root}/scripts/check.mjs`]);
tool('vitest/vitest.mjs', ['run', '--config', 'test/vitest.config.mts', ...process.argv.slice(2)]);
