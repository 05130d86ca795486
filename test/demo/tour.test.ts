import { expect, test } from 'vitest';
import { runTour, TOUR_FILES } from '../../src/demo/tour.ts';
import type { SelfRun } from '../../src/platform/process/self.ts';

test('the tour shows each command and what it really printed', async () => {
  let printed = '';
  let asked = 0;
  let closed = 0;
  const runs: SelfRun[] = [];
  await runTour({
    directory: 'dir',
    env: { GMN_HOME: 'home' },
    print: async (text) => {
      printed += text;
    },
    ask: async () => {
      asked += 1;
    },
    runGmn: async (run) => {
      runs.push(run);
      const isFault = run.env.GOOGLE_GEMINI_BASE_URL !== undefined;
      return {
        stdout: isFault ? '' : `out ${runs.length}\n`,
        stderr: isFault ? 'err\n' : '',
        exitCode: isFault ? 3 : 0,
      };
    },
    serve: async (fault) => ({
      url: `http://127.0.0.1:1/${fault}`,
      close: async () => {
        closed += 1;
      },
    }),
  });
  expect(runs).toHaveLength(9);
  expect([asked, closed]).toEqual([9, 1]);
  expect(runs[0]).toEqual({ args: ['--demo', 'Hello'], cwd: 'dir', env: { GMN_HOME: 'home' } });
  expect(runs.find((run) => run.input !== undefined)?.input).toBe(TOUR_FILES['change.diff']);
  expect(printed).toContain('\n1/9  Ask, and the answer streams to stdout.\n$ gmn --demo Hello\nout 1\n');
  expect(printed).toContain('$ cat change.diff | gmn --demo -f STYLE.md -u "review this change"\nout 4\n');
  expect(printed).toContain(
    '$ gmn demo serve --fault 429-daily &\nhttp://127.0.0.1:1/429-daily\n' +
      '$ GEMINI_API_KEY=demo GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1/429-daily gmn hi\nerr\n=> exit 3\n',
  );
  expect(printed).toMatch(/\nNext steps\n(.+\n)+$/);
});
