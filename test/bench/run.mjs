// `npm run bench`: the budgets, each part in one interleaved run. Read the ratios.
// --only=start,session,search,serve  --rounds=31  --seed=1  --no-peer (downloads nothing)  --million (searches a million files, too)
// --allow-skip (what cannot be measured here is no failure)
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureInstalled, root, run } from '../../scripts/project.mjs';

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', default: 'start,session,search,serve' },
    rounds: { type: 'string', default: '31' },
    seed: { type: 'string', default: '1' },
    'no-peer': { type: 'boolean', default: false },
    million: { type: 'boolean', default: false },
    'allow-skip': { type: 'boolean', default: false },
  },
});
const rounds = Number(flags.rounds);
const seed = Number(flags.seed);
ensureInstalled();
run(process.execPath, [join(root, 'scripts', 'build.mjs')]);

const skipped = [];
const skip = (why) => {
  console.log(`skipped: ${why}`);
  skipped.push(why);
};
const peers = flags['no-peer'] ? undefined : await installed();
const parts = { start, session, search, serve };
const results = {};
for (const name of flags.only.split(',')) results[name] = await parts[name]();
write();
const missed = Object.values(results).flatMap((result) => result.missed);
for (const what of missed) console.log(`over budget: ${what}`);
process.exitCode = missed.length > 0 || (skipped.length > 0 && !flags['allow-skip']) ? 1 : 0;

async function start() {
  const { benchStart } = await import('./start.mjs');
  return benchStart({ rounds, seed, peers });
}

async function session() {
  const { benchSession } = await import('./session.mjs');
  return benchSession({ rounds: Math.min(rounds, 9) });
}

async function search() {
  const { benchSearch, ripgrepIn, ripgrepOnPath } = await import('./search.mjs');
  const ripgrep = peers === undefined ? ripgrepOnPath() : ripgrepIn(peers);
  if (ripgrep === undefined) skip('ripgrep (not installed)');
  return benchSearch({ rounds: Math.min(rounds, 9), seed, ripgrep, isMillion: flags.million, skip });
}

async function serve() {
  const { benchServe } = await import('./serve.mjs');
  return benchServe({ rounds, seed, peers, skip });
}

async function installed() {
  const { installPeers } = await import('../interop/install.mjs');
  try {
    return installPeers();
  } catch (thrown) {
    skip(`the official CLI and ripgrep (${thrown.message})`);
    return undefined;
  }
}

function write() {
  const date = new Date().toISOString().slice(0, 10);
  const { start: begun, ...others } = results;
  const result = {
    date,
    node: process.version,
    cpu: `${cpus().length} x ${cpus()[0]?.model.trim()}`,
    rounds,
    seed,
    ...(skipped.length === 0 ? {} : { skipped }),
    ...(begun === undefined ? {} : { rows: begun.rows }),
    ...Object.fromEntries(Object.entries(others).map(([name, { rows }]) => [name, rows])),
  };
  const directory = join(root, 'docs', 'results');
  mkdirSync(directory, { recursive: true });
  const part = begun === undefined ? `-${Object.keys(others).join('-')}` : '';
  writeFileSync(join(directory, `bench${part}-${date}-seed${seed}.json`), `${JSON.stringify(result, null, 2)}\n`);
}
