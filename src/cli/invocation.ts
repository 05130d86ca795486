import type { Env } from '../core/io.ts';
import type { Outline } from './outline.ts';
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
