// Start-up: bare Node beside --version, --help and a one-shot, on several versions of Node, over TLS, as one executable, and
// beside the official CLI.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/project.mjs';
import { makeCertificate } from './certificate.mjs';
import { gmn, openPlace, openServer, ran, ranWithUsage } from './processes.mjs';
import { median, mulberry, printTable, shuffled } from './statistics.mjs';
import { verdict } from './verdicts.mjs';

const executable = join(root, 'dist-binary', process.platform === 'win32' ? 'gmn.exe' : 'gmn');
const HELLO = 'gmn Hello';
const MAX_RSS_MB = 52;

/** What a flag may cost, against bare Node. `stdin` is piped in; `{file}` is a text file of a few lines. */
const FLAGS = [
  ...['-o json', '-o stream-json', '-m gemini-2.5-pro', '-q', '--no-session', '--system Briefly', '-t 30s'].map(
    (flags) => ({ flags, budget: 2 }),
  ),
  { flags: '-o json -m gemini-2.5-pro -q -t 30s', budget: 2 },
  { flags: '-f {file}', budget: 2.1 },
  { flags: '< stdin', stdin: 'a line\n', budget: 2.1 },
  { flags: '-c', budget: 2.1 },
  { flags: '--tools read', budget: 2.5 },
];

/**
 * Measures in one interleaved run, prints the table, and returns its rows and verdicts. `nodes` are the versions, the first
 * being the one the budgets are for; `peers` is where the official CLI is installed, if it is; what is left out is told to
 * `skip`.
 */
export async function benchStart({ rounds, seed, nodes, peers, skip }) {
  const place = openPlace('start');
  const servers = [await openServer('server.mjs')];
  try {
    const certificate = makeCertificate(place.directory);
    if (certificate === undefined) skip('TLS (no openssl to make a certificate with)');
    else servers.push(await openServer('server.mjs', [certificate.key, certificate.certificate]));
    if (!existsSync(executable)) skip('the standalone executable (not built: npm run build:binary)');
    const [plain, tls] = servers.map(({ port }, index) => `http${index === 0 ? '' : 's'}://127.0.0.1:${port}`);
    const subjects = [
      ...nodes.flatMap(subjectsOf),
      ...(certificate === undefined ? [] : tlsSubjects(certificate, tls)),
      ...(existsSync(executable)
        ? [{ work: 'standalone executable Hello', program: executable, args: ['Hello'] }]
        : []),
      ...(peers === undefined ? [] : [officialSubject(peers)]),
    ].map((subject) => ({ program: process.execPath, ...subject, wall: [], cpu: [], rss: [], sent: new Set() }));
    const random = mulberry(seed);
    for (let round = 0; round < rounds; round += 1) {
      const taking = subjects.filter((each) => round < (each.rounds ?? rounds));
      // The round that warms up keeps the order: `-c` needs the session of a run before it.
      const order = round === 0 ? taking : shuffled(taking, random);
      for (const subject of order) await measure(subject, round, { place, url: plain });
    }
    const rows = subjects.map((subject) => rowOf(subject, subjects));
    printTable(rows);
    return { rows, verdicts: verdictsOf(rows) };
  } finally {
    for (const server of servers) server.close();
    place.remove();
  }
}

function subjectsOf({ name, program }, index) {
  const base = index === 0 ? 'node -e 0' : `${name} -e 0`;
  const on = index === 0 ? '' : `, ${name}`;
  return [
    { work: base, args: ['-e', '0'], hasCpuBudget: index === 0 },
    { work: `gmn --version${on}`, args: [gmn, '--version'] },
    { work: `gmn --help${on}`, args: [gmn, '--help'] },
    { work: `${HELLO}${on}`, args: [gmn, 'Hello'], isAsking: true, hasCpuBudget: index === 0 },
    { work: `${HELLO}, first run${on}`, args: [gmn, 'Hello'], isFirst: true, isAsking: true },
    ...(index === 0 ? FLAGS.map(flagSubject) : []),
  ].map((subject) => ({ ...subject, program, base }));
}

function flagSubject({ flags, stdin }) {
  const words = stdin === undefined ? flags.split(' ') : [];
  const args = (file) => [gmn, ...words.map((word) => (word === '{file}' ? file : word)), 'Hello'];
  return { work: `${HELLO} ${flags}`, args, stdin, isAsking: true };
}

