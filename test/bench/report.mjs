// docs/dev/benchmarks.md and its charts, made of kept results: no figure in them is typed by hand.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/project.mjs';
import { budgetChart, growthChart } from './chart.mjs';
import { wordsOf } from './verdicts.mjs';

/** What stands in the way of a budget that is missed; shown only while it is. */
const OBSTACLES = [
  {
    of: /speed|memory growth/,
    words:
      'Streaming: the budget is of a script that writes the same to the same pipe (`write text`, `write stream-json` below). ' +
      'Why no more is done for it: [decisions/0020](decisions/0020-what-was-deleted.md).',
  },
  {
    of: /one-shot|--version|--help/,
    words:
      'Start: half of a one-shot is the start of Node itself; see [decisions/0002](decisions/0002-build-and-code-cache.md). ' +
      'Its CPU has the price of the HTTP client of Node itself, which keeps connections ([decisions/0013](decisions/0013-http-client.md)); `-f` and `-c` ' +
      'load the reading of files and of sessions besides. On a second machine, slower and less quiet, 21 rounds of both seeds gave 1.80 and 1.87 for ' +
      'the plain one, 1.96 and 2.18 in CPU, up to 2.11 with flags, 2.23 and 2.46 with `-f`, 2.20 and 2.31 with stdin, 2.01 and 2.32 with `-c` ' +
      '([seed 1](results/bench-serve-stream-start-2026-11-17-second-machine-seed1.json), ' +
      '[seed 2](results/bench-serve-stream-start-2026-11-17-second-machine-seed2.json)).',
  },
  {
    of: /^(?:chat|delegate)$/,
    words: 'Served calls: a session and a job are written before the answer is sent, so these rows depend on the disk.',
  },
  {
    of: /^stdin that ends late/,
    words:
      '`stdin` that ends late: beyond the round trip there are 19 ms of work on the slower of two machines, 15 on the other; 18 are allowed.',
  },
  {
    of: /^mcp list --check/,
    words: '`mcp list --check`: the start of eight servers at once on two cores; the figure is of five rounds.',
  },
];

const EMPTY_PAGE = `# Benchmarks

No whole run is kept in \`docs/dev/results\` yet. \`npm run bench\` makes one, \`npm run bench -- --write-docs\` this page of it.
`;

