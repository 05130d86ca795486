import { OUTPUT_FORMATS } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Flag } from '../core/flag.ts';
import type { Env } from '../core/io.ts';
import { findNearestNames } from '../core/text/names.ts';
import type { Invocation } from './invocation.ts';
import { findOtherCommandAdvice } from './near-miss.ts';
import type { Command } from './table/command.ts';
import { ROOT } from './table/root.ts';
import { parseEnvironment } from './values.ts';
import { matchesFlag, readWords, takesValue } from './words.ts';

/** Parses argv by the command table; without words it does not load the parser. Throws AppError `usage`. */
export async function readCommandLine(argv: readonly string[], env: Env): Promise<Invocation> {
  if (ROOT.run !== undefined && argv.length === 0) {
    const options = { ...parseEnvironment(ROOT.flags, env), args: argv, isBare: true };
    return { kind: 'run', path: ROOT.name, run: ROOT.run, options, typedFlags: [] };
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
  const command = requireCommand(path, Object.keys(TOPICS));
  const typed = ['gmn', ...path].join(' ');
  return (isShort ? shortHelpText(command, typed) : undefined) ?? helpText(command, typed);
}

/** The part of the whole description about the command at `path`. Throws AppError `usage` if there is none; topics are text. */
export async function formatDescriptionFor(path: readonly string[], description: string): Promise<string> {
  if (path.length === 0) return description;
  const [{ isTopic }, { selectCommand }] = await Promise.all([import('./help.ts'), import('./description.ts')]);
  const [first = ''] = path;
  if (path.length === 1 && isTopic(first) && !ROOT.subcommands?.some(({ name }) => name === first)) {
    throw new AppError('usage', `"${first}" is a topic, which is text`, { hint: `Run: gmn help ${first}` });
  }
  requireCommand(path, []);
  return selectCommand(description, ['gmn', ...path].join(' '));
}

function requireCommand(path: readonly string[], topics: readonly string[]): Command {
  let command = ROOT;
  for (const name of path) {
    const child = command.subcommands?.find((candidate) => candidate.name === name);
    if (child === undefined) throw unknownHelpError(path, command === ROOT ? topics : [], command);
    command = child;
  }
  return command;
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
  const find = (name: string): Flag | undefined => flags.find((flag) => matchesFlag(flag, name));
  for (const piece of readWords(argv, find, takesValue)) {
    const child = piece.kind === 'word' && command.subcommands?.find(({ name }) => name === piece.text);
    if (child) {
      command = child;
      flags = [...child.flags, ...collectFlags(root)];
    }
    // The `--json '{…}'` of `mcp call` takes arguments; it does not choose the output format.
    if (piece.kind !== 'flag' || (piece.flag.long === 'json' && piece.flag.value !== undefined)) continue;
    given.set(piece.flag.long, piece.value ?? '');
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
