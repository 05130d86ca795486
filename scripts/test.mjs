// `npm test`: installs what the lock file names, builds, then checks and tests side by side. Downloads nothing else.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ensureInstalled, root, run } from './project.mjs';

ensureInstalled();
run(process.execPath, [join(root, 'scripts', 'build.mjs')]);
const words = process.argv.slice(2);
// The coverage thresholds are for the whole suite; a part of it would always miss them.
const coverage = words.length === 0 ? ['--coverage.enabled'] : [];
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const check = start([join(root, 'scripts', 'check.mjs')], 'pipe');
const tests = start([vitest, 'run', '--config', 'test/vitest.config.mts', ...coverage, ...words], 'inherit');

// Collected, so that it is not spread over the output of the tests.
const report = [];
for (const stream of [check.child.stdout, check.child.stderr]) stream.on('data', (data) => report.push(data));
const checked = await check.ended;
process.stdout.write(Buffer.concat(report));
if (checked !== 0) tests.child.kill();
process.exitCode = checked || (await tests.ended);

function start(args, output) {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['inherit', output, output] });
  return { child, ended: once(child, 'close').then(([code]) => code ?? 1) };
}