/** Writes the page and its charts from the runs of one day, and returns the files' names. Without a run the page says so. */
export function writeReport(runs) {
  const [first] = runs;
  const files =
    first === undefined
      ? { 'docs/dev/benchmarks.md': EMPTY_PAGE }
      : {
          'docs/pictures/bench-budgets.svg': budgetChart(first.verdicts.filter(({ work }) => !isGrowth(work))),
          ...(first.growth === undefined ? {} : { 'docs/pictures/bench-growth.svg': growthChart(curvesOf(first)) }),
          'docs/dev/benchmarks.md': pageOf(runs),
        };
  mkdirSync(join(root, 'docs', 'pictures'), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
  return Object.keys(files);
}

function isGrowth(work) {
  return / to [\d,]+ |ten times the files/.test(work);
}

/** The curves of a run, those of search and glob among them. */
function curvesOf({ growth, search = [] }) {
  const engines = search.filter(({ work }) => work.endsWith('own engine'));
  return [...growth, ...engines.map((row) => ({ ...row, unit: 'files', size: row.files }))];
}

function pageOf(runs) {
  const [first] = runs;
  return `# Benchmarks

Made by \`npm run bench\` from \`docs/dev/results\`; the figures are ratios of things measured side by side, in turns, in one run.

- Date: ${first.date}; machine: ${first.machine}; Node ${first.node.slice(1)}.
- Runs: ${runs.map(({ name, seed, rounds }) => `[seed ${seed}](results/${name}) (${rounds} rounds)`).join(', ')}; the seed decides the order.
- Again: ${runs.map(({ seed }) => `\`npm run bench -- --seed=${seed}\``).join(', then ')}, then \`npm run bench -- --write-docs\`.
${skippedLines(first)}
## The budgets

![Each measurement as a share of its budget](../pictures/bench-budgets.svg)

${verdictTable(runs)}
${obstaclesOf(runs)}
## The start

\`first run\` has no compiled code from an earlier one; wall time in milliseconds, median of all rounds; each beside its own floor.

${table(first.start ?? [])}

## The line to Google

TLS through a relay that holds every byte for half a round trip each way. \`connections\` is the most of any run; of a chat and of
\`mcp serve\` those of the second turn and call.

${table(first.line ?? [])}

## Streaming

100 MB of events of 4 KB each, written to a pipe, beside a script that only reads and parses them (\`speed x\`) and one that writes the
same to the same pipe (\`speed x writer\`, the budget); then 2,000 chunks, each sent when the one before was seen on stdout. The start-up time is subtracted.

${table((first.stream ?? []).filter((row) => 'output MB' in row))}

${table((first.stream ?? []).filter((row) => 'chunks' in row))}

## Sessions

${table(first.session ?? [])}

## Search and glob

${table(first.search ?? [])}

## MCP

As a client:

${table(first.mcp ?? [])}

As a server; 100 calls at once are all answered, or the run fails:

${table(first.serve ?? [])}

## Editors

To the answer of \`initialize\`, and how much later than the model's first byte the editor has it; \`ms\` of the latter is from the prompt on, of which the
model takes 20:

${table(first.acp ?? [])}

## Standing cost

Bytes of the system prompt and of the declarations of tools, which come before the user's words and with every call again, as they are in
the request. gmn and the official CLI were asked \`Hello\` in an empty directory; what pi sends is a constant of
\`test/bench/standing.mjs\`, which says how it was measured.

${table(first.standing ?? [])}

## Growth

Ten times the size may take 15 times as long in the last step; least times, in milliseconds.

![Time against size, both in powers of ten](../pictures/bench-growth.svg)

${table(first.growth ?? [])}
`;
}

function skippedLines({ skipped = [] }) {
  return skipped.map((why) => `- Skipped: ${why}.\n`).join('');
}

function verdictTable(runs) {
  const [first] = runs;
  const rows = first.verdicts.map((verdict) => {
    const all = runs.map(({ verdicts }) => verdicts.find(({ work }) => work === verdict.work));
    const worst = all.filter(Boolean).reduce((left, right) => (right.missedBy > left.missedBy ? right : left));
    return {
      work: verdict.work,
      budget: `${verdict.atLeast ? 'at least' : 'at most'} ${rounded(verdict.budget)} ${verdict.unit}`,
      ...Object.fromEntries(runs.map(({ seed }, index) => [`seed ${seed}`, all[index]?.measured ?? ''])),
      verdict: wordsOf(worst),
    };
  });
  return table(rows);
}

function obstaclesOf(runs) {
  const missed = runs.flatMap(({ verdicts }) => verdicts.filter(({ isMet }) => !isMet).map(({ work }) => work));
  const lines = OBSTACLES.filter(({ of }) => missed.some((work) => of.test(work))).map(({ words }) => `- ${words}\n`);
  return lines.length === 0 ? '' : `\nWhy some are missed:\n\n${lines.join('')}`;
}

function table(rows) {
  if (rows.length === 0) return 'Not measured.';
  const keys = [...new Set(rows.flatMap(Object.keys))].filter((key) => key !== 'isMissed');
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(keys), line(keys.map(() => '---')), ...rows.map((row) => line(keys.map((key) => shown(row[key]))))].join(
    '\n',
  );
}

/** Some budgets are computed. Without zeros at the end: most are short as they are. */
function rounded(budget) {
  return Number(budget.toFixed(Math.abs(budget) >= 100 ? 0 : 2));
}

function shown(value) {
  if (typeof value !== 'number') return String(value ?? '').replaceAll('|', '\\|');
  return Number.isInteger(value) ? value.toLocaleString('en') : value.toFixed(Math.abs(value) >= 100 ? 0 : 2);
}
