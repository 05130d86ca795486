// `npm run test:node [-- [--node 24] [--workers 2] paths…]`: the tests of `npm test` and the faults on the oldest Node that gmn supports and on the newer
// ones, from npm's own packages, which are kept in a cache outside the tree. `npm test` runs them on the Node that is installed.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root, run } from '../../scripts/project.mjs';
import { cacheDirectory, fetchPackage } from '../peers/fetch.mjs';

const VERSIONS = ['20.18.1', '22.23.3', '24.21.0', '26.10.0'];

const { values: flags, positionals: paths } = parseArgs({
  allowPositionals: true,
  options: { node: { type: 'string' }, workers: { type: 'string' } },
});
const wanted = VERSIONS.filter((version) => flags.node === undefined || version.split('.')[0] === flags.node);
if (process.platform !== 'linux') {
  console.log('skipped: these packages of Node are for Linux; elsewhere the jobs of CI run the tests');
  process.exit(0);
}
delete process.env.NODE_EXTRA_CA_CERTS;
run(process.execPath, [join(root, 'scripts', 'build.mjs')]);
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const tests = paths.length > 0 ? paths : ['tests', 'guards', 'faults'].flatMap((name) => ['--project', name]);
// Each project has a number of its own, which the flag of Vitest does not change.
if (flags.workers !== undefined) process.env.VITEST_MAX_WORKERS = flags.workers;
const failed = wanted.filter((version) => {
  const node = fetchPackage(cacheDirectory('gmn-node'), `node-linux-${process.arch}@${version}`, join('bin', 'node'));
  console.log(`\nNode ${version}`);
  const { status } = spawnSync(node, [vitest, 'run', '--config', 'test/vitest.config.mts', ...tests], {
    cwd: root,
    stdio: 'inherit',
  });
  return status !== 0;
});
if (wanted.length === 0) console.log(`there is no Node ${flags.node} here: ${VERSIONS.join(', ')}`);
console.log(
  failed.length === 0 ? `\nall passed on Node ${wanted.join(', ')}` : `\nfailed on Node ${failed.join(', ')}`,
);
process.exitCode = failed.length === 0 && wanted.length > 0 ? 0 : 1;
