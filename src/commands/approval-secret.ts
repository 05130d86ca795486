import { AppError } from '../core/error.ts';
import { stringOf } from '../core/json.ts';
import { argumentOf, FILE_ALIASES } from '../tools/define.ts';
import type { Workspace } from '../tools/workspace.ts';
import type { ApprovalOptions } from './approval.ts';

/** Which calls read a file that may hold secrets, and the way to let one through: by where it really is, not by its name. */
export function secretFiles(workspace: Workspace): Pick<ApprovalOptions, 'secretOf' | 'permit'> {
  return {
    secretOf: async (tool, args) => {
      const path = tool.name === 'read_file' ? stringOf(argumentOf(args, 'file_path', FILE_ALIASES)) : undefined;
      if (path === undefined) return undefined;
      // What the fence refuses, it refuses when the tool runs.
      const place = await workspace.place(path, 'read').catch(() => undefined);
      return place?.isSensitive ? place.path : undefined;
    },
    permit: async (path) => {
      // A link that took the file's place while the question stood is not what the person said yes to.
      if ((await workspace.place(path, 'read')).path !== path) {
        throw new AppError('usage', `${path} is another file by now, and was not read`, { hint: 'Ask again.' });
      }
      await workspace.permit(path);
    },
  };
}
