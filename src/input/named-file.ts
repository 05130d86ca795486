import { join, relative, resolve, sep } from 'node:path';
import type { App, Homes } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { contains } from '../core/text/path.ts';
import { isSamePath, isSensitivePath, isState, listStateDirectories, splitAtRoot } from '../core/text/secrets.ts';
import { sanitize } from '../core/text/terminal.ts';
import { realPath } from '../platform/files/path.ts';
import { type FoundPath, inspectPath } from '../platform/files/read.ts';
import { findUserHomes } from '../platform/host.ts';

export interface NamingContext extends Pick<App, 'cwd' | 'env'> {
  readonly homes?: App['homes'];
}

export interface Withholding {
  /** The working directory without symbolic links. */
  readonly workspace: string;
  /** True for a path that is sent only if the user names this very file. */
  readonly isWithheld: (path: string) => boolean;
}

/** The system shows processes here, and with them their variables, in which people keep keys. */
const PROCESSES = sep === '/' ? ['/proc'] : [];

/** Withholds what the tools would: what may hold secrets, and the state of gmn and the official CLI; and processes. */
export async function createWithholding(context: NamingContext): Promise<Withholding> {
  const workspace = await resolveWorkspace(context.cwd);
  const state = listStateDirectories(findHomes(context), findUserHomes(context.env));
  return {
    workspace,
    isWithheld: (path) => {
      const { tail, above } = splitAtRoot(contains(workspace, path) ? workspace : path, path);
      return (
        isState(path, state) || isSensitivePath(tail, above) || PROCESSES.some((directory) => contains(directory, path))
      );
    },
  };
}

/** Without a home directory there is no state to protect. */
function findHomes({ homes }: NamingContext): Homes | undefined {
  try {
    return homes?.();
  } catch {
    return undefined;
  }
}

/** Without symbolic links. */
export async function resolveWorkspace(cwd: string): Promise<string> {
  return (await inspectPath(cwd))?.path ?? cwd;
}

/**
 * What a path leads to that the user names in order to send it, links followed; undefined if nothing. Every file that is
 * read to be sent is found here. Throws AppError `usage` if a link leads to a file that may hold secrets: the link may
 * have come with the folder, so the user has to name the file itself.
 */
export async function findNamedFile(name: string, context: NamingContext): Promise<FoundPath | undefined> {
  const found = await inspectPath(resolve(context.cwd, name), name);
  if (found === undefined || found.kind === 'directory') return found;
  const { workspace, isWithheld } = await createWithholding(context);
  if (!isWithheld(found.path) || isSamePath(toNamedPath(name, workspace, context), found.path)) return found;
  const real = sanitize(found.path);
  throw new AppError('usage', `${sanitize(name)} leads to ${real}, which may hold secrets`, {
    hint: `If you want to send it, name that file itself: ${real}`,
  });
}

/** The real path of such a file, or the path of what does not exist, for a reader to say so. */
export async function resolveNamedFile(name: string, context: NamingContext): Promise<string> {
  return (await findNamedFile(name, context))?.path ?? resolve(context.cwd, name);
}

/** As it was named, except for links above the working directory or home directory, which did not come with a folder. */
function toNamedPath(name: string, workspace: string, { cwd, env: { HOME = cwd } }: NamingContext): string {
  const path = resolve(cwd, name);
  const [from, to] = contains(cwd, path) ? [cwd, workspace] : [HOME, realPath(HOME) ?? HOME];
  return contains(from, path) ? join(to, relative(from, path)) : path;
}
