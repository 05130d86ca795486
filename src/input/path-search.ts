import { join } from 'node:path';
import { isSensitiveEntry } from '../core/text/secrets.ts';
import { listDirectory } from '../platform/files/read.ts';
import { readNamedRules, readRules } from '../tools/search/ignore-rules.ts';
import { resolveWorkspace } from './files.ts';

/** The user waits for completion, so no more entries are visited. */
const MAX_ENTRIES = 10_000;

interface PathQuery {
  readonly cwd: string;
  /** Maximum number of results. */
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
  const pending = [{ below: '', rules: readRules(root, root) ?? readNamedRules(root) }];
  let entries = 0;
  for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
    signal.throwIfAborted();
    for (const { name, kind } of await listDirectory(join(root, next.below)).catch(() => [])) {
      entries += 1;
      if (entries > MAX_ENTRIES) return;
      const below = next.below === '' ? name : `${next.below}/${name}`;
      const path = join(root, below);
      if (name === '.git' || isSensitiveEntry(path)) continue;
      if (next.rules.ignores(path, kind === 'directory' ? 'directory' : 'file')) continue;
      if (kind === 'file') yield below;
      else if (kind === 'directory') {
        yield `${below}/`;
        pending.push({ below, rules: next.rules.within(path) });
      }
    }
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
