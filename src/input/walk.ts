import { join } from 'node:path';
import { AppError } from '../core/error.ts';
import { isSensitiveEntry } from '../core/text/secrets.ts';
import { listDirectory } from '../platform/files/read.ts';
import { readNamedRules, readRules } from '../tools/search/ignore-rules.ts';
import { ENTRY_LIMIT, FILE_COUNT_LIMIT } from './attachment.ts';

interface WalkRequest {
  /** Without symbolic links. */
  readonly root: string;
  readonly name: string;
  /** Without symbolic links. */
  readonly workspace: string;
  readonly signal: AbortSignal;
  /** True for a directory (real path) whose files must be named one by one. */
  readonly isWithheld: (path: string) => boolean;
  /** Levels below the root; unlimited if absent. */
  readonly maxDepth?: number;
  /** Gets the path below the root, with slashes. All files if absent. */
  readonly accepts?: (path: string) => boolean;
}

export interface WalkResult {
  /** Paths below the root, with slashes, sorted. */
  readonly files: readonly string[];
  /** Accepted, but likely to hold keys or passwords; directories end with a slash. */
  readonly secrets: readonly string[];
  /** Accepted, but links, which may point anywhere. */
  readonly links: readonly string[];
}

/**
 * The files below a directory that are not ignored. Links are never followed, so there are no loops and no way out. If
 * the root itself is ignored, it was named on purpose, and only the ignore files inside it count. Throws AppError
 * `usage` if there are too many.
 */
export async function walkFiles(request: WalkRequest): Promise<WalkResult> {
  const { root, workspace, signal, maxDepth = Number.POSITIVE_INFINITY, accepts = () => true } = request;
  const found: Record<keyof WalkResult, string[]> = { files: [], secrets: [], links: [] };
  const pending = [{ below: '', depth: 1, rules: readRules(root, workspace) ?? readNamedRules(root) }];
  let entries = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    signal.throwIfAborted();
    for (const { name, kind } of await listDirectory(join(root, next.below))) {
      entries += 1;
      if (entries > ENTRY_LIMIT) throw tooManyError(request.name, `${ENTRY_LIMIT} entries`);
      const below = next.below === '' ? name : `${next.below}/${name}`;
      const path = join(root, below);
      if (next.rules.ignores(path, kind === 'directory' ? 'directory' : 'file')) continue;
      if (kind === 'directory') {
        if (request.isWithheld(path)) {
          // With a pattern, the directory may not contain a match.
          if (request.accepts === undefined) found.secrets.push(`${below}/`);
        } else if (next.depth < maxDepth) {
          pending.push({ below, depth: next.depth + 1, rules: next.rules.within(path) });
        }
      } else if (kind !== 'other' && accepts(below)) {
        const list = kind === 'link' ? found.links : isSensitiveEntry(path) ? found.secrets : found.files;
        list.push(below);
        if (found.files.length > FILE_COUNT_LIMIT) throw tooManyError(request.name, `${FILE_COUNT_LIMIT} files`);
      }
    }
  }
  for (const list of Object.values(found)) list.sort();
  return found;
}

function tooManyError(name: string, limit: string): AppError {
  return new AppError('usage', `more than ${limit} in ${name}`, {
    hint: 'Name a smaller directory or a narrower glob, or leave some out in .geminiignore.',
  });
}
