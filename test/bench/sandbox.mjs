// What a sandbox adds to the start of a command: `npm run bench -- --only=sandbox`. The same command with and without, in turns, as a tool runs it.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSources } from './sources.mjs';
import { median, mulberry, printTable, shuffled } from './statistics.mjs';
import { plainVerdicts } from './verdicts.mjs';

const ENGINES = ['bwrap', 'unshare'];
/** For the first choice only: the second says in docs/sandbox.md that it is slower. */
const BUDGETS = { bwrap: 40 };
const NEVER = new AbortController().signal;

export async function benchSandbox({ rounds, seed, skip }) {
  const scratch = mkdtempSync(join(tmpdir(), 'gmn-bench-sandbox-'));
  try {
    const { runShell, openSandbox } = await loadSources(scratch, {
      'src/platform/process/shell.ts': ['runShell'],
      'src/engine/tools/sandbox/sandbox.ts': ['openSandbox'],
    });
    const work = join(scratch, 'work');
    // Something to protect, as every project has.
    mkdirSync(join(work, '.git'), { recursive: true });
    const env = { ...process.env, HOME: process.env.HOME ?? scratch };
    const homes = { gmn: join(scratch, '.gmn'), gemini: join(scratch, '.gemini') };
    const app = { env, cwd: work, homes: () => homes, onExit: () => () => {} };
    const subjects = [{ work: 'a command', confine: undefined, times: [] }];
    for (const engine of ENGINES) {
      try {
        const { confine } = await openSandbox(engine, {}, { app, roots: [work] });
        subjects.push({ work: `a command in ${engine}`, confine, budget: BUDGETS[engine], times: [] });
      } catch (thrown) {
        skip(`a sandbox (${thrown.message})`);
      }
    }
    const shell = { path: '/bin/sh', args: ['-c'], isVerbatim: false };
    const run = { shell, command: ':', cwd: work, env, timeoutMs: 60_000, maxChars: 1000 };
    const next = mulberry(seed);
    for (let round = 0; round < rounds; round += 1) {
      for (const { confine, times } of shuffled(subjects, next)) {
        const start = performance.now();
        await runShell({ ...run, confine }, NEVER);
        times.push(performance.now() - start);
      }
    }
    const [bare] = subjects;
    const rows = subjects.map(({ work: name, times, budget }) => ({
      ...{ work: name, 'ms (median)': median(times), added: median(times) - median(bare.times) },
      ...(budget === undefined ? {} : { budget }),
    }));
    printTable(rows);
    return { rows, verdicts: plainVerdicts(rows) };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
