import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { ROOT } from './commands.ts';
import { environmentOptions } from './environment-options.ts';
import { type Invocation, isPlain } from './invocation.ts';
import { outlineOf } from './outline.ts';
import { type WantedOutput, wantedOutput } from './wanted-output.ts';

/** Reads argv by our command table; the parser is loaded where there is something to parse. Throws AppError `usage`. */
export async function readCommandLine(argv: readonly string[], env: Env): Promise<Invocation> {
  if (ROOT.run !== undefined && isPlain(outlineOf(ROOT), argv)) {
    return {
      kind: 'run',
      path: ROOT.name,
      run: ROOT.run,
      options: { ...environmentOptions(ROOT.flags, env), args: argv },
    };
  }
  const { parseCommandLine } = await import('./parse.ts');
  return parseCommandLine(ROOT, argv, env);
}

/** How the failure of a line that could not be run is shown. */
export function outputOf(argv: readonly string[], env: Env): WantedOutput {
  return wantedOutput(ROOT, argv, env);
}

/** The help of the command at `path`. Throws AppError `usage` if there is none. */
export async function helpOf(path: readonly string[]): Promise<string> {
  const { helpText } = await import('./help.ts');
  let command = ROOT;
  for (const name of path) {
    const child = command.subcommands?.find((candidate) => candidate.name === name);
    if (child === undefined) {
      throw new AppError('usage', `there is no command "${path.join(' ')}"`, { hint: 'Run: gmn --help' });
    }
    command = child;
  }
  return helpText(command, ['gmn', ...path].join(' '));
}
