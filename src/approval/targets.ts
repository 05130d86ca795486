import { AppError } from '../core/error.ts';
import type { Secret, Workspace } from '../tools/workspace/workspace.ts';
import type { ApprovalOptions } from './approve.ts';
import { type PartsContext, resolveParts } from './command-parts.ts';

/** Finds calls that read a file that may hold secrets, and permits one: by file identity, not by name. */
export function secretFiles(workspace: Workspace): Pick<ApprovalOptions, 'findSecret' | 'permit'> {
  /** By path, as they were when the person was asked. */
  const shown = new Map<string, Secret>();
  return {
    findSecret: async (tool, args) => {
      const path = tool.effect === 'read' ? tool.findPath?.(args) : undefined;
      if (path === undefined) return undefined;
      const secret = await workspace.findSecretAt(path);
      if (secret !== undefined) shown.set(secret.path, secret);
      return secret?.path;
    },
    permit: async (path) => {
      const secret = shown.get(path);
      const now = await workspace.findSecretAt(path);
      // The file may have been replaced while the question was open.
      if (secret === undefined || now?.path !== path || now.identity !== secret.identity) {
        throw new AppError('usage', `${path} is a different file now, and was not read`, { hint: 'Ask again.' });
      }
      workspace.permit(secret);
    },
  };
}

/**
 * Finds the real path of the file a call would write, and of the directory a command would run in, with the programs of
 * the command; undefined if the fence refuses it, as it will again when the tool runs.
 */
export function targetFiles(
  workspace: Workspace,
  isProgram: PartsContext['isProgram'],
): Required<Pick<ApprovalOptions, 'findTarget' | 'isGuarded' | 'permitChange' | 'findDirectory' | 'findParts'>> {
  const findRealPath = (path: string, use: 'read' | 'write'): Promise<string | undefined> =>
    workspace.place(path, use).then(
      (place) => place.path,
      () => undefined,
    );
  return {
    isGuarded: workspace.isGuarded,
    permitChange: workspace.permitChange,
    findDirectory: async (tool, args) =>
      tool.effect === 'execute' && tool.findPath !== undefined
        ? findRealPath(tool.findPath(args) ?? '.', 'read')
        : undefined,
    findParts: async (tool, args, directory) => {
      const found = tool.findCommand?.(args);
      return found?.isPosix ? resolveParts(found.command, directory, { fence: workspace, isProgram }) : undefined;
    },
    findTarget: async (tool, args) => {
      const path = tool.effect === 'write' ? tool.findPath?.(args) : undefined;
      return path === undefined ? undefined : findRealPath(path, 'write');
    },
  };
}
