import type { ApprovalOptions } from '../../src/approval/approve.ts';
import { resolveParts } from '../../src/approval/command-parts.ts';
import { AppError } from '../../src/core/error.ts';
import { contains } from '../../src/core/text/path.ts';
import { isSensitivePath } from '../../src/core/text/secrets.ts';
import { isProtected } from '../../src/tools/workspace/protection.ts';

/** The programs of a command in `/w/app`, which has no links: paths are judged by their spelling. */
export const findParts: NonNullable<ApprovalOptions['findParts']> = async (tool, args, directory) => {
  const found = tool.findCommand?.(args);
  return found?.isPosix ? resolveParts(found.command, directory, { fence, isProgram: () => false }) : undefined;
};

const fence: Parameters<typeof resolveParts>[2]['fence'] = {
  async place(path, use) {
    if (!contains('/w/app', path) || (use === 'write' && isProtected(path))) throw new AppError('usage', 'outside');
    return { path, name: path, missing: 0, isSensitive: isSensitivePath(path) };
  },
  isGuarded: async () => false,
};
