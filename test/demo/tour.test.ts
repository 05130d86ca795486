import { expect, test } from 'vitest';
import { runTour, TOUR_FILES, type TourChoice } from '../../src/demo/tour.ts';
import type { SelfRun } from '../../src/platform/process/self.ts';

async function tour(choices?: readonly TourChoice[], offered: boolean[] = []) {
  let printed = '';
  let asked = 0;
  const runs: SelfRun[] = [];
  await runTour({
    directory: 'dir',
    env: { GMN_HOME: 'home' },
    print: async (text) => {
      printed += text;
    },
    ask:
      choices &&
      (async (canTry) => {
        offered.push(canTry);
        return choices[asked++] ?? 'quit';
      }),
    runGmn: async (run) => {
      runs.push(run);
      return { stdout: `out ${runs.length}\n`, stderr: '', exitCode: run.args.includes('x.md') ? 1 : 0 };
    },
  });
  return { printed, runs, asked };
}

test('without anybody there the tour runs every command, and shows what it really printed', async () => {
  const { printed, runs } = await tour();
  expect(runs).toHaveLength(10);
  expect(runs[0]).toEqual({ args: ['--demo', 'what can gmn do?'], cwd: 'dir', env: { GMN_HOME: 'home' } });
  expect(runs[1]?.input).toBe(TOUR_FILES['change.diff']);
  expect(printed).toContain('\n$ gmn --demo "what can gmn do?"\nout 1\n');
  expect(printed).toContain('\n$ cat change.diff | gmn --demo --template review -f STYLE.md -u\nout 2\n');
  expect(printed).toContain(`--output-schema '{"type":"array","items":{"type":"string"}}' "3 colors"\nout 4\n`);
  expect(printed).toContain('--approval-mode auto_edit');
  expect(printed).toMatch(/out 10\n=> exit 1\n\nNext steps\n(.+\n)+$/);
});

test('Enter alone runs the same commands on a terminal as in a pipe, through to the end', async () => {
  const alone = await tour();
  const { printed, runs, asked } = await tour(Array<TourChoice>(8).fill('run'));
  expect(asked).toBe(8);
  expect(runs).toEqual(alone.runs);
  expect(printed).toContain('\nNext steps\n');
});

test('t tries the edit and the chat with keys of one’s own; other steps do not offer it', async () => {
  const offered: boolean[] = [];
  const { printed, runs } = await tour(['run', 'skip', 'skip', 'skip', 'try', 'run', 'try', 'quit'], offered);
  expect(offered).toEqual([false, false, false, false, true, false, true, false]);
  expect(runs.map(({ args, input }) => [args, input])).toEqual([
    [['--demo', 'what can gmn do?'], undefined],
    [['--demo', '--tools', 'edit', 'fix the loop in sum.js'], undefined],
    [['undo'], undefined],
    [['chat', '--demo'], undefined],
  ]);
  expect(printed).toContain('\n5/8  With tools');
  expect(printed).toContain('y accepts the edit');
  expect(printed).toContain('\nNext steps\n');
});

test('where the edit is skipped there is nothing to undo, and the step is left out', async () => {
  const { printed, asked } = await tour(['skip', 'skip', 'skip', 'skip', 'skip', 'skip', 'quit']);
  expect(asked).toBe(7);
  expect(printed).not.toContain('gmn undo');
  expect(printed).toContain('\n8/8  A mistake');
});
