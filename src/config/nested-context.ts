import { dirname, join, relative, resolve, sep } from 'node:path';
import { contains, toSlashes } from '../core/text/path.ts';
import { isDirectory, realPath } from '../platform/files/path.ts';
import { createContextReader, createTrustCheck } from './context.ts';
import {
  type Context,
  type ContextOptions,
  findFilesIn,
  listContextNames,
  listProjectFolders,
} from './context-place.ts';

interface NestedContext extends Pick<Context, 'sources'> {
  readonly files: readonly { readonly path: string; readonly content: string }[];
  readonly notices: readonly string[];
}

interface NestedOptions extends ContextOptions {
  readonly roots: readonly string[];
}

/** Files that come with a tool's result must not be longer than most results. */
const LIMITS = { fileBytes: 64_000, fileSize: '64 kB', totalLength: 100_000 };

/** Their content is not the project's own. */
const SKIPPED: readonly string[] = ['.git', 'node_modules', 'bower_components'];

const NONE: NestedContext = { files: [], sources: [], notices: [] };

/**
 * Reads the context files of the folders from a root of the workspace down to `path`, except those of the working directory and
 * above, which are in the system instruction, and those for which `isSent` is true. Skips untrusted folders without a notice.
 * Throws AppError `config` if a list of trusted folders is broken.
 */
export async function readNestedContext(
  options: NestedOptions,
  path: string,
  isSent: (path: string) => boolean,
): Promise<NestedContext> {
  const cwd = realPath(options.cwd) ?? options.cwd;
  const roots = options.roots.map((root) => realPath(resolve(cwd, root)) ?? root);
  const real = realPath(resolve(cwd, path));
  const directory = real === undefined || isDirectory(real) ? real : dirname(real);
  const root = directory === undefined ? undefined : roots.find((candidate) => contains(candidate, directory));
  if (directory === undefined || root === undefined) return NONE;
  const above = listProjectFolders(cwd);
  const names = listContextNames(options.settings, contains(cwd, directory));
  const found = listFolders(root, directory)
    .filter((folder) => !above.includes(folder))
    .flatMap((folder) =>
      findFilesIn(folder, names).map((file) => ({ file, folder, name: toSlashes(relative(cwd, file)) })),
    )
    .filter(({ name }) => !isSent(name));
  if (found.length === 0) return NONE;
  const decide = createTrustCheck(options);
  const reader = createContextReader(LIMITS);
  const files: { readonly path: string; readonly content: string }[] = [];
  for (const { file, folder, name } of found) {
    if (!decide(folder).isTrusted) continue;
    const content = (await reader.read({ file, root, scope: 'project' }))?.trim();
    if (content) files.push({ path: name, content });
  }
  return { files, sources: reader.sources, notices: reader.notices };
}

/** From `root` down to `directory`, both included; ends above a folder that is skipped. */
function listFolders(root: string, directory: string): readonly string[] {
  const steps = relative(root, directory)
    .split(sep)
    .filter((step) => step !== '');
  const end = steps.findIndex((step) => SKIPPED.includes(step));
  const wanted = end === -1 ? steps : steps.slice(0, end);
  return [root, ...wanted.map((_, index) => join(root, ...wanted.slice(0, index + 1)))];
}
