import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scanOutputFlags } from '../../src/cli/command-line.ts';
import { toOutline } from '../../src/cli/invocation.ts';
import { parseCommandLine } from '../../src/cli/parse.ts';
import { matchPromptLine } from '../../src/cli/prompt-line.ts';
import type { Command } from '../../src/cli/table/command.ts';
import { COMMON_FLAGS } from '../../src/cli/table/flags.ts';
import { ROOT } from '../../src/cli/table/root.ts';
import { OUTPUT_FORMATS } from '../../src/core/app.ts';
import { AppError } from '../../src/core/error.ts';
import type { Flag } from '../../src/core/flag.ts';
import { fuzz } from '../support/fuzz.ts';

const OUTLINE = toOutline(ROOT);

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
    [['-m', 'demo', '--', 'demo'], { model: 'demo', args: ['demo'] }],
    [['-p', '-1+2=?'], { prompt: '-1+2=?', args: [] }],
    [['-r', '-p', 'hello'], { resume: '', prompt: 'hello', args: [] }],
    [['-r', 'trip', 'hello'], { resume: 'trip', args: ['hello'] }],
    [['hello', '-r'], { resume: '', args: ['hello'] }],
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

describe('a line written in the plain way needs neither table nor parser', () => {
  const match = (argv: readonly string[], env = {}) => matchPromptLine(OUTLINE, argv, env);
  /** Without the texts of the flags, which the outline lacks. */
  const strip = (invocation: ReturnType<typeof match>) =>
    invocation?.kind === 'run'
      ? { ...invocation, run: undefined, typedFlags: invocation.typedFlags.map(({ long }) => long) }
      : invocation;

  test.each([
    [['hello']],
    [['why', 'is', 'the', 'sky', 'blue']],
    [['what does demo mean', 'help']],
    [['-o', 'json', '-m', 'pro', '-q', '-t', '30s', 'hi']],
    [['--output-format=stream-json', 'hi', '--no-session', '--system', 'Be brief.']],
    [['-f', 'a.txt', '-f', 'b.txt', '--schema', '{}', 'hi']],
    [['--tools', 'read', '-c', '--temperature=0', 'hi']],
    [['-q']],
    [['']],
    [['-']],
    [['--', 'hi', '-q']],
    [['-p', '-1+2']],
    [['-qu', 'hi']],
    [['-qmpro', 'hi']],
  ])('%j', (argv) => {
    for (const env of [undefined, { GMN_MODEL: 'pro', GMN_DEMO: '0' }]) {
      expect(match(argv, env)).toBeDefined();
      expect(strip(match(argv, env))).toEqual(strip(parse(argv, env)));
    }
  });

  test.each([
    [[]],
    [['demo']],
    [['demo', 'serve']],
    [['help']],
    [['-q', 'help']],
    [['-r', 'hi']],
    [['-m']],
    [['-o', 'yaml', 'hi']],
    [['--quiet=true', 'hi']],
    [['--nonsense', 'hi']],
    [['-undefined']],
    [['-v']],
    [['hi', '--help']],
    [['--sandbox', 'hi']],
    [['--stdin', '--no-stdin', 'hi']],
  ])('and %j is left to them', (argv) => {
    expect(match(argv)).toBeUndefined();
  });

  test('and so is a wrong variable', () => {
    expect(match(['hi'], { GMN_TIMEOUT: 'soon' })).toBeUndefined();
  });

  test('and it never means anything else than to the parser', () => {
    const names = ROOT.flags.flatMap(({ long, short, aliases = [], otherNames = [] }) => [
      `--${long}`,
      ...(short === undefined ? [] : [`-${short}`]),
      ...[...aliases, ...otherNames.map((other) => other.long)].map((alias) => `--${alias}`),
    ]);
    const value = fc.constantFrom('json', 'text', 'pro', '30s', '1', '0.5', 'read', '', '-1', '-q', 'a=b', 'é', 'auto');
    const word = fc.oneof(
      fc.constantFrom('hello', 'demo', 'serve', 'chat', 'help', '', '-', '--', '-qu', '-mpro', '-v', '-h', '--no-yolo'),
      fc.string({ maxLength: 6 }),
      fc.constantFrom(...names),
      fc.tuple(fc.constantFrom(...names), value).map(([name, text]) => `${name}=${text}`),
    );
    const piece = fc.oneof(
      { weight: 3, arbitrary: fc.tuple(fc.constantFrom(...names), value) },
      { weight: 2, arbitrary: fc.tuple(word) },
    );
    const variables = fc.dictionary(
      fc.constantFrom(...ROOT.flags.flatMap(({ env }) => (env === undefined ? [] : [env]))),
      value,
      { maxKeys: 2 },
    );
    let matched = 0;
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 5 }), variables, (pieces, env) => {
        const argv = pieces.flat();
        const found = match(argv, env);
        if (found === undefined) return;
        matched += 1;
        expect(strip(found)).toEqual(strip(parse(argv, env)));
      }),
      fuzz(800, 20_000),
    );
    expect(matched).toBeGreaterThan(100);
  });
});

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
    expect(refusal(['config', 'sett', 'model', 'x'])).toBe(
      '"sett" is not a command of "gmn config" | Did you mean: gmn config set',
    );
    // What other programs call it.
    for (const [group, word, name] of [
      ['mcp', 'rm', 'remove'],
      ['mcp', 'show', 'get'],
      ['sessions', 'rm', 'delete'],
      ['config', 'ls', 'list'],
      ['auth', 'login', 'set-key'],
    ]) {
      expect(refusal([group ?? '', word ?? '', 'x'])).toContain(` | Did you mean: gmn ${group} ${name}`);
    }
    expect(refusal(['demo', 'sevre'])).toBe('"sevre" is not a command of "gmn demo" | Did you mean: gmn demo serve');
  });
});

