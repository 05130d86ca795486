import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createLocks } from '../../../../src/core/async.ts';
import { createJobStore } from '../../../../src/jobs/store.ts';
import type { JobWork } from '../../../../src/mcp/server/jobs/runner.ts';
import { createJobs, type Jobs } from '../../../../src/mcp/server/jobs/table.ts';
import { type RecordFile, recordDirectory } from '../../../../src/platform/files/records.ts';
import { systemClock } from '../../../../src/platform/runtime/clock.ts';
import { randomId } from '../../../../src/platform/runtime/random-id.ts';

/** `heard` lists what was written: states and output. Nothing is written before `disk` is ready. */
function heardJobs(disk: Promise<void> = Promise.resolve()): {
  readonly jobs: Jobs;
  readonly heard: readonly string[];
} {
  const path = mkdtempSync(join(tmpdir(), 'gmn-jobs-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const files = recordDirectory(path);
  const heard: string[] = [];
  const hear = (name: string, text: string): void =>
    void heard.push(name.endsWith('.txt') ? text : JSON.parse(text).status);
  const append = async (name: string, text: string): Promise<void> => {
    await files.append(name, text);
    hear(name, text);
  };
  const open = async (name: string): Promise<RecordFile> => {
    await disk;
    const file = await files.open(name);
    return {
      ...file,
      append(text) {
        file.append(text);
        hear(name, text);
      },
    };
  };
  const jobs = createJobs({
    store: createJobStore({ ...files, append, open }, systemClock),
    clock: systemClock,
    newId: randomId,
    isInside: () => true,
    locks: createLocks(),
    maxRunning: 2,
    maxQueued: 2,
  });
  return { jobs, heard };
}

function work(run: JobWork['run']): JobWork {
  return { promptSha256: 'x', workingDirectory: '/work', timeoutMs: 60_000, isAwaited: false, run };
}

test('a job is completed on disk only after all of its output, however soon it ends', async () => {
  const { jobs, heard } = heardJobs();
  const job = jobs.submit(
    work(async ({ onText }) => {
      onText('said');
      return {};
    }),
  );
  await job.ended;
  expect(heard).toEqual(['running', 'said', 'completed']);
});

test.each<[string, (jobs: Jobs, id: string) => Promise<unknown>]>([
  ['looks', (jobs, id) => jobs.find(id)],
  ['waits', (jobs, id) => jobs.wait(id, 1000, new AbortController().signal)],
  ['cancels', (jobs, id) => jobs.cancel(id)],
  ['lists', (jobs) => jobs.list()],
])('a caller who %s learns that a job is over once that is on disk', async (_, ask) => {
  let release = (): void => {};
  const disk = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { jobs, heard } = heardJobs(disk);
  let isOver = false;
  const job = jobs.submit(
    work(async () => {
      isOver = true;
      return {};
    }),
  );
  while (!isOver) await setImmediate();
  // The job has ended by now; its writes come later.
  await setImmediate();
  const asked = ask(jobs, job.id);
  release();
  await asked;
  expect(heard).toEqual(['running', 'completed']);
});
