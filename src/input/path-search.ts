import { join } from 'node:path';
import { isSensitiveEntry } from '../core/text/secrets.ts';
import { startPace } from '../platform/runtime/pace.ts';
import { rulesAboveNamed } from '../tools/search/ignore.ts';
import { joinBelow, walkTree } from '../tools/search/walk.ts';
import { resolveWorkspace } from './files.ts';

/** The user waits for completion, so no more entries are visited. */
const MAX_ENTRIES = 10_000;

interface PathQuery {
  readonly cwd: string;
  readonly most: number;
  readonly signal: AbortSignal;
}

/**
 * Paths below the working directory that match what was typed, the best first; directories end with a slash. Ignored
 * files and possible secrets are omitted. A path with a space is quoted as in a mention.
 */
export async function findPaths(typed: string, { cwd, most, signal }: PathQuery): Promise<readonly string[]> {
  const wanted = typed.replace(/^"/, '').toLowerCase();
  const scored: { readonly path: string; readonly score: number }[] = [];
  for await (const path of walkPaths(await resolveWorkspace(cwd), signal)) {
    const score = scorePath(path.toLowerCase(), wanted);
    if (score !== undefined) scored.push({ path, score });
  }
  scored.sort((left, right) => left.score - right.score || left.path.length - right.path.length);
  return scored.slice(0, most).map(({ path }) => (/\s/.test(path) ? `"${path}"` : path));
}

/** Breadth first, so that near paths are found even in huge trees. */
async function* walkPaths(root: string, signal: AbortSignal): AsyncGenerator<string, void> {
  const walk = walkTree({
    start: root,
    hold: 'path',
    rules: rulesAboveNamed(root, root).rules,
    order: 'breadth',
    enters: (path) => !isSensitiveEntry(path),
    shows: (below) => !isSensitiveEntry(join(root, below)),
    pace: startPace({ maxEntries: MAX_ENTRIES, maxMs: Number.POSITIVE_INFINITY }, signal),
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