describe('help and version', () => {
  test.each([
    [['--help'], [], false],
    [['-m', 'x', '--help'], [], false],
    [['-h', 'demo', '--help'], ['demo'], false],
    [['-p', '-h', '--help'], [], false],
    [['demo', 'serve', '-h'], ['demo', 'serve'], true],
    [['-p', '--help', '-h'], [], true],
    [['help', 'demo'], ['demo'], false],
  ])('%j asks for help', (argv, path, isShort) => {
    expect(parse(argv)).toEqual({ kind: 'help', path, isShort });
  });

  test('-v anywhere among the flags asks for the version', () => {
    expect(parse(['-m', 'x', '-v'])).toEqual({ kind: 'version' });
  });
});

describe('the common flags', () => {
  const commands = (command: Command, path: readonly string[] = []): readonly (readonly string[])[] => [
    ...(command.run === undefined ? [] : [path]),
    ...(command.subcommands ?? []).flatMap((child) => commands(child, [...path, child.name])),
  ];
  const needed = (path: readonly string[]): readonly string[] => {
    const args = path.reduce((at, name) => at.subcommands?.find((child) => child.name === name) ?? at, ROOT).args ?? '';
    return [...args.matchAll(/<[^>]+>/g)].map(() => 'x');
  };
  const typed = COMMON_FLAGS.map((flag: Flag) => [
    `--${flag.long}`,
    ...(flag.value === undefined ? [] : [flag.choices?.[0] ?? (flag.kind === 'duration' ? '5s' : 'x')]),
  ]);
  // `mcp add --timeout` is a number of milliseconds.
  const valuesFor = (path: readonly string[], [flag = '', value]: readonly string[]): readonly string[] =>
    path.join(' ') === 'mcp add' && flag === '--timeout' ? [flag, '5'] : value === undefined ? [flag] : [flag, value];

  test.each(commands(ROOT).map((path) => [path] as const))('%j takes all of them', (path) => {
    for (const words of typed) {
      expect(parse([...path, ...valuesFor(path, words), ...needed(path)])).toMatchObject({ kind: 'run' });
    }
    expect(parse([...path, '-v'])).toEqual({ kind: 'version' });
    expect(parse([...path, '--version'])).toEqual({ kind: 'version' });
  });

  test('that have no effect are named, and not handed on', () => {
    const { idle, options: given } = parse(['sessions', 'list', '-m', 'x', '-t', '5s']) as Extract<
      ReturnType<typeof parse>,
      { kind: 'run' }
    >;
    expect(idle).toEqual(['--model', '--timeout']);
    expect(given).toEqual({ args: [] });
  });

  test('count before the name of the command as behind it', () => {
    expect(parse(['-m', 'x', 'mcp', 'list'])).toMatchObject({ path: 'gmn mcp list', idle: ['--model'] });
    expect(parse(['mcp', '-m', 'x', 'list'])).toMatchObject({ path: 'gmn mcp list', idle: ['--model'] });
    expect(options(['mcp', '-t', '5s', 'call', 'a', 'b'])).toMatchObject({ timeout: 5000, args: ['a', 'b'] });
    expect(parse(['-v', 'chat'])).toEqual({ kind: 'version' });
  });

  test('leave a letter that a command has for something else alone', () => {
    expect(options(['mcp', 'add', '-t', 'http', 'a', 'http://x/'])).toMatchObject({ transport: 'http' });
  });
});

