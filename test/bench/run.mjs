// `npm run bench`: the budgets, each part in one interleaved run. Read the ratios.
// --only=start,line,stream,terminal,session,search,files,mcp,serve,acp,growth,batch,replay,sandbox,standing   some parts      --rounds=31  --seed=1
// --quick       fewer rounds, smaller sizes; nothing is kept            --node=22,24  other versions of Node for the start
// --no-peer     downloads nothing: no official CLI, ripgrep or Node     --million     searches a million files, too
// --gate        fails if a ratio got worse than in the newest result that is kept; --tolerance=0.25
// --write-docs  measures nothing: makes docs/dev/benchmarks.md of the newest results
// --allow-skip  what cannot be measured here is no failure
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureInstalled, root, run } from '../../scripts/project.mjs';
import { regressions } from './gate.mjs';
import { keepResult, newestResults } from './results.mjs';
import { plainVerdicts, wordsOf } from './verdicts.mjs';

const PARTS = {
  start,
  line,
  stream,
  terminal,
  session,
  search,
  files,
  mcp,
  serve,
  acp,
  growth,
  batch,
  replay,
  sandbox,
  standing,
};
const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    seed: { type: 'string', default: '1' },
    node: { type: 'string', default: '22,24' },
    tolerance: { type: 'string', default: '0.25' },
    ...Object.fromEntries(
      ['quick', 'no-peer', 'million', 'gate', 'write-docs', 'allow-skip'].map((name) => [
        name,
        { type: 'boolean', default: false },
      ]),
    ),
  },
});
const isQuick = flags.quick;
const rounds = Number(flags.rounds ?? (isQuick ? 7 : 31));
const seed = Number(flags.seed);
const skipped = [];

if (flags['write-docs']) await writeDocs();
else process.exitCode = await bench();

async function bench() {
  ensureInstalled();
  run(process.execPath, [join(root, 'scripts', 'build.mjs')]);
  const baseline = flags.gate ? newestResults()[0] : undefined;
  const peers = flags['no-peer'] ? undefined : await installed();
  const names = flags.only?.split(',') ?? Object.keys(PARTS);
  const results = {};
  const verdicts = [];
  for (const name of names) {
    const part = await PARTS[name](peers);
    if (part === undefined) continue;
    results[name] = part.rows;
    verdicts.push(...part.verdicts);
  }
  console.table(
    verdicts.map((each) => ({ ...each, measured: Number(each.measured.toFixed(2)), missedBy: wordsOf(each) })),
  );
  if (flags.gate) return gated(verdicts, baseline);
  if (!isQuick) {
    const only = flags.only === undefined ? undefined : names;
    console.log(`docs/dev/results/${keepResult({ only, seed, rounds, skipped, verdicts, ...results })}`);
  }
  const missed = verdicts.filter(({ isMet }) => !isMet);
  for (const one of missed) console.log(`over budget: ${one.work} (${wordsOf(one)})`);
  return missed.length > 0 || (skipped.length > 0 && !flags['allow-skip']) ? 1 : 0;
}

function gated(verdicts, baseline) {
  if (baseline === undefined) throw new Error('no result with verdicts in docs/dev/results to compare with');
  const worse = regressions(verdicts, baseline.verdicts, Number(flags.tolerance));
  for (const what of worse) console.log(`got worse: ${what}`);
  if (worse.length === 0) console.log(`no ratio is worse than in docs/dev/results/${baseline.name}`);
  return worse.length > 0 ? 1 : 0;
}

async function writeDocs() {
  const { writeReport } = await import('./report.mjs');
  for (const file of writeReport(newestResults())) console.log(file);
}

function skip(why) {
  console.log(`skipped: ${why}`);
  skipped.push(why);
}

async function start(peers) {
  const { benchStart } = await import('./start.mjs');
  const { nodeVersions } = await import('./node-versions.mjs');
  const wanted = flags['no-peer'] || isQuick ? [] : flags.node.split(',').filter(Boolean);
  return benchStart({ rounds, seed, nodes: nodeVersions(wanted, skip), peers, skip });
}

async function line() {
  const { benchLine } = await import('./line.mjs');
  return benchLine({ rounds: isQuick ? 3 : Math.min(rounds, 9), seed, skip });
}

async function stream() {
  const { benchStream } = await import('./stream.mjs');
  return benchStream({ rounds: isQuick ? 2 : Math.min(rounds, 5), seed, isQuick, skip });
}

async function terminal() {
  if (process.platform === 'win32') return skip('an answer on a terminal (Windows has no ptys of this kind)');
  return (await import('./terminal.mjs')).benchTerminal({ rounds: isQuick ? 1 : Math.min(rounds, 3), isQuick });
}

async function session() {
  const { benchSession } = await import('./session.mjs');
  return benchSession({ rounds: isQuick ? 3 : Math.min(rounds, 9) });
}

async function search(peers) {
  const { benchSearch, ripgrepIn, ripgrepOnPath } = await import('./search.mjs');
  const ripgrep = peers === undefined ? ripgrepOnPath() : ripgrepIn(peers);
  if (ripgrep === undefined) skip('ripgrep (not installed)');
  return benchSearch({
    rounds: isQuick ? 3 : Math.min(rounds, 9),
    seed,
    ripgrep,
    isMillion: flags.million,
    isQuick,
    skip,
  });
}

async function files() {
  const { benchFiles } = await import('./files.mjs');
  return benchFiles({ isQuick });
}

async function replay() {
  const { benchReplay } = await import('./replay.mjs');
  return benchReplay({ rounds: isQuick ? 2 : Math.min(rounds, 5) });
}

async function sandbox() {
  if (process.platform !== 'linux') return skip('a sandbox (only for Linux)');
  const { benchSandbox } = await import('./sandbox.mjs');
  return benchSandbox({ rounds: isQuick ? 15 : Math.max(rounds, 51), seed, skip });
}

async function mcp() {
  if (!existsSync(join(root, 'test/bench/mcp.mjs'))) return skip('the MCP client (test/bench/mcp.mjs is not there)');
  const { benchMcp } = await import('./mcp.mjs');
  return withVerdicts(await benchMcp({ rounds: isQuick ? 3 : Math.min(rounds, 9), seed, skip }));
}

async function serve(peers) {
  const { benchServe } = await import('./serve.mjs');
  return withVerdicts(await benchServe({ rounds: isQuick ? 5 : Math.min(rounds, 15), seed, peers, skip }));
}

async function acp(peers) {
  const { benchAcp } = await import('./acp.mjs');
  return withVerdicts(await benchAcp({ rounds: isQuick ? 5 : Math.min(rounds, 15), seed, peers, skip }));
}

async function batch() {
  const { benchBatch } = await import('./batch.mjs');
  return benchBatch(isQuick ? { rows: 5000, xargsRows: 50 } : { rows: 1_000_000, xargsRows: 500 });
}

async function standing(peers) {
  return (await import('./standing.mjs')).benchStanding({ peers });
}

async function growth() {
  const { benchGrowth } = await import('./growth.mjs');
  return benchGrowth({ rounds: isQuick ? 2 : 5, isQuick });
}

function withVerdicts({ rows, verdicts = plainVerdicts(rows) }) {
  return { rows, verdicts };
}

async function installed() {
  const { installPeers } = await import('../peers/install.mjs');
  try {
    return installPeers('clients');
  } catch (thrown) {
    skip(`the official CLI and ripgrep (${thrown.message})`);
    return undefined;
  }
}
