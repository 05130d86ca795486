import { describe, expect, test } from 'vitest';
import { parseCommandLine } from '../../src/cli/parse.ts';
import { ROOT } from '../../src/cli/table/root.ts';
import { toFlagName } from '../../src/commands/prompt/flag-names.ts';
import { checkFlags, IDLE_FLAGS, OFFICIAL_FLAGS } from '../../src/commands/prompt/idle-flags.ts';
import type { PromptOptions } from '../../src/commands/prompt/options.ts';

/** How each flag of the table is typed. */
const TYPED: Readonly<Record<string, readonly string[]>> = {
  allowedTools: ['--allowed-tools', 'glob'],
  approvalMode: ['--approval-mode', 'auto_edit'],
  copy: ['--copy'],
  dryRun: ['--dry-run'],
  extract: ['-x'],
  extractLast: ['--extract-last'],
  fork: ['-c', '--fork'],
  includeDirectories: ['--include-directories', '..'],
  maxOutputTokens: ['--max-output-tokens', '9'],
  maxTurns: ['--max-turns', '3'],
  maxCost: ['--max-cost', '1'],
  maxVerify: ['--max-verify', '2'],
  noAgentPrompt: ['--no-agent-prompt'],
  noStream: ['--no-stream'],
  option: ['-O', 'presencePenalty=0.5'],
  outputFile: ['--output-file', 'out.txt'],
  outputSchema: ['--output-schema', '{}'],
  pager: ['--pager'],
  pictures: ['--pictures', 'kitty'],
  rawOutput: ['--raw-output'],
  render: ['--render', 'always'],
  seed: ['--seed', '7'],
  serviceTier: ['--service-tier', 'flex'],
  sessionId: ['--session-id', '6a1f4d0e-2f5e-4f0e-9a51-0d4f2d3c7b11'],
  sessionName: ['--session-name', 'trip'],
  showThoughts: ['--show-thoughts'],
  stdin: ['--stdin'],
  stop: ['--stop', 'END'],
  store: ['--store'],
  temperature: ['--temperature', '0'],
  thinkingBudget: ['--thinking-budget', '512'],
  thinkingLevel: ['--thinking-level', 'low'],
  topK: ['--top-k', '3'],
  topP: ['--top-p', '0.5'],
  usage: ['-u'],
  verify: ['--verify', 'true'],
  yolo: ['-y'],
};

/** What makes a run one of those; `with …` is typed as it reads. */
function runOf(when: string, flag: string): readonly string[] {
  // What keeps the other rules out of the way.
  const needTools = ['maxTurns', 'yolo', 'allowedTools', 'verify', 'maxVerify'];
  const tools = needTools.includes(flag) ? ['--tools', 'read'] : [];
  if (when === 'without tools') return [];
  if (when === 'without --verify') return tools;
  if (when === 'with --approval-mode') return ['--approval-mode', 'plan', '--tools', 'read'];
  if (when === 'with --output-schema') return ['--output-schema', '{}'];
  if (when === 'with --output-dialect gemini') return ['--output-dialect', 'gemini', '-o', 'stream-json'];
  return [...when.slice('with '.length).split(' '), ...tools];
}

function check(argv: readonly string[], env: Record<string, string> = {}): readonly string[] {
  const invocation = parseCommandLine(ROOT, [...argv, 'hi'], env);
  if (invocation.kind !== 'run') throw new Error(`not a run: ${invocation.kind}`);
  return checkFlags(invocation.options as unknown as PromptOptions, env);
}

const ROWS = IDLE_FLAGS.flatMap(({ when, flags, isContradiction = false }) =>
  flags.map((flag) => ({ flag, when, isNotice: OFFICIAL_FLAGS.includes(flag) && !isContradiction })),
);

describe('a flag without effect in a run', () => {
  test.for(ROWS.filter(({ isNotice }) => isNotice))('$flag $when is told', ({ flag, when }) => {
    expect(check([...runOf(when, flag), ...(TYPED[flag] ?? [])])).toEqual([
      `${toFlagName(flag)} has no effect ${when}`,
    ]);
  });

  test.for(ROWS.filter(({ isNotice }) => !isNotice))('$flag $when is refused', ({ flag, when }) => {
    const words = when.startsWith('without') ? 'means nothing' : 'cannot be combined';
    const name = flag === 'render' ? '--render always' : toFlagName(flag);
    expect(() => check([...runOf(when, flag), ...(TYPED[flag] ?? [])])).toThrow(
      expect.objectContaining({ exitCode: 1, message: expect.stringMatching(`^${name} ${words} ${when}`) }),
    );
  });

  test('is no matter where a variable set it, unless another value was typed', () => {
    expect(check(['-o', 'json'], { GMN_RENDER: 'always' })).toEqual([]);
    expect(() => check(['-o', 'json', '--render', 'always'], { GMN_RENDER: 'auto' })).toThrow(/--render always/);
  });
});

test.for([
  [['-o', 'json', '--no-render', '--no-stream', '-q', '--screen-reader']],
  [['-o', 'json', '--render', 'never']],
  [['--dry-run', '--retries', '0', '--max-turns', '3', '--tools', 'read', '--yolo', '--session-name', 'trip']],
  [['--count-tokens', '--tools', 'read', '--approval-mode', 'plan', '-c', '--no-session']],
  [['--yolo', '--template', 'review']],
  [['--mcp-config', 'mcp.json', '--yolo', '--max-turns', '2', '--include-directories', '..']],
  [['--tools', 'read', '-o', 'stream-json', '--show-thoughts', '-x']],
] as const)('%j have their effect, or their promise is kept anyway', ([argv]) => {
  expect(check(argv)).toEqual([]);
});

test('several are reported at once', () => {
  expect(check(['--yolo', '--include-directories', '..', '-o', 'json', '--raw-output'])).toEqual([
    '--raw-output has no effect with -o json',
    '--yolo has no effect without tools',
    '--include-directories has no effect without tools',
  ]);
});
