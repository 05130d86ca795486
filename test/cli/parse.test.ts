import { describe, expect, test } from 'vitest';
import { readCommandLine } from '../../src/cli/command-line.ts';
import { ROOT } from '../../src/cli/commands.ts';
import { plainPrompt } from '../../src/cli/invocation.ts';
import { outlineOf } from '../../src/cli/outline.ts';
import { parseCommandLine } from '../../src/cli/parse.ts';
import { wantedOutput } from '../../src/cli/wanted-output.ts';
import { AppError } from '../../src/core/error.ts';

const OUTLINE = outlineOf(ROOT);

function parse(argv: readonly string[], env: Record<string, string> = {}) {
  return parseCommandLine(ROOT, argv, env);
}

function options(argv: readonly string[], env: Record<string, string> = {}) {
  const invocation = parse(argv, env);
  if (invocation.kind !== 'run') throw new Error(`not a run: ${invocation.kind}`);
  return { path: invocation.path, ...invocation.options };
}

function refusal(argv: readonly string[], env: Record<string, string> = {}): string {
  try {
    parse(argv, env);
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.fault === 'usage') return `${thrown.message} | ${thrown.hint}`;
    throw thrown;
  }
  throw new Error('it was accepted');
}

describe('a one-shot', () => {
  test.each([
    [['hello'], { args: ['hello'] }],
    [['why', 'is', 'the', 'sky', 'blue'], { args: ['why', 'is', 'the', 'sky', 'blue'] }],
    [['--', '-1+2=?'], { args: ['-1+2=?'] }],
    [['-p', '-1+2=?'], { prompt: '-1+2=?', args: [] }],
    [['-r', '-p', 'hello'], { resume: 'last', prompt: 'hello', args: [] }],
    [['-r', 'trip', 'hello'], { resume: 'trip', args: ['hello'] }],
    [['hello', '-r'], { resume: 'last', args: ['hello'] }],
    [['hello', '-m', 'pro'], { model: 'pro', args: ['hello'] }],
    [['-f', 'a', '-f', 'b', 'hello'], { file: ['a', 'b'], args: ['hello'] }],
    [['-o', 'json', '-t', '1m30s', 'hi'], { outputFormat: 'json', timeout: 90_000, args: ['hi'] }],
    [['--no-stdin', '--no-color', 'hi'], { noStdin: true, noColor: true, args: ['hi'] }],
    [['--temperature', '0', '--seed', '7', 'hi'], { temperature: 0, seed: 7, args: ['hi'] }],
    [['-m', 'demo', 'hi'], { model: 'demo', args: ['hi'] }],
    [['-qu', 'hi'], { quiet: true, usage: true, args: ['hi'] }],
    [
      ['--schema', '{}', '--system-prompt', 'x', '--ephemeral', 'hi'],
      { outputSchema: '{}', system: 'x', noSession: true, args: ['hi'] },
    ],
    [
      ['-a', 'x', '--attach=y', '-O', 'a=b', '--option', 'c=d', 'hi'],
      { attach: ['x', 'y'], option: ['a=b', 'c=d'], args: ['hi'] },
    ],
    [['--system', 'demo', 'what is help'], { system: 'demo', args: ['what is help'] }],
  ])('%j', (argv, expected) => {
    expect(options(argv)).toEqual({ path: 'gmn', ...expected });
  });

  test('takes defaults from the environment, and a flag wins over it', () => {
    const env = { GMN_MODEL: 'pro', GMN_TIMEOUT: '10s', GMN_DEMO: '1', GMN_DEBUG: '0' };
    expect(options(['-m', 'flash', 'hi'], env)).toMatchObject({
      model: 'flash',
      timeout: 10_000,
      demo: true,
      debug: false,
    });
  });
});

test.each([[['hello']], [['why', 'is', 'the', 'sky', 'blue']], [['what does demo mean', 'help']]])(
  '%j needs no parser, and means the same with and without it',
  async (argv) => {
    const env = { GMN_MODEL: 'pro' };
    expect(await readCommandLine(argv, env)).toEqual(parse(argv, env));
    expect(plainPrompt(OUTLINE, argv, {})).toEqual({ ...parse(argv), run: expect.any(Function) });
  },
);

test('a variable that gives a flag its default needs the command table', () => {
  expect(plainPrompt(OUTLINE, ['hello'], { GMN_MODEL: 'pro' })).toBeUndefined();
});

