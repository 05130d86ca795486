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

/** How a command line that could not be parsed would have had its failure shown. */
export interface WantedOutput {
  readonly format: string;
  readonly dialect: string;
}

/** Reads just the output flags, as the parser would: values, clusters of letters, `--`, the last one wins. */
export function wantedOutput(root: Command, argv: readonly string[], env: Env): WantedOutput {
  const flags = allFlags(root);
  const given = new Map<string, string>();
  for (let index = 0; index < argv.length && argv[index] !== '--'; index += 1) {
    const { flag, value } = matchFlag(argv[index] ?? '', flags);
    if (flag === undefined) continue;
    const isNext = flag.value !== undefined && value === undefined;
    if (isNext) index += 1;
    given.set(flag.long, (isNext ? argv[index] : value) ?? '');
  }
  const format = given.get('output-format') ?? (given.has('json') ? 'json' : env.GMN_OUTPUT_FORMAT);
  return {
    format: format === 'json' || format === 'stream-json' ? format : 'text',
    dialect: given.get('output-dialect') ?? env.GMN_OUTPUT_DIALECT ?? 'gmn',
  };
}

function allFlags(command: Command): readonly Flag[] {
  return [...command.flags, ...(command.subcommands ?? []).flatMap(allFlags)];
}

/** The last flag that a word holds, and the value it carries in itself. */
function matchFlag(word: string, flags: readonly Flag[]): { readonly flag?: Flag; readonly value?: string } {
  const long = /^--([^=]+)(?:=(.*))?$/s.exec(word);
  if (long) {
    const flag = flags.find((candidate) => candidate.long === long[1]);
    return { ...(flag ? { flag } : {}), ...(long[2] === undefined ? {} : { value: long[2] }) };
  }
  if (!/^-[a-zA-Z]/.test(word)) return {};
  for (let at = 1; at < word.length; at += 1) {
    const flag = flags.find(({ short }) => short === word[at]);
    if (flag === undefined) return {};
    if (flag.value === undefined) continue;
    return at + 1 < word.length ? { flag, value: word.slice(at + 1) } : { flag };
  }
  return {};
}

/** The options that environment variables give. Throws AppError `usage` naming a variable whose value cannot be used. */
export function environmentOptions(flags: readonly Flag[], env: Env): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const flag of flags) {
    const text = flag.env === undefined ? undefined : env[flag.env];
    if (text === undefined || text === '') continue;
    options[optionKey(flag)] =
      flag.value === undefined ? isTruthy(text) : readValue(flag, text, { variable: flag.env ?? '' });
  }
  return options;
}

function isTruthy(text: string): boolean {
  return !['0', 'false', 'no', 'off'].includes(text.toLowerCase());
}
