import { spawn } from 'node:child_process';
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fakeGemini, reply } from '../support/gemini.ts';
import { gmnCommand, place } from '../support/gmn.ts';

/** Ten thousand with `npm run test:faults`, enough to see a descriptor leak in every test run. */
const TURNS = Number(process.env.GMN_TURNS ?? 150);
const report = process.env.GMN_TORTURE_REPORT;
/** After so many turns another conversation begins: what is said so far is sent each time, and is no leak. */
const CONVERSATION = 100;
/** Until then the heap finds its size. */
const WARM = TURNS / 5;

interface Sample {
  readonly turn: number;
  readonly rssMb: number;
  readonly descriptors: number;
}

test.runIf(process.platform === 'linux')(
  `a chat of ${TURNS} turns needs no more memory and no more descriptors as it goes on`,
  { timeout: 3 * 3_600_000 },
  async (t) => {
    const { cwd, env } = place(t, { gemini: await fakeGemini(t, reply('ok')) });
    const child = spawn(...gmnCommand(['chat']), { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
    t.onTestFinished(() => void child.kill('SIGKILL'));
    const samples: Sample[] = [];
    let turn = 0;
    child.stdin.write('turn 0\n');
    for await (const text of child.stdout.setEncoding('utf8')) {
      for (const line of String(text).match(/\n/g) ?? []) {
        expect(line).toBe('\n');
        turn += 1;
        if (turn >= WARM && turn % Math.ceil(TURNS / 100) === 0) samples.push(sample(turn, child.pid ?? 0));
        if (turn === TURNS) child.stdin.end();
        else child.stdin.write(turn % CONVERSATION === 0 ? `/new\nturn ${turn}\n` : `turn ${turn}\n`);
      }
    }
    expect(turn).toBe(TURNS);
    const slope = slopeOf(samples) * 1000;
    if (report !== undefined) {
      appendFileSync(report, `${JSON.stringify({ endurance: { turns: TURNS, mbPerThousand: slope, samples } })}\n`);
    }
    expect(new Set(samples.map(({ descriptors }) => descriptors)).size).toBeLessThanOrEqual(2);
    // Of a short chat the figure would be noise.
    if (TURNS >= 5000) expect(slope).toBeLessThan(1);
  },
);

function sample(turn: number, pid: number): Sample {
  const [, kb = ''] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return { turn, rssMb: Number(kb) / 1024, descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

/** Megabytes a turn, by least squares. */
function slopeOf(samples: readonly Sample[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const turns = mean(samples.map(({ turn }) => turn));
  const size = mean(samples.map(({ rssMb }) => rssMb));
  const rise = mean(samples.map(({ turn, rssMb }) => (turn - turns) * (rssMb - size)));
  return rise / mean(samples.map(({ turn }) => (turn - turns) ** 2));
}
