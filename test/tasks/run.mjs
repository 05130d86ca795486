// `npm run test:tasks [-- --update]`: every scripted task, in each way that gmn can be asked, and what it took as figures in
// docs/dev/results/tasks-<date>.json. With --update these figures become the ones that `npm test` compares with
// (test/tasks/baseline.json), and the table of docs/dev/tasks.md.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values: flags } = parseArgs({ options: { update: { type: 'boolean' } } });
const SHOWN = { cwd: root, stdio: 'inherit' };
const WAYS = ['one-shot', 'chat', 'delegate'];
const scratch = mkdtempSync(join(tmpdir(), 'gmn-tasks-'));
try {
  if (!existsSync(join(root, 'dist', 'boot.js'))) {
    const { status } = spawnSync(process.execPath, [join(root, 'scripts', 'build.mjs')], SHOWN);
    if (status !== 0) process.exit(status ?? 1);
  }
  process.exitCode = play(join(scratch, 'report.jsonl'));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function play(report) {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const words = ['run', '--config', 'test/vitest.config.mts', 'test/tasks/tasks.test.ts'];
  const env = { ...process.env, GMN_TASKS_REPORT: report, ...(flags.update ? { GMN_TASKS_UPDATE: '1' } : {}) };
  const { status } = spawnSync(process.execPath, [vitest, ...words], { ...SHOWN, env });
  if (!existsSync(report)) return status ?? 1;
  const runs = readFileSync(report, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const summary = summarise(runs);
  for (const [name, value] of Object.entries(summary.figures)) console.log(`${name.padEnd(30)} ${value}`);
  for (const { task, way, problem } of summary.problems) console.log(`${task} as ${way}: ${problem}`);
  const file = `tasks-${summary.date}.json`;
  writeFileSync(join(root, 'docs', 'dev', 'results', file), format(summary));
  if (flags.update && status === 0) update(runs, file);
  return status ?? 1;
}

function summarise(records) {
  const runs = records.filter(({ problem }) => problem === undefined);
  const problems = records.filter(({ problem }) => problem !== undefined);
  const requests = runs.flatMap((run) => run.requests);
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    system: `${process.platform} ${process.arch}`,
    figures: {
      tasks: new Set(records.map(({ task }) => task)).size,
      runs: records.length,
      'runs with a problem': problems.length,
      turns: runs.reduce((sum, { turns }) => sum + turns, 0),
      requests: requests.length,
      'requests with a broken prefix': requests.filter(({ isPrefixKept }) => !isPrefixKept).length,
      'bytes of the largest request': Math.max(0, ...requests.map(({ total }) => total)),
    },
    problems,
    runs,
  };
}

/** One line for each run. */
function format({ runs, ...rest }) {
  const lines = runs.map((run) => `    ${JSON.stringify(run)}`).join(',\n');
  return `${JSON.stringify(rest, undefined, 2).slice(0, -2)},\n  "runs": [\n${lines}\n  ]\n}\n`;
}

function update(runs, file) {
  const names = [...new Set(runs.map(({ task }) => task))];
  const costs = names.map((name) => [
    name,
    Object.fromEntries(runs.filter(({ task }) => task === name).map((run) => [run.way, costOf(run)])),
  ]);
  const lines = costs.map(([name, ways]) => {
    const rows = Object.entries(ways).map(
      ([way, cost]) =>
        `    "${way}": ${JSON.stringify(cost).replace(/[:,]/g, '$& ').replace('{', '{ ').replace('}', ' }')}`,
    );
    return `  "${name}": {\n${rows.join(',\n')}\n  }`;
  });
  writeFileSync(join(root, 'test', 'tasks', 'baseline.json'), `{\n${lines.join(',\n')}\n}\n`);
  const page = join(root, 'docs', 'dev', 'tasks.md');
  const table = formatTable(costs, readTexts());
  const from = `From [\`${file}\`](results/${file}).`;
  writeFileSync(
    page,
    readFileSync(page, 'utf8').replace(
      /(<!-- table -->\n)[\s\S]*?(<!-- end of table -->)/,
      (_, begin, end) => `${begin}${from}\n\n${table}\n${end}`,
    ),
  );
}

/** As costOf of baseline.ts. */
function costOf({ turns, requests }) {
  const { system, tools, contents } = requests.at(-1);
  return { turns, system, tools, contents, total: requests.reduce((sum, { total }) => sum + total, 0) };
}

/** What each task is, from its source. */
function readTexts() {
  const sources = ['file-tasks.ts', 'command-tasks.ts'].map((name) =>
    readFileSync(join(root, 'test', 'tasks', name), 'utf8'),
  );
  return new Map(
    [...sources.join('\n').matchAll(/name: '(.+)',\n {2}what: '(.+)',/g)].map(([, name, what]) => [name, what]),
  );
}

function formatTable(costs, texts) {
  const cell = (cost) =>
    cost === undefined ? '–' : `${cost.turns} · ${thousands(cost.contents)} · ${thousands(cost.total)}`;
  const rows = costs.map(
    ([name, ways]) => `| \`${name}\` | ${texts.get(name)} | ${WAYS.map((way) => cell(ways[way])).join(' | ')} |`,
  );
  const head = `| task | what the model does | ${WAYS.join(' | ')} |\n|---|---|${WAYS.map(() => '---:').join('|')}|`;
  return [head, ...rows].join('\n');
}

function thousands(bytes) {
  return `${(bytes / 1000).toFixed(1)}`;
}
