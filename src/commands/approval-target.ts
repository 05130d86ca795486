import { stringOf } from '../core/json.ts';
import { argumentOf, FILE_ALIASES } from '../tools/define.ts';
import type { Workspace } from '../tools/workspace.ts';
import type { ApprovalOptions } from './approval.ts';

const WRITERS: readonly string[] = ['write_file', 'edit_file'];

/** Which file a call would write, by where it really is; none if the fence refuses it, as it does when the tool runs. */
export function targetFiles(workspace: Workspace): Pick<ApprovalOptions, 'targetOf'> {
  return {
    targetOf: async (tool, args) => {
      const path = WRITERS.includes(tool.name) ? stringOf(argumentOf(args, 'file_path', FILE_ALIASES)) : undefined;
      if (path === undefined) return undefined;
      return workspace.place(path, 'write').then(
        (place) => place.path,
        () => undefined,
      );
    },
  };
}