describe('a switch of the official CLI with a value', () => {
  test.each([
    [['--skip-trust=false', 'hi'], {}],
    [['--no-skip-trust', 'hi'], {}],
    [['--no-sandbox', 'hi'], { sandbox: 'off' }],
    [['--yolo=false', '--no-acp', 'hi'], {}],
    [['--yolo=true', 'hi'], { yolo: true }],
    [['-y', '--no-yolo', 'hi'], {}],
    [['--no-yolo', '-y', 'hi'], { yolo: true }],
    [['-p', '--sandbox=false'], { prompt: '--sandbox=false', args: [] }],
    [['-p', '--sandboxes=false'], { prompt: '--sandboxes=false', args: [] }],
    [['--', '--no-sandbox'], { args: ['--no-sandbox'] }],
  ])('%j', (argv, expected) => {
    expect(options(argv)).toEqual({ path: 'gmn', args: ['hi'], ...expected });
  });

  test('wins over a variable, and is refused where the switch is', () => {
    expect(options(['--debug=false', 'hi'], { GMN_DEBUG: '1' })).toEqual({ path: 'gmn', args: ['hi'] });
    expect(refusal(['--skip-trust=true', 'hi'])).toMatch(/^--skip-trust=true: gmn trusts no folder/);
    expect(refusal(['--skip-trust=maybe', 'hi'])).toMatch(/^unknown option '--skip-trust=maybe'/);
  });

  test('is taken by a chat too', () => {
    expect(options(['chat', '--skip-trust=false', '--yolo=true'])).toEqual({ path: 'gmn chat', yolo: true, args: [] });
  });
});

test.each([
  [['--zzzzzz', 'x'], "unknown option '--zzzzzz' | Run: gmn --help"],
  [
    ['embed', 'a.md', '--output-file', 'x'],
    "unknown option '--output-file' | It prints what it makes; to keep it: gmn embed … > <file>",
  ],
  [['--modle', 'x', 'hi'], "unknown option '--modle' | Did you mean --model?"],
  [['-t', '5x', 'hi'], '--timeout: "5x" is not a duration | Examples: 90s, 5m, 1h30m, 0 = never'],
  [['-t', '30', 'hi'], '--timeout: "30" is not a duration | Did you mean 30s?'],
  [['-t', '-1s', 'hi'], '--timeout: "-1s" is not a duration | Examples: 90s, 5m, 1h30m, 0 = never'],
  [
    ['-o', 'xml', 'hi'],
    `--output-format: "xml" is not one of ${OUTPUT_FORMATS.join(', ')} | Example: --output-format text\nTo write the answer to a file: --output-file <path>`,
  ],
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
    expect(scanOutputFlags(ROOT, argv, {})).toEqual({ format, dialect: 'gmn' });
  });

  test('from the environment, and in the dialect', () => {
    const env = { GMN_OUTPUT_FORMAT: 'json' };
    expect(scanOutputFlags(ROOT, ['--zzzzzz', '--output-dialect', 'gemini'], env)).toEqual({
      format: 'json',
      dialect: 'gemini',
    });
  });
});

test('a flag that may lack its value gets none in the words of another program', () => {
  const invocation = parseCommandLine(ROOT, ['mcp', 'add', 'x', 'tool', '--sandbox', 'y'], {});
  expect(invocation).toMatchObject({ options: { args: ['x', 'tool', '--sandbox', 'y'] } });
});
