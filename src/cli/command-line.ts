import { OUTPUT_FORMATS } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { findNearestNames } from '../core/text/names.ts';
import type { Invocation } from './invocation.ts';
import { findOtherCommandAdvice } from './near-miss.ts';
import type { Command, Flag } from './table/command.ts';
import { ROOT } from './table/root.ts';
import { parseEnvironment } from './values.ts';

/** Parses argv by the command table; without words it does not load the parser. Throws AppError `usage`. */
export async function readCommandLine(argv: readonly string[], env: Env): Promise<Invocation> {
  if (ROOT.run !== undefined && argv.length === 0) {
    const options = { ...parseEnvironment(ROOT.flags, env), args: argv, isBare: true };
    return { kind: 'run', path: ROOT.name, run: ROOT.run, options };
  }
  const { parseCommandLine } = await import('./parse.ts');
  return parseCommandLine(ROOT, argv, env);
}

export function resolveOutput(argv: readonly string[], env: Env): OutputChoice {
  return scanOutputFlags(ROOT, argv, env);
}

/** Throws AppError `usage` if there is no script for this shell. */
export async function formatCompletionScript(shell: string): Promise<string> {
  const { SCRIPTS } = await import('./completion/script.ts');
  const script = new Map<string, string>(Object.entries(SCRIPTS)).get(shell);
  if (script !== undefined) return script;
  throw new AppError('usage', `there is no completion for "${shell}"`, {
    hint: `Shells: ${Object.keys(SCRIPTS).join(', ')}. Example: gmn completion bash`,
  });
}

/**
 * The page of a topic, or the help of the command at `path`, in short where it has a short one and that is wanted.
 * Throws AppError `usage` if there is neither.
 */
export async function formatHelpFor(path: readonly string[], isShort: boolean): Promise<string> {
  const { isTopic, TOPICS } = await import('./help.ts');
  const [first = ''] = path;
  if (path.length === 1 && isTopic(first) && !isShort) return (await import('./topics.ts')).topicPage(first, ROOT);
  const { helpText, shortHelpText } = await import('./help.ts');
  let command = ROOT;
  for (const name of path) {
    const child = command.subcommands?.find((candidate) => candidate.name === name);
    if (child === undefined) throw unknownHelpError(path, command === ROOT ? Object.keys(TOPICS) : [], command);
    command = child;
  }
  const typed = ['gmn', ...path].join(' ');
  return (isShort ? shortHelpText(command, typed) : undefined) ?? helpText(command, typed);
}

function unknownHelpError(path: readonly string[], topics: readonly string[], { subcommands = [] }: Command): AppError {
  const wanted = path.join(' ');
  const names = [...new Set([...subcommands.map(({ name }) => name), ...topics])];
  const [near] = findNearestNames(path.at(-1) ?? '', names);
  const suggestion =
    near === undefined ? 'Run: gmn help' : `Did you mean: gmn help ${[...path.slice(0, -1), near].join(' ')}`;
  const what = topics.length > 0 ? 'command or topic' : 'command';
  return new AppError('usage', `there is no ${what} "${wanted}"`, {
    hint: findOtherCommandAdvice(wanted) ?? suggestion,
  });
}

interface OutputChoice {
  readonly format: string;
  readonly dialect: string;
}

/** Reads just the output flags, as the parser would: values, clusters of letters, `--`, the last one wins. */
export function scanOutputFlags(root: Command, argv: readonly string[], env: Env): OutputChoice {
  let command = root;
  let flags = collectFlags(root);
  const given = new Map<string, string>();
  for (let index = 0; index < argv.length && argv[index] !== '--'; index += 1) {
    const word = argv[index] ?? '';
    const { flag, value } = matchFlag(word, flags);
    const child = command.subcommands?.find(({ name }) => name === word);
    if (child !== undefined) {
      command = child;
      flags = [...child.flags, ...collectFlags(root)];
    }
    if (flag === undefined) continue;
    const mayLack = flag.isOptional || flag.preset !== undefined;
    const isLacking = mayLack && argv[index + 1]?.startsWith('-');
    const isNext = flag.value !== undefined && value === undefined && !isLacking;
    if (isNext) index += 1;
    // The `--json '{…}'` of `mcp call` takes arguments; it does not choose the output format.
    if (flag.long === 'json' && flag.value !== undefined) continue;
    given.set(flag.long, (isNext ? argv[index] : value) ?? '');
  }
  const format = given.get('output-format') ?? (given.has('json') ? 'json' : env.GMN_OUTPUT_FORMAT);
  return {
    format: OUTPUT_FORMATS.find((name) => name === format) ?? 'text',
    dialect: given.get('output-dialect') ?? env.GMN_OUTPUT_DIALECT ?? 'gmn',
  };
}

function collectFlags(command: Command): readonly Flag[] {
  return [...command.flags, ...(command.subcommands ?? []).flatMap(collectFlags)];
}

function matchFlag(word: string, flags: readonly Flag[]): { readonly flag?: Flag; readonly value?: string } {
  const long = /^--([^=]+)(?:=(.*))?$/s.exec(word);
  if (long) {
    const flag = flags.find((candidate) => [candidate.long, ...(candidate.aliases ?? [])].includes(long[1] ?? ''));
    return { flag, value: long[2] };
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
