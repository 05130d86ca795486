import { type CommanderError, Command as Parser } from 'commander';
import { AppError } from '../core/error.ts';
import { checkConflicts, type Flag, toOptionKey } from '../core/flag.ts';
import type { Env } from '../core/io.ts';
import { findNearestNames } from '../core/text/names.ts';
import { findIdleFlags, formatFlag } from './help.ts';
import type { Invocation } from './invocation.ts';
import type { Command, RefusedFlag } from './table/command.ts';
import { QUIET_FLAG } from './table/flags.ts';
import { parseEnvironment, parseFlagValue } from './values.ts';
import { matchesFlag, readWords, takesValue } from './words.ts';

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
  parser
    .option('-h')
    .option('--help')
    .allowExcessArguments(command.subcommands === undefined);
  parser.option('-v, --version').on('option:version', () => {
    throw new VersionRequested();
  });
  const idle = findIdleFlags(command);
  for (const flag of [...command.flags, ...idle]) declareFlag(parser, flag);
  for (const flag of command.refused ?? []) rejectFlag(parser, flag);
  if (command.refused !== undefined)
    for (const flag of [...command.flags, ...command.refused]) declareSwitchForms(parser, flag, argv);
  if (command.endsFlags) parser.passThroughOptions();
  if (command.args) parser.arguments(command.args);
  else if (command.subcommands) parser.argument('[command...]');
  // Only subcommands named on the line are built: the usual one-shot builds none.
  const names = path.length === 0 ? findFirstWord(command, argv) : argv;
  for (const child of command.subcommands ?? []) {
    if (!names.includes(child.name)) continue;
    const below = [...above, { parser, command }];
    parser.addCommand(createParser({ command: child, path: here, argv, env, above: below, onRun }));
  }
  parser.action(() => {
    const words = command.endsFlags === undefined ? parser.args : splitOwnArguments(parser, command.endsFlags, here);
    const given = parser.opts<Record<string, unknown>>();
    const helpFlags = [given, ...above.map((level) => level.parser.opts())];
    const isShort = helpFlags.some(({ h }) => h) && !helpFlags.some(({ help }) => help);
    if (command.name === 'help') return onRun({ kind: 'help', path: parser.args, isShort });
    if (helpFlags.some(({ h, help }) => h || help)) return onRun({ kind: 'help', path: here.slice(1), isShort });
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
    const typedFlags = command.flags.filter((flag) => (typed[toOptionKey(flag)] ?? false) !== false);
    checkConflicts(typedFlags, typed);
    const run = { kind: 'run', path: here.join(' '), run: command.run, options, typedFlags } as const;
    return onRun(reported.length === 0 || ineffective.length > reported.length ? run : { ...run, idle: reported });
  });
  return parser;
}

/** The one word that can be the name of a command: all others, and those after `--`, are the prompt's. */
function findFirstWord({ flags }: Command, argv: readonly string[]): readonly string[] {
  const find = (name: string): Flag | undefined => flags.find((flag) => matchesFlag(flag, name));
  for (const piece of readWords(argv, find, takesValue)) if (piece.kind === 'word') return [piece.text];
  return [];
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
  declareName(parser, flag, formatFlag(flag).trim());
  const other = { ...flag, short: undefined };
  for (const alias of flag.aliases ?? []) declareName(parser, flag, formatFlag({ ...other, long: alias }).trim());
}

function declareName(parser: Parser, flag: Flag, names: string): void {
  const option = parser.createOption(names);
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
function rejectFlag(parser: Parser, { why, hint, ...flag }: RefusedFlag, names = formatFlag(flag).trim()): void {
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
function declareSwitchForms(parser: Parser, flag: Flag | RefusedFlag, argv: readonly string[]): void {
  if (!flag.isOfficial || flag.value !== undefined) return;
  for (const word of [`--${flag.long}=true`, `--${flag.long}=false`, `--no-${flag.long}`]) {
    if (!argv.includes(word)) continue;
    const isOn = word.endsWith('=true');
    if (isOn && 'why' in flag) {
      rejectFlag(parser, flag, word);
      continue;
    }
    const option = parser.createOption(word).hideHelp();
    option.negate = !isOn;
    option.attributeName = () => toOptionKey(flag);
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
