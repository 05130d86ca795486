import { basename, join, relative } from 'node:path';
import { plural } from '../core/text/format.ts';
import { sanitize } from '../core/text/terminal.ts';
import { realPath } from '../platform/files/path.ts';
import { listDirectoryEntries, listPaths } from '../platform/files/read.ts';
import { REPOSITORY_ENTRIES } from '../tools/workspace/protected-lists.ts';
import { isProtected } from '../tools/workspace/protection.ts';

/** What builds write, although no tool that edits files may. */
export const BUILD_DIRECTORIES = ['.venv', '.bundle', '.yarn'];

/** Those nearest to the root are looked at first. */
const MAX_DIRECTORIES = 500;
const MAX_SHOWN = 10;

/**
 * No engine can keep a command from making a file of a certain name, and the file stays when nothing is confined any more: git runs what the
 * configuration of a `.git` names, even to show a status. So the person is told what is new of that kind, or leads elsewhere than before.
 * Gives a notice about what is new since it was last asked.
 */
export function watchRoots(roots: readonly string[]): () => string | undefined {
  const known = new Map(roots.flatMap(listTrusted));
  return () => {
    const made = roots.flatMap(listTrusted).filter(([path, target]) => known.get(path) !== target);
    for (const [path, target] of made) known.set(path, target);
    return made.length === 0
      ? undefined
      : formatMade(
          made.map(([path]) => path),
          roots,
        );
  };
}

function formatMade(paths: readonly string[], roots: readonly string[]): string {
  const [root = ''] = roots;
  const names = paths.slice(0, MAX_SHOWN).map((path) => sanitize(roots.length === 1 ? relative(root, path) : path));
  const more = paths.length > MAX_SHOWN ? ` and ${plural(paths.length - MAX_SHOWN, 'other')}` : '';
  return `commands ran here, and what other programs run or trust is new: ${names.join(', ')}${more}. Look at it before you use git or an editor there`;
}

/** With where it leads. */
type Trusted = readonly [path: string, target: string | undefined];

/** What other programs run or trust, directly in a root; and repositories of git anywhere below: it asks nobody before it runs something. */
function listTrusted(root: string): readonly Trusted[] {
  const paths = [...listPaths(root).flatMap((path) => listTrustedEntries(path)), ...listRepositories(root)];
  return [...new Set(paths)].map((path) => [path, realPath(path)]);
}

function listTrustedEntries(path: string): readonly string[] {
  const name = basename(path);
  if (BUILD_DIRECTORIES.includes(name)) return [];
  if (isProtected(name)) return [path];
  if (!name.startsWith('.')) return [];
  return listPaths(path).filter((each) => isProtected(join(name, basename(each))));
}

/** Of git, each by the file or directory that makes it one. Only those near enough to the root are found. */
export function listRepositories(root: string): readonly string[] {
  const found: string[] = [];
  const directories = [root];
  for (const directory of directories) {
    const entries = listDirectoryEntries(directory);
    const isThere = (name: string): boolean => entries.some((entry) => entry.name === name);
    if (isThere('.git')) found.push(join(directory, '.git'));
    if (REPOSITORY_ENTRIES.some((names) => names.every(isThere))) found.push(directory);
    const inside = entries.filter(({ name, kind }) => kind === 'directory' && !['.git', 'node_modules'].includes(name));
    for (const { name } of inside.slice(0, MAX_DIRECTORIES - directories.length))
      directories.push(join(directory, name));
  }
  return found;
}
