import type { App } from '../core/app.ts';
import type { EngineName } from '../core/confine.ts';
import { AppError } from '../core/error.ts';
import { splitList } from '../core/text/names.ts';
import { openSandbox } from '../engine/tools/sandbox/sandbox.ts';
import { runAttached } from '../platform/process/confine.ts';
import { programEnvironment } from '../platform/process/environment.ts';
import { createStderr } from '../render/stderr.ts';

interface SandboxCommandOptions {
  readonly args: readonly string[];
  readonly engine?: EngineName | 'auto';
  readonly net?: string;
  readonly includeDirectories?: readonly string[];
}

/** Runs a command as one of the model is run with `--sandbox`, and gives its exit code. */
export async function run(options: SandboxCommandOptions, app: App): Promise<number> {
  const { engine = 'auto', net, includeDirectories = [] } = options;
  const [command, ...args] = options.args;
  if (command === undefined) {
    throw new AppError('usage', 'gmn sandbox needs a command', { hint: 'Example: gmn sandbox -- npm test' });
  }
  const roots = [app.cwd, ...splitList(includeDirectories)];
  const sandbox = await openSandbox(engine, { sandboxNet: net }, { app, roots });
  try {
    const start = sandbox.confine({ command, args, cwd: app.cwd, env: programEnvironment(app.env, {}) });
    const exitCode = await runAttached(start, app.signal);
    const notice = await sandbox.reportMade();
    if (notice !== undefined) await createStderr(app.io.err).notice(notice);
    return exitCode;
  } finally {
    await sandbox.close();
  }
}
