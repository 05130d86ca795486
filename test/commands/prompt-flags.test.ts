import { describe, expect, test } from 'vitest';
import { parseCommandLine } from '../../src/cli/parse.ts';
import { ROOT } from '../../src/cli/table/root.ts';
import { checkPromptFlags, type PromptOptions } from '../../src/commands/prompt/options.ts';
import type { App } from '../../src/core/app.ts';
import type { Flag } from '../../src/core/flag.ts';

/** A value that is more than the default. */
function exampleOf({ kind, choices = [], harmless = ['auto', 'default'] }: Flag): string {
  return choices.find((choice) => !harmless.includes(choice)) ?? (kind === undefined ? 'x' : '1');
}

/** As it is typed, and what keeps other rules out of the way. */
function typed(flag: Flag): readonly string[] {
  const other = flag.long === 'fork' ? ['-c'] : [];
  return [...other, `--${flag.long}`, ...(flag.value === undefined ? [] : [exampleOf(flag)])];
}

/** What makes a run one of those, and what the flag needs there. */
function lineOf(line: string, { needs = [] }: Flag): readonly string[] {
  const tools = needs.includes('tools') ? ['--tools', 'read'] : [];
  const flag = ROOT.flags.find(({ long }: Flag) => line === `--${long}`);
  const value = flag?.value === undefined ? [] : [line === '--output-schema' ? '{}' : exampleOf(flag)];
  return [...line.split(' '), ...value, ...tools];
}

function check(argv: readonly string[], env: Record<string, string> = {}): readonly string[] {
  const invocation = parseCommandLine(ROOT, [...argv, 'hi'], env);
  if (invocation.kind !== 'run') throw new Error(`not a run: ${invocation.kind}`);
  const { options, typedFlags } = invocation;
  return checkPromptFlags(options as unknown as PromptOptions, { typedFlags } as unknown as App);
}

const ROWS = ROOT.flags.flatMap((flag: Flag) => [
  ...(flag.conflicts ?? [])
    .filter((line) => line !== '--prompt-interactive' && line !== '--no-mcp')
    .map((line) => ({ flag, line: lineOf(line, flag), when: `with ${line}`, isNotice: false })),
  ...(flag.hasNoEffectWith ?? []).map((line) => ({
    ...{ flag, line: lineOf(line, flag), when: `with ${line}` },
    isNotice: flag.isOfficial ?? false,
  })),
  ...(flag.needs ?? [])
    .slice(0, 1)
    .map((need) => ({ flag, line: [], when: `without ${need}`, isNotice: flag.isOfficial ?? false })),
]);

test('the flags of a prompt say where they have no effect', () => {
  expect(ROWS.length).toBeGreaterThan(60);
});

describe('a flag without effect in a run', () => {
  test.for(ROWS.filter(({ isNotice }) => isNotice))('--$flag.long $when is told', ({ flag, line, when }) => {
    expect(check([...line, ...typed(flag)])).toEqual([`--${flag.long} has no effect ${when}`]);
  });

  test.for(ROWS.filter(({ isNotice }) => !isNotice))('--$flag.long $when is refused', ({ flag, line, when }) => {
    const words = when.startsWith('without') ? 'means nothing' : 'cannot be combined';
    const name = flag.long === 'render' ? '--render always' : `--${flag.long}`;
    const message = `${name} ${words} ${when}`;
    expect(() => check([...line, ...typed(flag)])).toThrow(expect.objectContaining({ exitCode: 1, message }));
  });

  test('is no matter where a variable set it, and not the command line', () => {
    expect(check(['-o', 'json'], { GMN_RENDER: 'always' })).toEqual([]);
    expect(check(['-o', 'json'], { GMN_PICTURES: 'kitty' })).toEqual([]);
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
