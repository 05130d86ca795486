import type { Env } from '../core/io.ts';
import { type Command, type Flag, optionKey } from './flag.ts';
import { readValue } from './value.ts';

/** What the command line asks for. */
export type Invocation =
  | { readonly kind: 'version' }
  | { readonly kind: 'help'; readonly path: readonly string[] }
  | {
      readonly kind: 'run';
      readonly command: Command;
      readonly path: string;
      readonly options: Options;
    };

export type Options = Readonly<Record<string, unknown>> & {
  readonly args: readonly string[];
};

/**
 * A line of plain words, none of them a flag and the first no command, is a prompt: nothing is left to parse, and the
 * parser need not be loaded. Undefined for every other line.
 */
export function plainPrompt(root: Command, argv: readonly string[], env: Env): Invocation | undefined {
  const isPlain = argv.length > 0 && argv.every((word) => !word.startsWith('-'));
  if (!isPlain || root.subcommands?.some(({ name }) => name === argv[0])) return undefined;
  return {
    kind: 'run',
    command: root,
    path: root.name,
    options: { ...environmentOptions(root.flags, env), args: argv },
  };
}

/** The output format a command line that could not be parsed most likely asked for. */
export function wantedFormat(argv: readonly string[]): string {
  const line = argv.join('\n');
  if (argv.includes('--json')) return 'json';
  return /(?:^|\n)(?:-o=?|--output-format=?)\n?(json|stream-json)(?:\n|$)/.exec(line)?.[1] ?? 'text';
}

/** The options that environment variables give. Throws AppError `usage` naming a variable whose value cannot be used. */
export function environmentOptions(flags: readonly Flag[], env: Env): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const flag of flags) {
    const text = flag.env === undefined ? undefined : env[flag.env];
    if (text === undefined || text === '') continue;
    options[optionKey(flag)] = flag.value === undefined ? isTruthy(text) : readValue(flag, text, flag.env ?? '');
  }
  return options;
}

function isTruthy(text: string): boolean {
  return !['0', 'false', 'no', 'off'].includes(text.toLowerCase());
}
