// `npm run test:windows [-- [--all] paths…]`: gmn's tests on the Windows build of Node, under Wine. What they need is kept in a cache
// outside the tree. Tests that Wine cannot run are in limits.mjs, with the reason; `--all` runs these too and says which of them pass.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root, run } from '../../scripts/project.mjs';
import { explainLimit, LIMITS } from './limits.mjs';
import { copyTree, endProcesses, findWine, preparePrefix, startNode, startServer } from './prefix.mjs';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false }, workers: { type: 'string', default: '2' } },
});
const rooms = ['config', 'session', 'platform', 'input', 'batch', 'tools', 'mcp', 'cli'];
const paths = positionals.length > 0 ? positionals : rooms.map((room) => `test/${room}`);

if (process.platform === 'win32') runHere();
const wine = findWine();
if (wine === undefined) {
  console.log('skipped: Wine is not installed, so nothing was tested on Windows (Debian: apt-get install wine)');
  process.exit(0);
}
run(process.execPath, [join(root, 'scripts', 'build.mjs')]);
const prefix = preparePrefix(wine);
copyTree(prefix);

/** Wine's server gets slower with every process it has seen. */
const FILES_AT_ONCE = 20;
const seen = await probeLimits();
const files = listTests();
const results = [];
for (let at = 0; at < files.length; at += FILES_AT_ONCE) {
  const part = files.slice(at, at + FILES_AT_ONCE);
  let found = await runTests(part, flags.workers);
  for (let round = 0; found === undefined && round < 3; round += 1) {
    console.log('\nWine’s server has crashed: these tests are run again, one file after the other\n');
    found = await runTests(part, 1);
  }
  if (found === undefined) throw new Error(`Wine’s server crashes in these tests: ${part.join(' ')}`);
  results.push(...found);
}
process.exitCode = summarize(results);

function listTests() {
  const { stdout } = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'test/*.test.ts'], {
    cwd: root,
    encoding: 'utf8',
  });
  return stdout.split('\n').filter((file) => paths.some((path) => file !== '' && file.startsWith(path)));
}

/** Each limit of Wine with what shows it on this machine; null if nothing does. */
async function probeLimits() {
  const server = startServer(prefix);
  const report = join(prefix.drive, 'probe.json');
  rmSync(report, { force: true });
  const probe = startNode(prefix, ['C:\\inside\\probe.cjs', 'C:\\probe.json']);
  await Promise.race([once(probe, 'exit'), once(server, 'exit')]);
  server.kill('SIGKILL');
  endProcesses(prefix);
  return JSON.parse(readFileSync(report, 'utf8'));
}

/** What Vitest reports about these files; undefined if Wine's server crashed, as it does now and then when many processes start at once. */
async function runTests(part, workers) {
  const [report, output] = ['report.json', 'output.txt'].map((name) => join(prefix.drive, name));
  for (const file of [report, output]) rmSync(file, { force: true });
  const server = startServer(prefix);
  const child = startNode(
    prefix,
    [
      ...['C:\\inside\\driver.cjs', 'C:\\output.txt', 'C:\\gmn\\node_modules\\vitest\\vitest.mjs', 'run'],
      ...['--config', 'test/windows/vitest.config.mts', '--reporter=default', '--reporter=json'],
      ...['--outputFile.json=C:\\report.json', `--maxWorkers=${workers}`, ...part],
    ],
    { GMN_TEST_ALL: flags.all ? '1' : '' },
  );
  const showOutput = createTail(output);
  const follow = setInterval(showOutput, 500);
  const ended = once(child, 'exit');
  const hasCrashed = await Promise.race([ended.then(() => false), once(server, 'exit').then(() => true)]);
  clearInterval(follow);
  showOutput();
  server.kill('SIGKILL');
  endProcesses(prefix);
  await ended;
  return hasCrashed ? undefined : JSON.parse(readFileSync(report, 'utf8')).testResults;
}

/** On Windows itself nothing is lacking: all tests are run. */
function runHere() {
  run(process.execPath, [join(root, 'scripts', 'build.mjs')]);
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const args = [vitest, 'run', '--config', 'test/windows/vitest.config.mts', ...paths];
  run(process.execPath, args, { env: { ...process.env, GMN_TEST_ALL: '1' } });
  process.exit();
}

/** Writes what was added to a file since the last call; the output of a program in Wine cannot be a pipe of ours. */
function createTail(file) {
  let position = 0;
  const chunk = Buffer.alloc(65_536);
  return () => {
    let descriptor;
    try {
      descriptor = openSync(file, 'r');
    } catch {
      return;
    }
    for (let count = 1; count > 0; position += count) {
      count = readSync(descriptor, chunk, 0, chunk.length, position);
      process.stdout.write(chunk.subarray(0, count));
    }
    closeSync(descriptor);
  };
}

function summarize(testResults) {
  const tests = testResults.flatMap(({ name, assertionResults, message }) => {
    const file = name.replaceAll('\\', '/').replace(/^.*\/gmn\/test\//, '');
    if (assertionResults.length === 0) return [{ file, name: `the file itself: ${message}`, status: 'failed' }];
    return assertionResults.map(({ ancestorTitles, title, status }) => ({
      file,
      name: [...ancestorTitles, title].join(' > '),
      status,
    }));
  });
  const limited = tests.map((test) => ({ ...test, limit: explainLimit(test.file, test.name) }));
  const count = (claim) => limited.filter(claim).length;
  const failures = limited.filter(({ status, limit }) => status === 'failed' && limit === undefined);
  console.log(
    `\n${count(({ status }) => status === 'passed')} passed, ${failures.length} failed, ` +
      `${count(({ limit }) => limit !== undefined)} not judged because of Wine, ` +
      `${count(({ status, limit }) => !['passed', 'failed'].includes(status) && limit === undefined)} skipped on Windows`,
  );
  for (const [word, reason] of Object.entries(LIMITS)) {
    const rows = limited.filter(({ limit }) => limit === word);
    if (rows.length > 0) console.log(`  ${rows.length} ${word}: ${reason} (seen: ${seen[word] ?? 'no'})`);
  }
  for (const { file, name } of failures) console.log(`FAILED  ${file} :: ${name}`);
  if (flags.all)
    for (const { file, name } of limited.filter(({ status, limit }) => status === 'passed' && limit !== undefined))
      console.log(`PASSES NOW  ${file} :: ${name}`);
  return failures.length > 0 ? 1 : 0;
}
