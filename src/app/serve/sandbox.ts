import type { App } from '../../core/app.ts';
import { createEngineContext, findWantedEngine, type SandboxOptions } from '../../engine/tools/sandbox/sandbox.ts';
import { chooseEngine } from '../../platform/sandbox/engine.ts';

/** Throws AppError `config` if the flag or the settings ask for a sandbox that does not work. */
export async function checkServedSandbox(options: SandboxOptions, app: App): Promise<void> {
  const wanted = await findWantedEngine(options, app);
  if (wanted !== undefined) await chooseEngine(wanted, createEngineContext(app, [app.cwd]));
}
