import { type CommanderError, Command as Parser } from 'commander';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { findNearestNames } from '../core/text/names.ts';
import { findIdleFlags } from './help.ts';
import type { Invocation } from './invocation.ts';
import { OFFICIAL_SWITCHES, REFUSED_FLAGS, type RefusedFlag } from './refused-flags.ts';
import type { Command, Flag } from './table/command.ts';
import { QUIET_FLAG } from './table/flags.ts';
import { parseEnvironment, parseFlagValue, toOptionKey } from './values.ts';

/** Parses argv by the command tree. Throws AppError `usage` for anything that is not in it. */
export function parseCommandLine(root: Command, argv: readonly string[], env: Env): Invocation {
  let found: Invocation | undefined;
  const parser = createParser({
    command: root,
    path: [],
    argv,
    onRun: (invocation) => (found = invocation),
    env,
  });
  try {
    parser.parse(argv, { from: 'user' });
  } catch (thrown) {
    if (thrown instanceof VersionRequested) return { kind: 'version' };
    throw thrown;
  }
  if (found === undefined) throw new AppError('usage', 'nothing to do', { hint: 'Run: gmn --help' });
  return found;
}

/** Thrown to leave the parser at once: --version works even if required arguments are missing. */
class VersionRequested extends Error {}

interface Level {
  readonly parser: Parser;
  readonly command: Command;
}

interface ParserInput {
  readonly command: Command;
  readonly path: readonly string[];
  readonly argv: readonly string[];
  readonly env: Env;
  readonly above?: readonly Level[];
  readonly onRun: (invocation: Invocation) => void;
}

function createParser({ command, path, argv, env, above = [], onRun }: ParserInput): Parser {
  const parser = new Parser(command.name);
  const here = [...path, command.name];
  parser.exitOverride((error) => {
    throw toUsageError(error, here);
  });
  parser.configureOutput({ writeErr: () => {}, writeOut: () => {} });
  parser.helpOption(false).helpCommand(false).enablePositionalOptions().showSuggestionAfterError(true);
  parser.option('-h, --help').allowExcessArguments(command.subcommands === undefined);
  parser.option('-v, --version').on('option:version', () => {
    throw new VersionRequested();
  });
  const idle = findIdleFlags(command);
  for (const flag of [...command.flags, ...idle]) declareFlag(parser, flag);
  if (path.length === 0 || command.name === 'chat') {
    for (const flag of REFUSED_FLAGS) rejectFlag(parser, flag);
    for (const name of OFFICIAL_SWITCHES) declareSwitchForms(parser, name, argv);
  }
  if (command.endsFlags) parser.passThroughOptions();
  if (command.args) parser.arguments(command.args);
  else if (command.subcommands) parser.argument('[command...]');
  // Only subcommands named on the line are built: the usual one-shot builds none. After `--` all words are the prompt's.
  const end = path.length === 0 ? argv.indexOf('--') : -1;
  const names = end === -1 ? argv : argv.slice(0, end);
  for (const child of command.subcommands ?? []) {
    if (!names.includes(child.name)) continue;
    const below = [...above, { parser, command }];
    parser.addCommand(createParser({ command: child, path: here, argv, env, above: below, onRun }));
  }
  parser.action(() => {
    const words = command.endsFlags === undefined ? parser.args : splitOwnArguments(parser, command.endsFlags, here);
    const given = parser.opts<Record<string, unknown>>();
    if (command.name === 'help') return onRun({ kind: 'help', path: parser.args });
    if (given.help === true || above.some((level) => level.parser.opts().help === true))
      return onRun({ kind: 'help', path: here.slice(1) });
    if (command.name === 'completion')
      return onRun({ kind: 'completion', shell: requireOneArgument(parser.args, here) });
    if (command.run === undefined || (command.args === undefined && parser.args.length > 0))
      throw unknownSubcommandError(command, here, parser.args);
    const inherited = above.map((level) => inheritOptions(level, [...command.flags, ...idle], here));
    const typed: Record<string, unknown> = Object.assign({}, ...inherited, given);
    const ineffective = idle.filter((flag) => typed[toOptionKey(flag)] !== undefined);
    for (const flag of ineffective) delete typed[toOptionKey(flag)];
    const all = { ...parseEnvironment(command.flags, env), ...typed };
    // A switch turned off on the command line counts as absent, even if a variable turns it on.
    const options = { ...Object.fromEntries(Object.entries(all).filter(([key]) => typed[key] !== false)), args: words };
    // With --quiet there is no notice about flags without effect.
    const reported = ineffective.filter(({ long }) => long !== QUIET_FLAG.long).map(({ long }) => `--${long}`);
    const run = { kind: 'run', path: here.join(' '), run: command.run, options } as const;
    return onRun(reported.length === 0 || ineffective.length > reported.length ? run : { ...run, idle: reported });
  });
  return parser;
}

/**
 * The arguments of a command whose last ones belong to another program: until those begin, or until `--`, flags are
 * ours.
 */
