// How the cost of a thing grows with its size, over three orders of magnitude: sessions, tool lists, servers, jobs, Markdown.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/project.mjs';
import { gmn, openPlace, ran } from './processes.mjs';
import { turn } from './session.mjs';
import { loadSources } from './sources.mjs';
import { median, printTable } from './statistics.mjs';
import { verdict } from './verdicts.mjs';

/** Ten times the size may take so many times as long: linear, and some room for caches that are outgrown. */
const LINEAR = 15;
const COLUMNS = 80;

/**
 * Measures each curve, prints the table, and returns its rows and verdicts. A curve goes over four sizes, each ten times the
 * one before; `isQuick` leaves out the largest.
 */
export async function benchGrowth({ rounds, isQuick }) {
  const place = openPlace('growth');
  try {
    const sources = await loadSources(place.directory, {
      'src/session/store.ts': ['sessionStore'],
      'src/jobs/store.ts': ['createJobStore'],
      'src/platform/files/records.ts': ['recordDirectory'],
      'src/render/markdown/stream.ts': ['markdownStream'],
    });
    const rows = [];
    for (const { work, unit, sizes, repeats = 1, isOutside, prepare } of curves(sources, place)) {
      for (const size of isQuick ? sizes.slice(0, -1) : sizes) {
        const run = await prepare(size);
        const times = [];
        for (let round = 0; round < rounds * repeats; round += 1) times.push(await timed(run));
        await run.close?.();
        rows.push({ work, unit, size, ...summaryOf(times, isOutside) });
      }
    }
    printTable(rows);
    return { rows, verdicts: growthVerdicts(rows) };
  } finally {
    place.remove();
  }
}

function growthVerdicts(rows) {
  return [...new Set(rows.map(({ work }) => work))].map((work) => {
    const [before, last] = rows.filter((row) => row.work === work).slice(-2);
    // The CPU time is the steadier one; of other processes it is not known here.
    const key = last['cpu ms (min)'] === '' ? 'ms (min)' : 'cpu ms (min)';
    const measured = last[key] / before[key];
    const tenfold = `${before.size.toLocaleString('en')} to ${last.size.toLocaleString('en')} ${last.unit}`;
    return verdict({ work: `${work}: ${tenfold}`, measured, budget: LINEAR, unit: 'x the time' });
  });
}

function curves({ sessionStore, createJobStore, recordDirectory, markdownStream }, place) {
  const clock = { now: () => Date.now(), sleep: async () => {} };
  const home = (name) => join(place.directory, name);
  const storeIn = (name) => sessionStore({ home: home(name), clock, version: 'bench', report: console.error });
  return [
    {
      work: 'list sessions',
      unit: 'sessions',
      sizes: decades(10),
      prepare: (size) => manySessions(storeIn, home, size),
    },
    { work: 'resume', unit: 'kB', sizes: decades(100), prepare: (size) => longSession(storeIn, size, 'resume') },
    {
      work: 'add a turn',
      unit: 'kB',
      sizes: decades(100),
      // It takes no longer than the noise.
      repeats: 20,
      prepare: (size) => longSession(storeIn, size, 'turn'),
    },
    {
      work: 'list jobs',
      unit: 'jobs',
      sizes: decades(1),
      prepare: (size) => manyJobs(createJobStore(recordDirectory(home(`jobs-${size}`)), clock), size),
    },
    {
      work: 'tools of a server',
      unit: 'tools',
      sizes: decades(1),
      isOutside: true,
      prepare: (size) => toolList(place, [size]),
    },
    {
      work: 'MCP servers',
      unit: 'servers',
      sizes: [1, 10, 100],
      isOutside: true,
      prepare: (size) =>
        toolList(
          place,
          Array.from({ length: size }, () => 3),
        ),
    },
    { work: 'lay out Markdown', unit: 'kB', sizes: decades(1), prepare: (size) => markdown(markdownStream, size) },
  ];
}

