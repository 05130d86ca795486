import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { editDistance } from '../core/text/names.ts';
import type { Command } from './table/command.ts';

/** What the command line asks for. */
export type Invocation =
  | { readonly kind: 'version' }
  | { readonly kind: 'help'; readonly path: readonly string[] }
  | { readonly kind: 'completion'; readonly shell: string }
  | {
      readonly kind: 'run';
      /** How the command is called, e.g. `gmn demo serve`. */
      readonly path: string;
      readonly run: NonNullable<Command['run']>;
      readonly options: Options;
      /** The common flags that have no effect on this command. */
      readonly idle?: readonly string[];
    };

export type Options = Readonly<Record<string, unknown>> & {
  readonly args: readonly string[];
};

/** Whether a line is of words alone, none of them a flag and the first no command: then it is a prompt as it stands. */
export function isPlain({ commands }: Pick<Outline, 'commands'>, argv: readonly string[]): boolean {
  const [first] = argv;
  return first !== undefined && !Object.hasOwn(commands, first) && argv.every((word) => !word.startsWith('-'));
}

/**
 * A plain line with no variable to give it flags: nothing is left to parse, and neither the command table nor the parser
 * need be loaded. Undefined for every other line.
 */
export function plainPrompt(outline: Outline, argv: readonly string[], env: Env): Invocation | undefined {
  if (!isPlain(outline, argv) || outline.variables.some((name) => env[name])) return undefined;
  return {
    kind: 'run',
    path: 'gmn',
    run: async (options, app) => (await import('../commands/prompt/prompt.ts')).run(parseOptions(options), app),
    options: { args: argv },
  };
}

/** What the completion scripts ask, `gmn __complete models`: answered without the table and the parser. Undefined for every other line. */
export function completionCall([first, ...args]: readonly string[]): Invocation | undefined {
  if (first !== '__complete') return undefined;
  return {
    kind: 'run',
    path: 'gmn __complete',
    run: async (options, app) => (await import('../commands/complete.ts')).run(parseOptions(options), app),
    options: { args },
  };
}

function parseOptions(options: Readonly<Record<string, unknown>>): Options {
  return options as Options;
}

/** As much of the command table as a line of plain words is checked against. The build makes it, so that such a line need not load the table. */
export interface Outline {
  /** The names of the commands, each with those of its sub-commands. */
  readonly commands: Readonly<Record<string, readonly string[]>>;
  /** Those that do nothing by themselves. */
  readonly groups: readonly string[];
  /** The environment variables that give a prompt its flags. */
  readonly variables: readonly string[];
}

/** The outline of a command tree. */
export function outlineOf({ flags, subcommands = [] }: Command): Outline {
  const names = subcommands.map(({ name, subcommands: below = [] }) => [name, below.map((child) => child.name)]);
  return {
    commands: Object.fromEntries(names),
    groups: subcommands.filter((child) => child.run === undefined && child.subcommands).map(({ name }) => name),
    variables: flags.flatMap(({ env }) => (env === undefined ? [] : [env])),
  };
}

/** What is a command of many other programs, and where gmn has it. */
const ELSEWHERE: Readonly<Record<string, string>> = { version: 'gmn --version', login: 'gmn help auth' };

const NO_EXTENSIONS = 'gmn has no extensions; the MCP servers of one can be used: gmn mcp add --help';
const NO_SKILLS =
  'gmn has no skills; what a model should know goes into GEMINI.md, or a template: gmn templates --help';
const NO_HOOKS = 'gmn runs no hooks';

/**
 * The commands of the official CLI that gmn lacks: why, and their sub-commands, each with how many words it takes at most.
 * More words than that are a sentence.
 */
const OFFICIAL: Readonly<Record<string, readonly [why: string, below: Readonly<Record<string, number>>]>> = {
  extensions: [
    NO_EXTENSIONS,
    {
      install: 1,
      uninstall: Number.POSITIVE_INFINITY,
      list: 0,
      update: 1,
      disable: 1,
      enable: 1,
      link: 1,
      new: 2,
      validate: 1,
      config: 2,
    },
  ],
  skills: [NO_SKILLS, { list: 0, enable: 1, disable: 1, install: 1, link: 1, uninstall: 1 }],
  hooks: [NO_HOOKS, { migrate: 0 }],
  gemma: ['gmn starts no local models', { setup: 0, start: 0, stop: 0, status: 0, logs: 0 }],
};

/**
 * Stops a mistyped command from being sent to the model. A word followed by a sub-command of the command it
 * resembles is refused, and so is a command of the official CLI that gmn lacks; a lone word, or one that other programs
 * have for a command, only if a person sits there, since a script may well ask about one word. Throws AppError `usage`.
 */
export function guardNearMiss(
  { commands, groups }: Pick<Outline, 'commands' | 'groups'>,
  words: readonly string[],
  isAttended: () => boolean,
): void {
  const [word, next] = words;
  if (word === undefined) return;
  const elsewhere = words.length === 1 && Object.hasOwn(ELSEWHERE, word) ? ELSEWHERE[word] : undefined;
  if (elsewhere !== undefined && isAttended()) {
    throw new AppError('usage', `there is no command "${word}". Run: ${elsewhere}`, {
      hint: `To send it as a prompt: gmn -p "${word}"`,
    });
  }
  const official = Object.hasOwn(OFFICIAL, word) ? OFFICIAL[word] : undefined;
  if (official !== undefined && isOfficial(official[1], words.slice(1), isAttended)) {
    const command = ['gemini', ...words.slice(0, 2)].join(' ');
    throw new AppError('usage', `"${command}" is a command of the official CLI: ${official[0]}`, {
      hint: `To send it as a prompt: gmn -p "${words.join(' ')}"`,
    });
  }
  for (const [name, below] of Object.entries(commands)) {
    // Most prompts are of many words: they are told apart without measuring anything.
    if (words.length > 1 && !below.some((child) => child === next)) continue;
    if (!resembles(word, name) || (words.length === 1 && !isAttended())) continue;
    const rest = words.length === 1 && groups.includes(name) ? ['--help'] : words.slice(1);
    const meant = [name, ...rest].join(' ');
    throw new AppError('usage', `"${word}" looks like the command "${name}". Run: gmn ${meant}`, {
      hint: `To send it as a prompt: gmn -p "${words.join(' ')}"`,
    });
  }
}

function isOfficial(
  below: Readonly<Record<string, number>>,
  [next, ...more]: readonly string[],
  isAttended: () => boolean,
): boolean {
  if (next === undefined) return isAttended();
  return Object.hasOwn(below, next) && more.length <= (below[next] ?? 0);
}

function resembles(word: string, name: string): boolean {
  const slips = name.length <= 4 ? 1 : 2;
  // Lengths that far apart spare the measuring.
  if (word === name || Math.abs(word.length - name.length) > slips) return false;
  return editDistance(word, name) <= slips;
}