function tlsSubjects({ trust }, url) {
  const env = { ...trust, GOOGLE_GEMINI_BASE_URL: url };
  const base = 'ten lines of node:https';
  return [
    { work: base, args: [join(root, 'test/bench/tls-floor.cjs')], env, base: 'node -e 0' },
    { work: `${HELLO} over TLS`, args: [gmn, 'Hello'], env, base },
  ];
}

function officialSubject(peers) {
  return {
    work: 'official CLI Hello',
    args: [
      join(peers, 'node_modules/@google/gemini-cli/bundle/gemini.js'),
      ...['-m', 'gemini-2.5-flash', '--skip-trust', '-p', 'Hello'],
    ],
    rounds: 5,
    isAsking: true,
    // It starts a second process of its own; for its memory to be seen, the measured run must not.
    rusageEnv: { GEMINI_CLI_NO_RELAUNCH: '1' },
  };
}

/** The first round only warms up; so does the code cache. */
async function measure(subject, round, { place, url }) {
  const { program, stdin } = subject;
  const args = typeof subject.args === 'function' ? subject.args(place.textFile) : subject.args;
  const homeOf = (suffix) => (subject.isFirst ? { GMN_HOME: join(place.directory, `first-${round}${suffix}`) } : {});
  const run = { program, args, cwd: place.directory, stdin };
  const before = subject.isAsking ? await calls(url) : 0;
  const { ms } = await ran({ ...run, env: place.env(url, { ...subject.env, ...homeOf('') }) });
  if (subject.isAsking) subject.sent.add((await calls(url)) - before);
  if (round > 0) subject.wall.push(ms);
  // CPU and memory in a run of their own: the hook that reads them must not weigh on the wall time. Where no budget is
  // about them, every third round will do.
  if ((round % 3 !== 1 && !subject.hasCpuBudget) || round === 0 || program === executable) return;
  const env = place.env(url, { ...subject.env, ...subject.rusageEnv, ...homeOf('-usage') });
  const { cpuMs, rssMb } = await ranWithUsage({ ...run, env });
  subject.cpu.push(cpuMs);
  subject.rss.push(rssMb);
}

async function calls(url) {
  return Number(await (await fetch(`${url}/calls`)).text());
}

function rowOf(subject, subjects) {
  const base = subjects.find(({ work }) => work === (subject.base ?? 'node -e 0'));
  const hasUsage = subject.cpu.length > 0;
  return {
    work: subject.work,
    'wall ms (median)': median(subject.wall),
    'wall ms (min)': Math.min(...subject.wall),
    beside: subject === base ? '' : base.work,
    'x (median)': median(subject.wall) / median(base.wall),
    'x (min)': Math.min(...subject.wall) / Math.min(...base.wall),
    'cpu ms': hasUsage ? median(subject.cpu) : '',
    'cpu x': hasUsage ? median(subject.cpu) / median(base.cpu) : '',
    'rss MB': hasUsage ? median(subject.rss) : '',
    requests: [...subject.sent].join(','),
  };
}

function verdictsOf(rows) {
  const row = (work) => rows.find((each) => each.work === work);
  const one = row(HELLO);
  const atMost = (work, measured, budget, unit = 'x node') => verdict({ work, measured, budget, unit });
  const tls = row(`${HELLO} over TLS`);
  const binary = row('standalone executable Hello');
  const official = row('official CLI Hello');
  const atLeast = (work, measured, budget) => verdict({ work, measured, budget, unit: 'x', atLeast: true });
  return [
    atMost('one-shot, wall', one['x (median)'], 1.9),
    atMost('one-shot, CPU', one['cpu x'], 1.9),
    atMost('one-shot, peak memory', one['rss MB'], MAX_RSS_MB, 'MB'),
    ...FLAGS.map(({ flags, budget }) =>
      atMost(`one-shot with ${flags}`, row(`${HELLO} ${flags}`)['x (median)'], budget),
    ),
    atMost('one-shot, requests on the wire', Number(one.requests) || Number.NaN, 1, 'requests'),
    ...(tls ? [atMost('one-shot over TLS', tls['x (median)'], 1.35, 'x ten lines of node:https')] : []),
    atMost('--version', row('gmn --version')['x (median)'], 1.15),
    atMost('--help', row('gmn --help')['x (median)'], 1.5),
    ...(binary ? [atMost('standalone executable, one-shot', binary['x (median)'], 0.75)] : []),
    ...(official
      ? [
          atLeast('official CLI: wall time beside ours', official['wall ms (median)'] / one['wall ms (median)'], 35),
          atLeast('official CLI: memory beside ours', official['rss MB'] / one['rss MB'], 4),
        ]
      : []),
  ];
}
