import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { nearestNames } from '../core/text/names.ts';
import { environmentOptions } from './environment-options.ts';
import { type Invocation, isPlain } from './invocation.ts';
import { outlineOf } from './outline.ts';
import type { Command } from './table/command.ts';
import { ROOT } from './table/root.ts';
import { type WantedOutput, wantedOutput } from './wanted-output.ts';

/** Reads argv by our command table; the parser is loaded where there is something to parse. Throws AppError `usage`. */
export async function readCommandLine(argv: readonly string[], env: Env): Promise<Invocation> {
  const isBare = argv.length === 0;
  if (ROOT.run !== undefined && (isBare || isPlain(outlineOf(ROOT), argv))) {
    return {
      kind: 'run',
      path: ROOT.name,
      run: ROOT.run,
      options: { ...environmentOptions(ROOT.flags, env), args: argv, ...(isBare ? { isBare } : {}) },
    };
  }
  const { parseCommandLine } = await import('./parse.ts');
  return parseCommandLine(ROOT, argv, env);
}

/** How the failure of a line that could not be run is shown. */
export function outputOf(argv: readonly string[], env: Env): WantedOutput {
  return wantedOutput(ROOT, argv, env);
}

/** The completion script for a shell. Throws AppError `usage` if there is none. */
export async function completionFor(shell: string): Promise<string> {
  const { isShell, SHELLS } = await import('./completion/shells.ts');
  if (isShell(shell)) return (await import('./completion/script.ts')).completionScript(shell, ROOT);
  throw new AppError('usage', `there is no completion for "${shell}"`, {
    hint: `Shells: ${SHELLS.join(', ')}. Example: gmn completion bash`,
  });
}

/** The page of a topic, or the help of the command at `path`. Throws AppError `usage` if there is neither. */
export async function helpOf(path: readonly string[]): Promise<string> {
  const { isTopic, TOPICS } = await import('./names.ts');
  const [first = ''] = path;
  if (path.length === 1 && isTopic(first)) return (await import('./topics.ts')).topicPage(first, ROOT);
  const { helpText } = await import('./help.ts');
  let command = ROOT;
  for (const name of path) {
    const child = command.subcommands?.find((candidate) => candidate.name === name);
    if (child === undefined) throw noHelp(path, command === ROOT ? Object.keys(TOPICS) : [], command);
    command = child;
  }
  return helpText(command, ['gmn', ...path].join(' '));
}

function noHelp(path: readonly string[], topics: readonly string[], { subcommands = [] }: Command): AppError {
  const wanted = path.join(' ');
  const names = [...new Set([...subcommands.map(({ name }) => name), ...topics])];
  const [near] = nearestNames(path.at(-1) ?? '', names);
  const what = topics.length > 0 ? 'command or topic' : 'command';
  return new AppError('usage', `there is no ${what} "${wanted}"`, {
    hint: near === undefined ? 'Run: gmn help' : `Did you mean: gmn help ${[...path.slice(0, -1), near].join(' ')}`,
  });
}