test.each([[['demo']], [['demo', 'serve']], [['help']], [['hi', '-q']], [['--', 'hi']], [[]]])(
  '%j needs the parser',
  (argv) => {
    expect(plainPrompt(OUTLINE, argv, {})).toBeUndefined();
  },
);

describe('sub-commands', () => {
  test('are found by name, with flags before or after it', () => {
    expect(options(['--debug', 'demo', 'serve', '--port', '8080'])).toEqual({
      path: 'gmn demo serve',
      debug: true,
      port: 8080,
      args: [],
    });
  });

  test('refuse a flag that does not apply to them', () => {
    expect(refusal(['-o', 'json', 'demo'])).toBe('--output-format does not apply to "gmn demo" | Run: gmn demo --help');
  });

  test('refuse a word that is no command of theirs', () => {
    expect(refusal(['demo', 'sevre'])).toBe('"sevre" is not a command of "gmn demo" | Did you mean: gmn demo serve');
  });
});

describe('help and version', () => {
  test.each([
    [['--help'], []],
    [['-m', 'x', '--help'], []],
    [
      ['demo', 'serve', '-h'],
      ['demo', 'serve'],
    ],
    [['help', 'demo'], ['demo']],
  ])('%j asks for help', (argv, path) => {
    expect(parse(argv)).toEqual({ kind: 'help', path });
  });

  test('-v anywhere among the flags asks for the version', () => {
    expect(parse(['-m', 'x', '-v'])).toEqual({ kind: 'version' });
  });
});

test.each([
  [['--zzzzzz', 'x'], "unknown option '--zzzzzz' | Run: gmn --help"],
  [['--modle', 'x', 'hi'], "unknown option '--modle' | Did you mean --model?"],
  [['-t', '5x', 'hi'], '--timeout: "5x" is not a duration | Examples: 90s, 5m, 1h30m, 0 = never'],
  [['-t', '30', 'hi'], '--timeout: "30" is not a duration | Did you mean 30s?'],
  [['-t', '-1s', 'hi'], '--timeout: "-1s" is not a duration | Examples: 90s, 5m, 1h30m, 0 = never'],
  [['-o', 'xml', 'hi'], '--output-format: "xml" is not one of text, json, stream-json | Example: --output-format text'],
  [['--temperature', 'hot', 'hi'], '--temperature: "hot" is not a number | Example: --temperature 1'],
  [['--seed', '1.5', 'hi'], '--seed: "1.5" is not a whole number | Example: --seed 40'],
  [['-m'], "option '-m, --model <id>' argument missing | Run: gmn --help"],
])('%j is refused', (argv, message) => {
  expect(refusal(argv)).toBe(message);
});

test('a bad value in the environment is a fault of the configuration, and names the variable', () => {
  expect(() => parse(['hi', '-q'], { GMN_RENDER: 'often' })).toThrow(
    expect.objectContaining({
      exitCode: 4,
      message: 'GMN_RENDER: "often" is not one of auto, always, never',
      hint: 'Example: GMN_RENDER=auto',
    }),
  );
});

describe('a line that cannot be parsed still has its failure shown in the format it asked for', () => {
  test.each([
    [['-o', 'json', '--zzzzzz'], 'json'],
    [['-ojson'], 'json'],
    [['-uo', 'json', '--zzzzzz', 'hi'], 'json'],
    [['--output-format=stream-json'], 'stream-json'],
    [['models', '--json'], 'json'],
    [['-p', 'give me json'], 'text'],
    [['--zzzzzz', '--', '-o', 'json'], 'text'],
    [['-o', 'json', '-o', 'text', '--zzzzzz'], 'text'],
    [['--zzzzzz', '-p', 'x\n-o\njson'], 'text'],
    [['-f', '-o', 'json', '--zzzzzz'], 'text'],
    [['-r', '-o', 'json', '--zzzzzz'], 'json'],
  ])('%j: %s', (argv, format) => {
    expect(wantedOutput(ROOT, argv, {})).toEqual({ format, dialect: 'gmn' });
  });

  test('from the environment, and in the dialect', () => {
    const env = { GMN_OUTPUT_FORMAT: 'json' };
    expect(wantedOutput(ROOT, ['--zzzzzz', '--output-dialect', 'gemini'], env)).toEqual({
      format: 'json',
      dialect: 'gemini',
    });
  });
});
