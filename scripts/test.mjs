// `npm test`: installs what the lock file names, builds, then checks and tests side by side. Downloads nothing else.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureInstalled, root, run } from './project.mjs';

/** The tests make tens of thousands of small files: in memory that takes the system far less time. */
const MEMORY_DISK = '/dev/shm';

ensureInstalled();
// Node 20 parses this file at every start, which takes longer than the start itself; the tests start thousands of programs.
delete process.env.NODE_EXTRA_CA_CERTS;
if (process.env.TMPDIR === undefined && hasMemoryDisk()) process.env.TMPDIR = MEMORY_DISK;
run(process.execPath, [join(root, 'scripts', 'build.mjs')]);
const words = process.argv.slice(2);
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const config = ['--config', 'test/vitest.config.mts'];

const isWhole = words.length === 0;
const tests = start([vitest, 'run', ...config, ...(isWhole ? ['--project', 'tests'] : words)], 'inherit');
const checked = await report([join(root, 'scripts', 'check.mjs')]);
if (checked !== 0) tests.child.kill();
// A part of these tests would always miss the thresholds.
const isCovering = isWhole && checked === 0;
const guarded = isCovering ? await report([vitest, 'run', ...config, '--project', 'guards', '--coverage.enabled']) : 0;
process.exitCode = checked || (await tests.ended) || guarded;

/** Shows the output when it is complete, so that it is not spread over that of the tests. */
async function report(args) {
  const { child, ended } = start(args, 'pipe');
  const pieces = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => pieces.push(data));
  const code = await ended;
  process.stdout.write(Buffer.concat(pieces));
  return code;
}

function hasMemoryDisk() {
  try {
    accessSync(MEMORY_DISK, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY_DISK);
    // Some of the files are large. In containers this disk is often tiny.
    return bavail * bsize > 4e9;
  } catch {
    return false;
  }
}

function start(args, output) {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['inherit', output, output] });
  return { child, ended: once(child, 'close').then(([code]) => code ?? 1) };
}
