// The budgets of saved sessions: `node test/bench/session.mjs [--rounds=n]`. Read the ratios.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { loadSources } from './sources.mjs';
import { sessionVerdicts } from './verdicts.mjs';

const LONG_BYTES = 100_000_000;
const SESSIONS = 10_000;

/** The rows for the table of `npm run bench`: each is timed in turns with what it is measured against. */
export async function sessionRows({ rounds = 5 } = {}) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-bench-session-')));
  try {
    const { sessionStore } = await loadSources(home, { 'src/session/store.ts': ['sessionStore'] });
    const clock = { now: () => Date.now(), sleep: async () => {} };
    const open = (name) =>
      sessionStore({ home: join(home, name), clock, version: 'bench', report: (message) => console.error(message) });
    return [
      ...(await appendRows(open('append'), rounds)),
      await resumeRow(open('resume'), rounds),
      await listRow(open('list'), join(home, 'list'), rounds),
    ];
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Those rows, shown, and their verdicts. */
export async function benchSession({ rounds }) {
  const rows = await sessionRows({ rounds });
  console.table(rows);
  return { rows, verdicts: sessionVerdicts(rows) };
}

const textContent = (role, text) => ({ role, parts: [{ text }] });

/** One exchange of a session, saved. */
export async function turn(session, text) {
  await session.append({ kind: 'prompt', content: textContent('user', text) });
  await session.append({
    kind: 'reply',
    content: textContent('model', text),
    usage: {},
    model: 'm',
    finishReason: 'STOP',
  });
}

async function timed(work) {
  const start = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - start) / 1e6;
}

function median(list) {
  return list.toSorted((left, right) => left - right)[list.length >> 1];
}

/** A session of 10,000 turns against one of 10, turn by turn. */
async function appendRows(store, rounds) {
  const short = await store.create({ cwd: '/', by: 'chat' });
  const long = await store.create({ cwd: '/', by: 'chat' });
  const text = 'x'.repeat(1000);
  for (let count = 0; count < 10; count += 1) await turn(short, text);
  await turn(long, text);
  await long.close();
  const summary = await store.find(long.id);
  const [header, ...lines] = readFileSync(summary.file, 'utf8').trimEnd().split('\n');
  writeFileSync(summary.file, `${header}\n${`${lines.join('\n')}\n`.repeat(10_000)}`);
  const resumed = await store.resume(summary, '/');
  const times = { short: [], long: [] };
  for (let round = 0; round < rounds * 20; round += 1) {
    times.short.push(await timed(() => turn(short, text)));
    times.long.push(await timed(() => turn(resumed, text)));
  }
  await short.close();
  await resumed.close();
  return [row('turn 10,000 of a session, against turn 10', median(times.long), median(times.short), 1.5)];
}

/** Resuming 100 MB against JSON.parse of the same lines, read beforehand. */
async function resumeRow(store, rounds) {
  const session = await store.create({ cwd: '/', by: 'chat' });
  await turn(session, 'lorem ipsum dolor '.repeat(200));
  await session.close();
  const summary = await store.find(session.id);
  const [header, ...lines] = readFileSync(summary.file, 'utf8').trimEnd().split('\n');
  const pair = `${lines.join('\n')}\n`;
  writeFileSync(summary.file, `${header}\n${pair.repeat(Math.ceil(LONG_BYTES / pair.length))}`);
  const times = { resume: [], parse: [] };
  for (let round = 0; round < rounds; round += 1) {
    times.resume.push(
      await timed(async () => {
        const resumed = await store.resume(summary, '/');
        await resumed.close();
      }),
    );
    times.parse.push(
      await timed(() => {
        const kept = [];
        for (const line of readFileSync(summary.file, 'utf8').split('\n')) if (line !== '') kept.push(JSON.parse(line));
        return kept.length;
      }),
    );
  }
  return row('resume of 100 MB, against JSON.parse of its lines', median(times.resume), median(times.parse), 1.5);
}

async function listRow(store, home, rounds) {
  const session = await store.create({ cwd: '/', by: 'chat' });
  await turn(session, 'hello');
  await session.close();
  const { file, id } = await store.find(session.id);
  const template = readFileSync(file, 'utf8');
  mkdirSync(join(home, 'sessions'), { recursive: true });
  for (let index = 1; index < SESSIONS; index += 1) {
    const other = `${String(index).padStart(8, '0')}-1111-4111-8111-111111111111`;
    writeFileSync(join(home, 'sessions', `20260101T000000Z-${other}.jsonl`), template.replace(id, other));
  }
  const times = [];
  for (let round = 0; round < rounds; round += 1) times.push(await timed(() => store.list()));
  return {
    work: 'list of 10,000 sessions',
    'ms (median)': Number(median(times).toFixed(1)),
    ratio: '',
    budget: '1000 ms',
  };
}

function row(work, ms, against, budget) {
  return {
    work,
    'ms (median)': Number(ms.toFixed(2)),
    'against ms': Number(against.toFixed(2)),
    ratio: Number((ms / against).toFixed(2)),
    budget,
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const rounds = Number(/^--rounds=(\d+)$/.exec(process.argv[2] ?? '')?.[1] ?? 5);
  const { verdicts } = await benchSession({ rounds });
  process.exitCode = verdicts.every(({ isMet }) => isMet) ? 0 : 1;
}
