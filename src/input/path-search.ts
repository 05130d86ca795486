import { join } from 'node:path';
import { isSensitiveEntry } from '../core/text/secrets.ts';
import { isDirectory, realPath } from '../platform/files/path.ts';
import { startPace } from '../platform/runtime/pace.ts';
import { readRulesAboveNamed } from '../tools/search/ignore.ts';
import { joinBelow, walkTree } from '../tools/search/walk.ts';
import { resolveWorkspace } from './named-file.ts';

/** The user waits for completion, so no more entries are visited. */
const MAX_ENTRIES = 30_000;

/**
 * Paths below the working directory that match what was typed, the best first; directories end with a slash. Ignored
 * files and possible secrets are omitted. A path with a space is quoted as in a mention.
 */
export type PathSearch = (
  typed: string,
  query: { readonly cwd: string; readonly most: number },
) => Promise<readonly string[]>;

/** Walks the tree once for a word, and filters what it found as more letters are typed. */
export function createPathSearch(maxEntries = MAX_ENTRIES): PathSearch {
  let last: { readonly typed: string; readonly start: string; readonly walk: ReturnType<typeof startWalk> } | undefined;
  return async (typed, { cwd, most }) => {
    const wanted = typed.replace(/^"/, '');
    const root = await resolveWorkspace(cwd);
    const directory = findTypedDirectory(wanted, root);
    const start = join(root, directory);
    if (last?.start !== start || !wanted.startsWith(last.typed)) {
      last?.walk.stop();
      last = { typed: wanted, start, walk: startWalk({ root, directory, maxEntries }) };
    } else last = { ...last, typed: wanted };
    return rankPaths(await last.walk.paths, wanted.toLowerCase(), most);
  };
}

interface WalkPlace {
  readonly root: string;
  /** Below the root; empty for the root itself. */
  readonly directory: string;
  readonly maxEntries: number;
}

/** Its paths are empty if it was stopped. */
function startWalk(place: WalkPlace) {
  const controller = new AbortController();
  return { paths: collectPaths(place, controller.signal).catch(() => []), stop: () => controller.abort() };
}

/** The paths below the working directory, the near ones first; none if it cannot be read. Throws the signal's reason. */
export async function listNearPaths(cwd: string, signal: AbortSignal): Promise<readonly string[]> {
  try {
    return await collectPaths({ root: await resolveWorkspace(cwd), directory: '', maxEntries: MAX_ENTRIES }, signal);
  } catch {
    signal.throwIfAborted();
    return [];
  }
}

async function collectPaths(place: WalkPlace, signal: AbortSignal): Promise<readonly string[]> {
  const paths: string[] = [];
  for await (const path of walkPaths(place, signal)) paths.push(joinBelow(place.directory, path));
  return paths;
}

/** The directory that was typed in full, so that what is in it is found even in a huge tree; else empty. */
function findTypedDirectory(typed: string, root: string): string {
  const directory = typed.slice(0, Math.max(typed.lastIndexOf('/'), 0));
  const path = join(root, directory);
  // A link is another path than its real one.
  if (directory.split('/').some((step) => ['', '.', '..'].includes(step)) || realPath(path) !== path) return '';
  return isDirectory(path) && !isSensitiveEntry(path) && !readRulesAboveNamed(path, root).isExcluded ? directory : '';
}

function rankPaths(paths: readonly string[], wanted: string, most: number): readonly string[] {
  const scored = paths.flatMap((path) => {
    const score = scorePath(path.toLowerCase(), wanted);
    return score === undefined ? [] : [{ path, score }];
  });
  scored.sort((left, right) => left.score - right.score || left.path.length - right.path.length);
  return scored.slice(0, most).map(({ path }) => (/\s/.test(path) ? `"${path}"` : path));
}

/** Breadth first, so that near paths are found even in huge trees. */
async function* walkPaths(
  { root, directory, maxEntries }: WalkPlace,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  signal.throwIfAborted();
  const start = join(root, directory);
  const walk = walkTree({
    start,
    handleMode: 'path',
    rules: readRulesAboveNamed(start, root).rules,
    order: 'breadth',
    enters: (path) => !isSensitiveEntry(path),
    shows: (below) => !isSensitiveEntry(join(start, below)),
    pace: startPace({ maxEntries, maxMs: Number.POSITIVE_INFINITY }, signal),
    onUnreadable: () => {},
    onStopped: () => {},
  });
  for await (const { below, files, directories, close } of walk) {
    close();
    const slashes = new Map(directories.map((name) => [name, '/']));
    for (const name of [...files, ...directories].sort()) yield `${joinBelow(below, name)}${slashes.get(name) ?? ''}`;
  }
}

/** Lower is better: prefix of the path, prefix of the name, substring, letters in this order. */
function scorePath(path: string, wanted: string): number | undefined {
  if (path.startsWith(wanted)) return path.slice(wanted.length).replace(/\/$/, '').includes('/') ? 1 : 0;
  const name = path.replace(/\/$/, '').replace(/^.*\//, '');
  if (name.startsWith(wanted)) return 2;
  if (path.includes(wanted)) return 3;
  let at = 0;
  for (const letter of path) if (letter === wanted[at]) at += 1;
  return at >= wanted.length ? 4 : undefined;
}