function decades(first) {
  return [first, first * 10, first * 100, first * 1000];
}

async function timed(run) {
  const began = performance.now();
  const used = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(used);
  return { ms: performance.now() - began, cpuMs: (user + system) / 1000 };
}

function summaryOf(times, isOutside) {
  const ms = times.map((each) => each.ms);
  return {
    'ms (median)': median(ms),
    'ms (min)': Math.min(...ms),
    'cpu ms (min)': isOutside ? '' : Math.min(...times.map(({ cpuMs }) => cpuMs)),
  };
}

/** A session with one exchange, and its file. */
async function oneSession(store) {
  const session = await store.create({ cwd: '/', by: 'chat' });
  await turn(session, 'lorem ipsum dolor '.repeat(25));
  await session.close();
  return store.find(session.id);
}

async function manySessions(storeIn, home, size) {
  const name = `list-${size}`;
  const store = storeIn(name);
  const { file, id } = await oneSession(store);
  const text = readFileSync(file, 'utf8');
  for (let index = 1; index < size; index += 1) {
    const other = `${String(index).padStart(8, '0')}-1111-4111-8111-111111111111`;
    writeFileSync(join(home(name), 'sessions', `20260101T000000Z-${other}.jsonl`), text.replace(id, other));
  }
  return async () => {
    const { length } = await store.list();
    if (length !== size) throw new Error(`${length} of ${size} sessions were listed`);
  };
}

async function longSession(storeIn, size, what) {
  const store = storeIn(`${what}-${size}`);
  const summary = await oneSession(store);
  const [header, ...lines] = readFileSync(summary.file, 'utf8').trimEnd().split('\n');
  const exchange = `${lines.join('\n')}\n`;
  writeFileSync(summary.file, `${header}\n${exchange.repeat(Math.ceil((size * 1000) / exchange.length))}`);
  if (what === 'resume') return async () => (await store.resume(summary, '/')).close();
  const session = await store.resume(summary, '/');
  return Object.assign(() => turn(session, 'Hello'), { close: session.close });
}

async function manyJobs(store, size) {
  for (let index = 0; index < size; index += 1) {
    const job_id = `${String(index).padStart(8, '0')}-1111-4111-8111-111111111111`;
    const created_at = new Date(index).toISOString();
    await store.save({ job_id, status: 'completed', created_at, prompt_sha256: '0'.repeat(64), timeout_ms: 120_000 });
  }
  return async () => {
    const { length } = await store.list();
    if (length !== size) throw new Error(`${length} of ${size} jobs were listed`);
  };
}

/** The real command, with one server for each number of tools. */
async function toolList(place, counts) {
  const directory = join(place.directory, `tools-${counts.length}-${counts[0]}`);
  const args = (count) => [join(root, 'test/bench/tools-server.mjs'), String(count)];
  const servers = counts.map((count, index) => [`server${index}`, { command: process.execPath, args: args(count) }]);
  mkdirSync(join(directory, '.gemini'), { recursive: true });
  writeFileSync(
    join(directory, '.gemini', 'settings.json'),
    JSON.stringify({ mcpServers: Object.fromEntries(servers) }),
  );
  const env = place.env('http://127.0.0.1:9', { HOME: directory, USERPROFILE: directory });
  const run = { args: [gmn, 'mcp', 'tools', '--json'], cwd: directory, env };
  return () => ran(run);
}

/** An answer of all that Markdown has, in the small deltas a model sends. */
async function markdown(markdownStream, size) {
  const sample = readFileSync(join(root, 'README.md'), 'utf8');
  const text = sample.repeat(Math.ceil((size * 1000) / sample.length)).slice(0, size * 1000);
  return async () => {
    const stream = markdownStream({ columns: () => COLUMNS, isStyled: true });
    for (let at = 0; at < text.length; at += 40) await stream.push(text.slice(at, at + 40));
    await stream.end();
  };
}
