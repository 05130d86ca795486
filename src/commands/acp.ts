import type { AcpOptions } from '../acp/open.ts';
import { serveEditor } from '../acp/server.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { abortWithParent } from '../platform/process/identity.ts';
import { createStderr } from '../render/stderr.ts';

interface AcpCommandOptions extends AcpOptions {
  readonly args: readonly string[];
}

/** On stdin and stdout until the editor closes them or dies. */
export async function run({ args, ...options }: AcpCommandOptions, app: App): Promise<number> {
  if (args.length > 0) return runAfterwards(args, app);
  if (options.maxCost !== undefined && !(options.maxCost > 0)) {
    throw new AppError('usage', '--max-cost must be more than 0', { hint: 'In dollars, e.g. --max-cost 5' });
  }
  if (await app.stdin.isTerminal()) {
    await createStderr(app.io.err).notice(
      'waiting for an editor on stdin; editors start this command themselves (gmn help acp). Ctrl+C ends it',
    );
  }
  const output = await app.claimStdout();
  const input = app.stdin.read(abortWithParent(app.signal));
  await serveEditor({ options, app, input, output });
  return app.signal.aborted ? AppError.from(app.signal.reason).exitCode : 0;
}

/** To sign in, an editor runs the command that it was told to start with `auth set-key` after it. */
async function runAfterwards(args: readonly string[], app: App): Promise<number> {
  if (args.join(' ') !== 'auth set-key') {
    throw new AppError('usage', 'gmn acp takes no words but auth set-key', { hint: 'What it takes: gmn acp --help' });
  }
  const { run: setKey } = await import('./auth/set-key.ts');
  return setKey({}, app);
}
