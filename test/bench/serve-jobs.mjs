// What `delegate_jobs` costs when there are 10, 100, 1,000 and 10,000 jobs on disk.
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { timed } from './mcp-line.mjs';
import { median } from './statistics.mjs';

const SIZES = [10, 100, 1000, 10_000];
/** Ten times the jobs may take so many times as long. */
const LINEAR = 15;
const STARTS = 3;

/** Two rows for each number of jobs: the first list of a server, and the later ones. `open` starts one with this home. */
export async function jobRows(scratch, rounds, open) {
  const firsts = [];
  const laters = [];
  for (const jobs of SIZES) {
    const home = join(scratch, `jobs-${jobs}`);
    plant(join(home, '.gmn', 'jobs'), jobs, join(scratch, 'work'));
    const [first, later] = await measure(() => open(home), jobs, rounds);
    firsts.push(rowOf(`delegate_jobs, ${jobs} jobs, first list`, first, firsts));
    laters.push(rowOf(`delegate_jobs, ${jobs} jobs, later lists`, later, laters));
  }
  return [...firsts, ...laters].map(({ least: _, ...row }) => row);
}

async function measure(open, jobs, rounds) {
  const first = [];
  const later = [];
  for (let start = 0; start < STARTS; start += 1) {
    const server = open();
    await server.ask('initialize', {});
    // The first call of all loads what every call needs.
    await server.call('get_help', {});
    const list = async () => {
      const { structuredContent } = await server.call('delegate_jobs', { limit: 20 });
      if (structuredContent.total !== jobs) throw new Error(`${structuredContent.total} of ${jobs} jobs were listed`);
    };
    first.push(await timed(list));
    for (let round = 0; round < rounds; round += 1) later.push(await timed(list));
    await server.close();
  }
  return [first, later];
}

function rowOf(work, ms, before) {
  const least = Math.min(...ms);
  const ratio = before.length === 0 ? undefined : least / before.at(-1).least;
  return {
    work,
    ms: Math.round(median(ms) * 10) / 10,
    ...(ratio === undefined ? {} : { ratio: Math.round(ratio * 100) / 100, budget: LINEAR }),
    isMissed: (ratio ?? 0) > LINEAR,
    least,
  };
}

function plant(directory, count, working_directory) {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const now = Date.now();
  for (let index = 0; index < count; index += 1) {
    const job_id = randomUUID();
    const at = new Date(now - index * 1000).toISOString();
    const times = { created_at: at, started_at: at, completed_at: at, duration_ms: 0 };
    const record = {
      v: 1,
      job_id,
      status: 'completed',
      ...times,
      working_directory,
      prompt_sha256: 'x',
      timeout_ms: 1,
    };
    writeFileSync(join(directory, `${job_id}.jsonl`), `${JSON.stringify(record)}\n`, { mode: 0o600 });
  }
}
