import { stringOf } from '../core/json.ts';
import { argumentOf, FILE_ALIASES } from '../tools/define.ts';
import type { Workspace } from '../tools/workspace/workspace.ts';
import type { ApprovalOptions } from './approve.ts';

const WRITERS: readonly string[] = ['write_file', 'edit_file'];

/**
 * Which file a call would write, and where a command would run, by where that really is; none if the fence refuses it, as it
 * does when the tool runs.
 */
export function targetFiles(workspace: Workspace): Required<Pick<ApprovalOptions, 'targetOf' | 'directoryOf'>> {
  const real = (path: string, use: 'read' | 'write'): Promise<string | undefined> =>
    workspace.place(path, use).then(
      (place) => place.path,
      () => undefined,
    );
  return {
    directoryOf: async (tool, args) =>
      tool.name === 'run_shell_command' ? real(stringOf(args.dir_path) ?? '.', 'read') : undefined,
    targetOf: async (tool, args) => {
      const path = WRITERS.includes(tool.name) ? stringOf(argumentOf(args, 'file_path', FILE_ALIASES)) : undefined;
      return path === undefined ? undefined : real(path, 'write');
    },
  };
}
