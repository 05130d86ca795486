import type { Env } from '../core/io.ts';
import type { SelfResult, SelfRun } from '../platform/process/self.ts';
import { formatAssignment } from '../platform/runtime/system.ts';

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
  'sum.js': `export function sum(n) {
  let total = 0;
  while (n !== 0) {
    total += n--;
  }
  return total;
}
`,
};

interface TourCommand {
  readonly args: readonly string[];
  readonly before?: string;
  readonly input?: string;
}

interface Step {
  readonly title: string;
  readonly commands: readonly TourCommand[];
  readonly interactive?: { readonly command: TourCommand; readonly advice: string };
  /** Skipped unless the step before it was run: it would have nothing to show. */
  readonly isSequel?: true;
}

const SCHEMA = '{"type":"array","items":{"type":"string"}}';
const FIX = 'fix the loop in sum.js';
const TALK = ['best month for Kyoto?', 'and the second best?'];

const STEPS: readonly Step[] = [
  {
    title: 'Ask. A terminal gets laid-out Markdown, a pipe the exact text.',
    commands: [{ args: ['--demo', 'what can gmn do?'] }],
  },
  {
    title: 'Pipe a diff into a template that gmn comes with; -u shows the tokens.',
    commands: [
      {
        before: 'cat change.diff | ',
        args: ['--demo', '--template', 'review', '-f', 'STYLE.md', '-u'],
        input: TOUR_FILES['change.diff'] ?? '',
      },
    ],
  },
  {
    title: 'For scripts: one JSON object, or data of your own shape, nothing else.',
    commands: [
      { args: ['--demo', '-o', 'json', 'Hello'] },
      { args: ['--demo', '--output-schema', SCHEMA, '3 colors'] },
    ],
  },
  {
    title: 'Conversations are saved; -c continues the last one of this directory.',
    commands: [
      { args: ['--demo', '--session-name', 'trip', TALK[0] ?? ''] },
      { args: ['--demo', '-c', TALK[1] ?? ''] },
    ],
  },
  {
    title: 'With tools the model edits files. It shows the diff, and asks first.',
    commands: [{ args: ['--demo', '--tools', 'edit', '--approval-mode', 'auto_edit', FIX] }],
    interactive: {
      command: { args: ['--demo', '--tools', 'edit', FIX] },
      advice: 'It will ask you: y accepts the edit, n declines it.',
    },
  },
  { title: 'Whatever a run with tools changed can be put back.', commands: [{ args: ['undo'] }], isSequel: true },
  {
    title: 'A chat: the same with turns. In a pipe every line is one.',
    commands: [
      {
        before: `printf '${TALK.join('\\n')}\\n' | `,
        args: ['chat', '--demo'],
        input: `${TALK.join('\n')}\n`,
      },
    ],
    interactive: {
      command: { args: ['chat', '--demo'] },
      advice: `Try: ${TALK.join('  Then: ')}\n/help lists the commands, /q comes back here.`,
    },
  },
  {
    title: 'A mistake says what to do next, and the exit code tells the truth.',
    commands: [{ args: ['--demo', '-f', 'x.md', 'hi'] }],
  },
];

const NEXT = `Next steps
  gmn --demo "…"                 go ahead; nothing leaves this machine
  ${formatAssignment('GEMINI_API_KEY', '<key>').padEnd(30)} get one at https://aistudio.google.com/apikey
  gmn "why is the sky blue?"     ask the real model
  gmn demo serve                 the offline model for your own tests
  gmn -h                         the flags used most, and the commands
`;

/** `try`: the step's interactive command, which waits for keys of its own. */
export type TourChoice = 'run' | 'try' | 'skip' | 'quit';

interface Tour {
  readonly directory: string;
  readonly env: Env;
  readonly print: (text: string) => Promise<void>;
  /** What the person at the terminal wants to do with a step. Absent: nobody is there, and every step is run. */
  readonly ask?: (canTry: boolean) => Promise<TourChoice>;
  readonly runGmn: (run: SelfRun) => Promise<SelfResult>;
}

export async function runTour(tour: Tour): Promise<void> {
  await tour.print(`gmn in ${STEPS.length} steps, all of them real, none of them online.\n`);
  let choice: TourChoice = 'run';
  for (const [index, { title, commands, interactive, isSequel }] of STEPS.entries()) {
    if (isSequel && choice === 'skip') continue;
    await tour.print(`\n${index + 1}/${STEPS.length}  ${title}\n`);
    if (tour.ask !== undefined) await tour.print(commands.map(formatTourCommand).join(''));
    choice = (await tour.ask?.(interactive !== undefined)) ?? 'run';
    if (choice === 'quit') break;
    if (choice === 'try' && interactive !== undefined) {
      await tour.print(`${interactive.advice}\n${formatTourCommand(interactive.command)}`);
      await runCommand(interactive.command, tour);
    } else if (choice === 'run') for (const command of commands) await runCommand(command, tour);
  }
  await tour.print(`\n${NEXT}`);
}

async function runCommand(command: TourCommand, tour: Tour): Promise<void> {
  if (tour.ask === undefined) await tour.print(formatTourCommand(command));
  const { args, input } = command;
  const run = { args, cwd: tour.directory, env: tour.env, input };
  const { stdout, stderr, exitCode } = await tour.runGmn(run);
  await tour.print(stdout + stderr + (exitCode === 0 ? '' : `=> exit ${exitCode}\n`));
}

function formatTourCommand({ before = '', args }: TourCommand): string {
  return `$ ${before}gmn ${args.map(quoteForDisplay).join(' ')}\n`;
}

function quoteForDisplay(word: string): string {
  if (/^[\w./-]+$/.test(word)) return word;
  return word.includes('"') ? `'${word}'` : `"${word}"`;
}
