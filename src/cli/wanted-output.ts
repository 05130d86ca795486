import type { Env } from '../core/io.ts';
import type { Command, Flag } from './table/command.ts';

/** How a command line that could not be parsed would have had its failure shown. */
export interface WantedOutput {
  readonly format: string;
  readonly dialect: string;
}

/** Reads just the output flags, as the parser would: values, clusters of letters, `--`, the last one wins. */
export function wantedOutput(root: Command, argv: readonly string[], env: Env): WantedOutput {
  let command = root;
  let flags = allFlags(root);
  const given = new Map<string, string>();
  for (let index = 0; index < argv.length && argv[index] !== '--'; index += 1) {
    const word = argv[index] ?? '';
    const { flag, value } = matchFlag(word, flags);
    const child = command.subcommands?.find(({ name }) => name === word);
    if (child !== undefined) {
      command = child;
      flags = [...child.flags, ...allFlags(root)];
    }
    if (flag === undefined) continue;
    const mayLack = flag.isOptional || flag.preset !== undefined;
    const isLacking = mayLack && argv[index + 1]?.startsWith('-');
    const isNext = flag.value !== undefined && value === undefined && !isLacking;
    if (isNext) index += 1;
    // `mcp call --json '{…}'` says nothing about the output.
    if (flag.long === 'json' && flag.value !== undefined) continue;
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
    const flag = flags.find((candidate) => [candidate.long, ...(candidate.aliases ?? [])].includes(long[1] ?? ''));
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
