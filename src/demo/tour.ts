import type { Env } from '../core/io.ts';
import type { SelfResult, SelfRun } from '../platform/process/self.ts';

export const TOUR_FILES: Readonly<Record<string, string>> = {
  'STYLE.md': '# Style\n\nUse `const`. Guard every loop.\n',
  'change.diff': [
    '--- a/src/sum.ts',
    '+++ b/src/sum.ts',
    '@@ -1,2 +1,6 @@',
    ' export function sum(n: number): number {',
    '+  let total = 0;',
    '+  while (n !== 0) {',
    '+    let next = n--;',
    '+    total += next;',
    '+  }',
    '+  return total;',
    ' }',
    '',
  ].join('\n'),
};

interface Step {
  readonly title: string;
  readonly before?: string;
  readonly args: readonly string[];
  readonly input?: string;
  /** Run without `--demo`, against a server with this fault. */
  readonly fault?: string;
}

const STEPS: readonly Step[] = [
  { title: 'Ask, and the answer streams to stdout.', args: ['--demo', 'Hello'] },
  { title: 'The same for a script: one JSON object.', args: ['--demo', 'Hello', '-o', 'json'] },
  { title: 'Or events as they come, one a line.', args: ['--demo', 'Hello', '-o', 'stream-json'] },
  {
    title: 'Review a diff from a pipe, with a style guide; -u shows what it cost.',
    before: 'cat change.diff | ',
    args: ['--demo', '-f', 'STYLE.md', '-u', 'review this change'],
    input: 'change.diff',
  },
  { title: 'stdout is the answer and nothing else, so it fits into any pipe.', args: ['--demo', 'count to 5'] },
  { title: 'What the demo model does not know, it repeats, in any language.', args: ['--demo', 'こんにちは 👋 元気?'] },
  { title: 'Mistakes say what to do next, and set the exit code.', args: ['--demo', '-f', 'x.md', 'hi'] },
  {
    title: 'Every fault of the real service can be tried offline. Here the daily quota is used up.',
    args: ['hi'],
    fault: '429-daily',
  },
  { title: 'Without an account, this is what you see; scripts get it as JSON.', args: ['hello', '-o', 'json'] },
];

const NEXT = `Next steps
  gmn --demo "…"                 go ahead; nothing leaves this machine
  export GEMINI_API_KEY=<key>    get one at https://aistudio.google.com/apikey
  gmn "why is the sky blue?"     ask the real model
  gmn demo serve                 the offline model for your own tests
  gmn --help                     everything else
`;

interface Tour {
  readonly directory: string;
  readonly env: Env;
  readonly print: (text: string) => Promise<void>;
  readonly ask: () => Promise<void>;
  readonly runGmn: (run: SelfRun) => Promise<SelfResult>;
  readonly serve: (fault: string) => Promise<{ readonly url: string; close(): Promise<void> }>;
}

/** Rejects if a command cannot be run at all. */
export async function runTour(tour: Tour): Promise<void> {
  await tour.print(`gmn in ${STEPS.length} steps, all of them real, none of them online.\n`);
  for (const [index, step] of STEPS.entries()) {
    await tour.print(`\n${index + 1}/${STEPS.length}  ${step.title}\n`);
    await showStep(step, tour);
    await tour.ask();
  }
  await tour.print(`\n${NEXT}`);
}

async function showStep(step: Step, tour: Tour): Promise<void> {
  const server = step.fault === undefined ? undefined : await tour.serve(step.fault);
  try {
    const extra: Env = server === undefined ? {} : { GEMINI_API_KEY: 'demo', GOOGLE_GEMINI_BASE_URL: server.url };
    if (server !== undefined) await tour.print(`$ gmn demo serve --fault ${step.fault} &\n${server.url}\n`);
    const settings = Object.entries(extra).map(([name, value]) => `${name}=${value} `);
    await tour.print(`$ ${settings.join('')}${step.before ?? ''}gmn ${step.args.map(quoteForDisplay).join(' ')}\n`);
    const input = step.input === undefined ? undefined : TOUR_FILES[step.input];
    const result = await tour.runGmn({
      args: step.args,
      cwd: tour.directory,
      env: { ...tour.env, ...extra },
      ...(input === undefined ? {} : { input }),
    });
    await tour.print(result.stdout + result.stderr + (result.exitCode === 0 ? '' : `=> exit ${result.exitCode}\n`));
  } finally {
    await server?.close();
  }
}

function quoteForDisplay(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `"${word}"`;
}
