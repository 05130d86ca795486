import { appendFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { posixTest } from '../support/posix.ts';
import { findGrowth } from './baseline.ts';
import { runTask } from './rig.ts';
import { type Task, WAYS, type Way } from './task.ts';
import { TASKS } from './tasks.ts';

/** Where `npm run test:tasks` reads what came of every run. With it, every task goes every way. */
const REPORT = process.env.GMN_TASKS_REPORT;
/** What it costs is about to become the baseline. */
const isUpdate = process.env.GMN_TASKS_UPDATE !== undefined;
/** In `npm test`; what differs between the ways is not in the tasks. */
const FEW: Readonly<Record<Way, readonly string[] | undefined>> = {
  'one-shot': undefined,
  chat: ['todo-list', 'verify-fails-then-passes'],
  delegate: ['fix-a-bug', 'resume'],
};

function isRun({ name, ways = WAYS }: Task, way: Way): boolean {
  return ways.includes(way) && (REPORT !== undefined || (FEW[way]?.includes(name) ?? true));
}

function tell(record: object): void {
  if (REPORT !== undefined) appendFileSync(REPORT, `${JSON.stringify(record)}\n`);
}

for (const way of WAYS) {
  describe(`as ${way}, in as many turns and bytes as before, each request beginning like the one before it`, () => {
    for (const task of TASKS.filter((each) => isRun(each, way))) {
      posixTest(task.name, async (t) => {
        try {
          const run = await runTask(t, task, way);
          expect(run.requests.filter(({ isPrefixKept }) => !isPrefixKept)).toEqual([]);
          expect(isUpdate ? [] : findGrowth(run), 'if it is meant: npm run test:tasks -- --update').toEqual([]);
          tell(run);
        } catch (thrown) {
          tell({ task: task.name, way, problem: thrown instanceof Error ? thrown.message : String(thrown) });
          throw thrown;
        }
      });
    }
  });
}
