import { type CommanderError, type Option, Command as Parser } from 'commander';
import { AppError } from '../core/error.ts';
import {
  checkConflicts,
  combinationError,
  type Flag,
  isGiven,
  listSpellings,
  type OtherName,
  toOptionKey,
} from '../core/flag.ts';
import type { Env } from '../core/io.ts';
import { findNearestNames } from '../core/text/names.ts';
import { findIdleFlags, formatFlag, isTopic } from './help.ts';
import type { Invocation } from './invocation.ts';
import type { Command, RefusedFlag } from './table/command.ts';
import { QUIET_FLAG } from './table/flags.ts';
import { parseEnvironment, parseFlagValue } from './values.ts';
import { matchesFlag, readWords, takesValue } from './words.ts';

/** Parses argv by the command tree. Throws AppError `usage` for anything that is not in it. */
export function parseCommandLine(root: Command, line: readonly string[], env: Env): Invocation {
  let found: Invocation | undefined;
  const argv = addPresets(root, omitLastFlag(root, line));
  const parser = createParser({
    command: root,
    path: [],
    argv,
    typedValues: [],
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

interface TypedValue {
  readonly flag: Flag;
  /** The name of another program under which it was typed. */
  readonly otherName?: OtherName;
  readonly value: unknown;
}

interface ParserInput {
  readonly command: Command;
  readonly path: readonly string[];
  readonly argv: readonly string[];
  /** Filled while the line is parsed, by the parsers of all levels. */
  readonly typedValues: TypedValue[];
  readonly env: Env;
  readonly above?: readonly Level[];
  readonly onRun: (invocation: Invocation) => void;
}

function createParser(input: ParserInput): Parser {
  const { command, path, argv, typedValues, env, above = [], onRun } = input;
  const parser = new Parser(command.name);
  const here = [...path, command.name];
  parser.exitOverride((error) => {
    throw toUsageError(error, command, here);
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
  const { refused = [], ignored = [] } = command;
  const defaultSubcommand = command.subcommands?.find(({ name }) => name === command.defaultSubcommand);
  const flags = defaultSubcommand === undefined ? command.flags : mergeFlags(command.flags, defaultSubcommand.flags);
  const idle = findIdleFlags({ flags });
  for (const flag of [...flags, ...idle]) declareFlag(parser, flag, input);
  for (const flag of refused) if (isOnLine(flag, argv)) rejectFlag(parser, flag);
  for (const flag of ignored) if (isOnLine(flag, argv)) declareHidden(parser, flag, `--${flag.long}`);
  if (command.refused !== undefined)
    for (const flag of [...command.flags, ...refused]) declareSwitchForms(parser, flag, argv);
  if (command.endsFlags) parser.passThroughOptions();
  if (command.args) parser.arguments(command.args);
  else if (command.subcommands) parser.argument('[command...]');
  // Only subcommands named on the line are built: the usual one-shot builds none.
  const names = path.length === 0 ? findFirstWord(command, argv) : argv;
  for (const child of command.subcommands ?? []) {
    if (!names.includes(child.name)) continue;
    const below = [...above, { parser, command: { ...command, flags } }];
    parser.addCommand(createParser({ ...input, command: child, path: here, above: below }));
  }
  parser.action(() => {
    const words = command.endsFlags === undefined ? parser.args : splitOwnArguments(parser, command.endsFlags, here);
    const given = parser.opts<Record<string, unknown>>();
    const helpFlags = [given, ...above.map((level) => level.parser.opts())];
    const isShort = helpFlags.some(({ h }) => h) && !helpFlags.some(({ help }) => help);
    if (command.name === 'help')
      return onRun({ kind: 'help', path: parser.args, isShort, isJson: given.json ? true : undefined });
    if (helpFlags.some(({ h, help }) => h || help)) {
      const [word = '', ...others] = parser.args;
      const isAboutTopic = here.length === 1 && others.length === 0 && isTopic(word);
      const path = isAboutTopic ? [word] : here.slice(1);
      return onRun({ kind: 'help', path, isShort: isShort && !isAboutTopic });
    }
    if (command.name === 'completion')
      return onRun({ kind: 'completion', shell: requireOneArgument(parser.args, here) });
    const runsDefault = defaultSubcommand !== undefined && parser.args.length === 0;
    const { run: runCommand, flags: taken, name } = runsDefault ? defaultSubcommand : command;
    if (runCommand === undefined || (command.args === undefined && parser.args.length > 0))
      throw unknownSubcommandError(command, here, parser.args);
    const known = [...taken, ...idle, ...refused, ...ignored];
    const inherited = above.map((level) => inheritOptions(level, known, here));
    const typed: Record<string, unknown> = Object.assign({}, ...inherited, given);
    checkFixedValues(typedValues);
    for (const { otherName } of typedValues) Object.assign(typed, { ...otherName?.alsoSets, ...typed });
    const ineffective = idle.filter((flag) => typed[toOptionKey(flag)] !== undefined);
    for (const flag of ineffective) delete typed[toOptionKey(flag)];
    const fromEnv = parseEnvironment(taken, env);
    for (const flag of refused) refuseUnlessHonoured(flag, typed, fromEnv);
    for (const flag of ignored) delete typed[toOptionKey(flag)];
    const all = { ...fromEnv, ...typed };
    // A switch turned off on the command line counts as absent, even if a variable turns it on.
    const options = { ...Object.fromEntries(Object.entries(all).filter(([key]) => typed[key] !== false)), args: words };
    // With --quiet there is no notice about flags without effect.
    const reported = ineffective.filter(({ long }) => long !== QUIET_FLAG.long).map(({ long }) => `--${long}`);
    const typedFlags = taken.filter((flag) => (typed[toOptionKey(flag)] ?? false) !== false);
    checkConflicts(typedFlags, typed);
    const typedPath = here.join(' ');
    const path = runsDefault ? `${typedPath} ${name}` : typedPath;
    const moreHelp = runsDefault ? `${typedPath} --help` : undefined;
    const run = { kind: 'run', path, run: runCommand, options, typedFlags, moreHelp } as const;
    return onRun(reported.length === 0 || ineffective.length > reported.length ? run : { ...run, idle: reported });
  });
  return parser;
}

function mergeFlags(flags: readonly Flag[], others: readonly Flag[]): readonly Flag[] {
  return [...flags, ...others.filter(({ long }) => !flags.some((flag) => flag.long === long))];
}

/** The one word that can be the name of a command: all others, and those after `--`, are the prompt's. */
function findFirstWord(command: Command, argv: readonly string[]): readonly string[] {
  for (const piece of readWords(argv, createFind(command), takesValue)) if (piece.kind === 'word') return [piece.text];
  return [];
}

/** Finds a flag of the command by any of its names, those that are refused or ignored included. */
function createFind({ flags, refused = [], ignored = [] }: Command): (name: string) => Flag | undefined {
  const all = [
    ...flags.flatMap(listSpellings),
    ...[...refused, ...ignored].map((flag): Flag => ({ ...flag, help: '' })),
  ];
  return (name) => all.find((flag) => matchesFlag(flag, name));
}

/**
 * The line of a prompt without a flag at its end that may stand there without a value: `--model pro "why?" -p`. A flag with a word
 * behind it is never touched, since that word may come from a variable; nor is the line of a command, which may be another program's.
 */
function omitLastFlag(root: Command, argv: readonly string[]): readonly string[] {
  const last = argv.at(-1) ?? '';
  if (!root.flags.some((flag) => flag.mayLackValueAtEnd && matchesFlag(flag, last))) return argv;
  const [first] = findFirstWord(root, argv);
  if (root.subcommands?.some(({ name }) => name === first)) return argv;
  const pieces = [...readWords(argv, createFind(root), takesValue)];
  const end = pieces.at(-1);
  return end?.kind === 'flag' && end.name === last && end.value === undefined ? argv.slice(0, -1) : argv;
}

/** Commander would take the word after a flag that may lack its value for that value: `--sandbox "fix it"`. */
function addPresets(root: Command, argv: readonly string[]): readonly string[] {
  const line = [...argv];
  let command: Command | undefined = root;
  let find = createFind(root);
  for (const piece of readWords(argv, (name) => find(name), takesValue)) {
    if (piece.kind === 'word') {
      // After the command, another one's flags mean nothing, and may be another program's.
      command = command?.subcommands?.find(({ name }) => name === piece.text);
      if (command !== undefined) find = createFind(command);
    }
    if (piece.kind !== 'flag') continue;
    const { preset, choices, isOfficial } = piece.flag;
    // One that stands for a value has none of its own.
    if (preset === undefined || choices === undefined || piece.flag.value === undefined) continue;
    const { at, name, value } = piece;
    if (value === undefined) line[at] += name.startsWith('--') ? `=${preset}` : preset;
    // The official CLI has a switch of this name.
    else if (isOfficial && line[at] === `${name}=true`) line[at] = `${name}=${preset}`;
    else if (isOfficial && line[at] === `${name}=false`) line[at] = `${name}=off`;
  }
  return line;
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

/** Names of other programs are declared only where a line has them, since most have none. */
function isOnLine({ long, short, aliases = [] }: Pick<Flag, 'long' | 'short' | 'aliases'>, argv: readonly string[]) {
  const names = [long, ...aliases].flatMap((name) => [`--${name}`, `--no-${name}`]);
  return argv.some((word) => {
    if (word.startsWith('--')) return names.some((name) => word === name || word.startsWith(`${name}=`));
    return short !== undefined && word.startsWith('-') && word.includes(short);
  });
}

function declareFlag(
  parser: Parser,
  flag: Flag,
  { argv, typedValues }: Pick<ParserInput, 'argv' | 'typedValues'>,
): void {
  const record = (option: Option, otherName?: OtherName) =>
    parser.on(`option:${option.name()}`, () => {
      typedValues.push({ flag, otherName, value: parser.getOptionValue(toOptionKey(flag)) });
    });
  record(declareName(parser, flag, formatFlag(flag).trim()));
  const other = { ...flag, short: undefined };
  for (const alias of flag.aliases ?? [])
    record(declareName(parser, flag, formatFlag({ ...other, long: alias }).trim()));
  for (const name of flag.otherNames ?? [])
    if (isOnLine(name, argv)) record(declareOtherName(parser, flag, name), name);
}

/** Throws AppError `usage` if a name that stands for one value is beside another value of its flag. */
function checkFixedValues(typedValues: readonly TypedValue[]): void {
  for (const { flag, otherName, value } of typedValues) {
    if (otherName?.fixedValue === undefined) continue;
    const other = typedValues.find((typed) => typed.flag.long === flag.long && typed.value !== value);
    if (other !== undefined) throw combinationError(`--${otherName.long}`, `--${flag.long} ${other.value}`);
  }
}

/** Hidden from suggestions: those name gmn's own flags. */
function declareOtherName(
  parser: Parser,
  flag: Flag,
  { long, short, fixedValue, values, prefix = '' }: OtherName,
): Option {
  const { value, ...named } = { ...flag, long, short };
  const names = formatFlag(fixedValue === undefined ? { ...named, value } : named).trim();
  const option = declareName(parser, flag, names, (text) => {
    if (values === undefined) return `${prefix}${text}`;
    return values[parseFlagValue({ ...flag, choices: Object.keys(values) }, text, { flag: `--${long}` })] ?? text;
  });
  return (fixedValue === undefined ? option : option.preset(fixedValue)).hideHelp();
}

function declareName(parser: Parser, flag: Flag, names: string, translate = (text: string): string => text): Option {
  const option = parser.createOption(names);
  // `--no-x` would make commander invent a default `x: true`; we want just what was typed.
  option.negate = false;
  option.attributeName = () => toOptionKey(flag);
  if (flag.preset !== undefined) option.preset(flag.preset);
  if (flag.value !== undefined) {
    const source = { flag: option.long ?? names };
    option.argParser((text: string, previous: unknown) => {
      const value = parseFlagValue(flag, translate(text), source);
      return flag.repeatable ? [...(Array.isArray(previous) ? previous : []), value] : value;
    });
  }
  parser.addOption(option);
  return option;
}

/** Declares a flag only to reject it with a reason; hidden from help and suggestions. */
function rejectFlag(parser: Parser, flag: RefusedFlag, names = formatFlag(flag).trim()): void {
  const others = (flag.aliases ?? []).map((long) => formatFlag({ ...flag, long, short: undefined }).trim());
  for (const spelled of [names, ...others]) {
    const option = declareHidden(parser, flag, spelled);
    if (flag.unless !== undefined) continue;
    parser.on(`option:${option.name()}`, () => {
      throw refusedFlagError(flag, option.long ?? spelled);
    });
  }
}

function declareHidden(parser: Parser, flag: Pick<Flag, 'long'>, names: string): Option {
  const option = parser.createOption(names).hideHelp();
  option.negate = false;
  option.attributeName = () => toOptionKey(flag);
  parser.addOption(option);
  return option;
}

function refusedFlagError({ why, hint }: RefusedFlag, name: string): AppError {
  return new AppError('usage', `${name}: ${why}`, { hint });
}

/** Takes a flag that gmn has not out of the options, if what it asks for is so anyway. */
function refuseUnlessHonoured(
  flag: RefusedFlag,
  typed: Record<string, unknown>,
  others: Readonly<Record<string, unknown>>,
): void {
  const { long, unless = [] } = flag;
  const key = toOptionKey(flag);
  if (typed[key] === undefined || typed[key] === false) return;
  const isHonoured = unless.some((line) => isGiven(line, { ...others, ...typed }));
  if (!isHonoured) throw refusedFlagError(flag, `--${long}`);
  delete typed[key];
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
function inheritOptions(
  level: Level,
  taken: readonly Pick<Flag, 'long'>[],
  here: readonly string[],
): Record<string, unknown> {
  const options = level.parser.opts<Record<string, unknown>>();
  for (const flag of [...level.command.flags, ...(level.command.refused ?? []), ...(level.command.ignored ?? [])]) {
    const value = options[toOptionKey(flag)];
    const isTyped = 'why' in flag ? Boolean(value) : value !== undefined;
    if (isTyped && !taken.some(({ long }) => long === flag.long)) {
      throw new AppError('usage', `--${flag.long} does not apply to "${here.join(' ')}"`, {
        hint: `Run: ${here.join(' ')} --help`,
      });
    }
  }
  return options;
}

/** What other programs, or other groups of gmn, call a subcommand. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  ls: ['list'],
  rm: ['remove', 'delete', 'unset'],
  del: ['remove', 'delete', 'unset'],
  delete: ['remove', 'unset'],
  remove: ['delete', 'unset'],
  show: ['get'],
  info: ['get', 'show'],
  get: ['show'],
  'add-json': ['add'],
  login: ['auth', 'set-key'],
};

function unknownSubcommandError(command: Command, here: readonly string[], words: readonly string[]): AppError {
  const children = (command.subcommands ?? []).map(({ name }) => name);
  const names = children.join(', ');
  // A command without subcommands does not echo the word: after "auth set-key" it is the key.
  const wrong =
    names === '' ? `"${here.join(' ')}" takes no arguments` : `"${words[0]}" is not a command of "${here.join(' ')}"`;
  const what = words[0] === undefined ? 'a command is missing' : wrong;
  const [word = ''] = words;
  const synonyms = Object.hasOwn(SYNONYMS, word) ? SYNONYMS[word] : undefined;
  const near = synonyms?.find((name) => children.includes(name)) ?? findNearestNames(word, children)[0];
  if (near !== undefined) return new AppError('usage', what, { hint: `Did you mean: ${[...here, near].join(' ')}` });
  // `gmn models list`: without it, it lists.
  const isList = names === '' && words[0] === 'list' && words.length === 1;
  return new AppError('usage', what, {
    hint: `${names ? `Commands: ${names}. ` : ''}Run: ${here.join(' ')}${isList ? '' : ' --help'}`,
  });
}

function toUsageError(thrown: CommanderError, { args = '' }: Command, here: readonly string[]): AppError {
  const [first = '', ...rest] = thrown.message.replace(/^error: /, '').split('\n');
  const suggestion = rest.join(' ').replace(/^\((.*)\)$/, '$1');
  const name = here.join(' ');
  const flag = args.includes('[k=v...]') ? /^unknown option '--([^']+)'/.exec(first)?.[1] : undefined;
  if (first === "unknown option '--output-file'") {
    return new AppError('usage', first, {
      hint: `It prints what it makes; to keep it: ${name} … > <file>`,
      cause: thrown,
    });
  }
  const usage = thrown.code === 'commander.missingArgument' ? `Usage: ${name} ${args}\n` : '';
  return new AppError('usage', first, {
    hint: flag
      ? `If it is an argument: ${flag}=<value>. Run: ${name} --help`
      : suggestion || `${usage}Run: ${name} --help`,
    cause: thrown,
  });
}