function splitOwnArguments(
  parser: Parser,
  endsFlags: NonNullable<Command['endsFlags']>,
  here: readonly string[],
): readonly string[] {
  const words: string[] = [];
  let rest = parser.args;
  while (rest.length > 0 && !endsFlags(words)) {
    const [word = '', ...after] = rest;
    words.push(word);
    if (endsFlags(words)) return [...words, ...(after[0] === '--' ? after.slice(1) : after)];
    const end = after.indexOf('--');
    const { operands, unknown } = parser.parseOptions(end === -1 ? after : after.slice(0, end));
    if (unknown.length > 0)
      throw new AppError('usage', `unknown option '${unknown[0]}'`, { hint: `Run: ${here.join(' ')} --help` });
    if (end !== -1) return [...words, ...operands, ...after.slice(end + 1)];
    rest = operands;
  }
  return [...words, ...rest];
}

function requireOneArgument(words: readonly string[], here: readonly string[]): string {
  const [word = '', ...more] = words;
  if (more.length === 0) return word;
  throw new AppError('usage', `too many words: ${more.join(' ')}`, { hint: `Run: ${here.join(' ')} --help` });
}

function declareFlag(parser: Parser, flag: Flag): void {
  declareName(parser, flag, `${flag.short ? `-${flag.short}, ` : ''}--${flag.long}`);
  for (const alias of flag.aliases ?? []) declareName(parser, flag, `--${alias}`);
}

function declareName(parser: Parser, flag: Flag, names: string): void {
  const placeholder = flag.isOptional || flag.preset !== undefined ? ` [${flag.value}]` : ` <${flag.value}>`;
  const option = parser.createOption(`${names}${flag.value === undefined ? '' : placeholder}`);
  // `--no-x` would make commander invent a default `x: true`; we want just what was typed.
  option.negate = false;
  option.attributeName = () => toOptionKey(flag);
  if (flag.preset !== undefined) option.preset(flag.preset);
  if (flag.value !== undefined) {
    const source = { flag: option.long ?? names };
    option.argParser((text: string, previous: unknown) => {
      const value = parseFlagValue(flag, text, source);
      return flag.repeatable ? [...(Array.isArray(previous) ? previous : []), value] : value;
    });
  }
  parser.addOption(option);
}

/** Declares a flag only to reject it with a reason; hidden from help and suggestions. */
function rejectFlag(parser: Parser, { names, why, hint }: RefusedFlag): void {
  const option = parser.createOption(names).hideHelp();
  parser.addOption(option);
  parser.on(`option:${option.name()}`, () => {
    throw new AppError('usage', `${option.long}: ${why}`, { hint });
  });
}

/**
 * Accepts the official CLI's forms of a switch: `--x=true` is `--x`; `--x=false` and `--no-x` turn it off. Declares
 * only the forms present on the line, as literal flag names.
 */
function declareSwitchForms(parser: Parser, name: string, argv: readonly string[]): void {
  const plain = parser.options.find(({ long }) => long === `--${name}`);
  if (plain === undefined) return;
  for (const word of [`--${name}=true`, `--${name}=false`, `--no-${name}`]) {
    if (!argv.includes(word)) continue;
    const isOn = word.endsWith('=true');
    const refused = REFUSED_FLAGS.find(({ names }) => names.split(', ').includes(`--${name}`));
    if (isOn && refused !== undefined) {
      rejectFlag(parser, { ...refused, names: word });
      continue;
    }
    const option = parser.createOption(word).hideHelp();
    option.negate = !isOn;
    option.attributeName = () => plain.attributeName();
    parser.addOption(option);
  }
}

/**
 * Flags before the subcommand's name apply to it; rejects those it does not take, which would otherwise be silently
 * ignored.
 */
function inheritOptions(level: Level, taken: readonly Flag[], here: readonly string[]): Record<string, unknown> {
  const options = level.parser.opts<Record<string, unknown>>();
  for (const flag of level.command.flags) {
    const isGiven = options[toOptionKey(flag)] !== undefined;
    if (isGiven && !taken.some(({ long }) => long === flag.long)) {
      throw new AppError('usage', `--${flag.long} does not apply to "${here.join(' ')}"`, {
        hint: `Run: ${here.join(' ')} --help`,
      });
    }
  }
  return options;
}

function unknownSubcommandError(command: Command, here: readonly string[], words: readonly string[]): AppError {
  const names = (command.subcommands ?? []).map(({ name }) => name).join(', ');
  // A command without subcommands does not echo the word: after "auth set-key" it is the key.
  const wrong =
    names === '' ? `"${here.join(' ')}" takes no arguments` : `"${words[0]}" is not a command of "${here.join(' ')}"`;
  const what = words[0] === undefined ? 'a command is missing' : wrong;
  const [near] = findNearestNames(
    words[0] ?? '',
    (command.subcommands ?? []).map(({ name }) => name),
  );
  if (near !== undefined) return new AppError('usage', what, { hint: `Did you mean: ${[...here, near].join(' ')}` });
  return new AppError('usage', what, {
    hint: `${names ? `Commands: ${names}. ` : ''}Run: ${here.join(' ')} --help`,
  });
}

function toUsageError(thrown: CommanderError, here: readonly string[]): AppError {
  const [first = '', ...rest] = thrown.message.replace(/^error: /, '').split('\n');
  const suggestion = rest.join(' ').replace(/^\((.*)\)$/, '$1');
  return new AppError('usage', first, {
    hint: suggestion || `Run: ${here.join(' ')} --help`,
    cause: thrown,
  });
}
