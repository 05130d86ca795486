import { findHarm } from '../../../approval/harm.ts';
import type { App } from '../../../core/app.ts';
import type { CommandCall } from '../../../core/tool.ts';
import { realPath } from '../../../platform/files/path.ts';
import { findUserHomes } from '../../../platform/host.ts';

/** What commands that nothing confines would destroy beyond the workspace, as far as gmn knows such commands. */
export function createHarmCheck(
  { env, cwd }: Pick<App, 'env' | 'cwd'>,
  roots: readonly string[] = [cwd],
): (command: Pick<CommandCall, 'command' | 'isPosix'>, directory?: string) => string | undefined {
  const place = { env, homes: findUserHomes(env), roots: roots.map((root) => realPath(root) ?? root), realPath };
  return ({ command, isPosix }, directory = cwd) =>
    findHarm(command, { ...place, directory: realPath(directory) ?? directory, isPosix });
}
