import { ROOT } from './cli/commands.ts';
import type { Command } from './cli/flag.ts';
import { type Options, plainPrompt, type WantedOutput, wantedOutput } from './cli/invocation.ts';
import { guardNearMiss } from './cli/near-miss.ts';
import { homes } from './config/home.ts';
import { loadSettings } from './config/settings.ts';
import { AppError } from './core/error.ts';
import type { Env } from './core/io.ts';
import { type AppOptions, openIo, processApp } from './platform/app.ts';
import type { ProcessIo } from './platform/io.ts';
import { isAttended } from './platform/terminal.ts';

/** Runs one command line to its end and returns the exit code. Never throws. */
export async function main(argv: readonly string[], env: Env, version: string): Promise<number> {
  let io = openIo({}, env);
  try {
    const invocation =
      plainPrompt(ROOT, argv, env) ?? (await import('./cli/parse.ts')).parseCommandLine(ROOT, argv, env);
    if (invocation.kind === 'version') await io.out.write(`${version}\n`);
    else if (invocation.kind === 'help') await io.out.write(await help(invocation.path));
    else {
      const { command, options } = invocation;
      const flags = parseAppOptions(options);
      if (flags.color !== undefined || flags.noColor) io = openIo(flags, env);
      guardNearMiss(ROOT, command === ROOT ? options.args : [], isAttended);
      const exitCode = await runCommand(command, options, { version, env, flags, io });
      await io.flush();
      return exitCode;
    }
    await io.flush();
    return 0;
  } catch (thrown) {
    return reportFailure(AppError.from(thrown), wantedOutput(ROOT, argv, env), io);
  }
}

interface Setting {
  readonly version: string;
  readonly env: Env;
  readonly flags: AppOptions;
  readonly io: ProcessIo;
}

async function runCommand(command: Command, options: Options, setting: Setting): Promise<number> {
  const app = await processApp({ ...setting, findHomes: homes, loadSettings });
  if (command.run === undefined) throw new AppError('internal', `${command.name} has nothing to run`);
  return command.run(options, app);
}

async function help(path: readonly string[]): Promise<string> {
  const { helpText } = await import('./cli/help.ts');
  let command = ROOT;
  for (const name of path) {
    const child = command.subcommands?.find((candidate) => candidate.name === name);
    if (child === undefined) {
      throw new AppError('usage', `there is no command "${path.join(' ')}"`, {
        hint: 'Run: gmn --help',
      });
    }
    command = child;
  }
  return helpText(command, ['gmn', ...path].join(' '));
}

/** A failure outside a run: the same words and the same shape as inside one. */
async function reportFailure(error: AppError, output: WantedOutput, io: ProcessIo): Promise<number> {
  try {
    const { failureRenderer } = await import('./render/renderers.ts');
    const render = await failureRenderer(output.format, output.dialect, io);
    await render({ type: 'failure', error });
    await io.flush();
  } catch {
    // Nobody is left to tell.
  }
  return error.exitCode;
}

function parseAppOptions(options: Options): AppOptions {
  return options as AppOptions;
}
