import { join } from 'node:path';
import { AppError } from '../core/error.ts';
import { isSensitiveEntry } from '../core/text/secrets.ts';
import { listDirectory } from '../platform/files/read.ts';
import { rulesFor, rulesOfNamed } from '../tools/search/ignore-rules.ts';
import { ENTRY_LIMIT, FILE_COUNT_LIMIT } from './attachment.ts';

interface WalkRequest {
  /** Free of links. */
  readonly root: string;
  /** How the root is called in errors. */
  readonly name: string;
  /** Free of links. */
  readonly workspace: string;
  readonly signal: AbortSignal;
  /** Whether nothing of a directory, by its real path, goes along unless its files are named. */
  readonly isWithheld: (path: string) => boolean;
  /** How many steps below the root a file may be; as many as there are if absent. */
  readonly maxDepth?: number;
  /** Given the path below the root, with slashes. All files if absent. */
  readonly accepts?: (path: string) => boolean;
}

export interface Walked {
  /** Paths below the root, with slashes, in order. */
  readonly files: readonly string[];
  /** Accepted, but likely to hold keys or passwords; directories end in a slash. */
  readonly secrets: readonly string[];
  /** Accepted, but links: what they point to may be anywhere. */
  readonly links: readonly string[];
}

/**
 * The files below a directory, ignore files honoured. Links are never followed, so there are no loops and no way out.
 * A root that is itself ignored was named on purpose: then only the ignore files in it count.
 * Throws AppError `usage` when there are too many.
 */
export async function walk(request: WalkRequest): Promise<Walked> {
  const { root, workspace, signal, maxDepth = Number.POSITIVE_INFINITY, accepts = () => true } = request;
  const found: Record<keyof Walked, string[]> = { files: [], secrets: [], links: [] };
  const pending = [{ below: '', depth: 1, rules: rulesFor(root, workspace) ?? rulesOfNamed(root) }];
  let entries = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    signal.throwIfAborted();
    for (const { name, kind } of await listDirectory(join(root, next.below))) {
      entries += 1;
      if (entries > ENTRY_LIMIT) throw tooMany(request.name, `${ENTRY_LIMIT} entries`);
      const below = next.below === '' ? name : `${next.below}/${name}`;
      const path = join(root, below);
      if (next.rules.ignores(path, kind === 'directory' ? 'directory' : 'file')) continue;
      if (kind === 'directory') {
        if (request.isWithheld(path)) {
          // A pattern means files; what is in there may be none of them.
          if (request.accepts === undefined) found.secrets.push(`${below}/`);
        } else if (next.depth < maxDepth) {
          pending.push({ below, depth: next.depth + 1, rules: next.rules.within(path) });
        }
      } else if (kind !== 'other' && accepts(below)) {
        const list = kind === 'link' ? found.links : isSensitiveEntry(path) ? found.secrets : found.files;
        list.push(below);
        if (found.files.length > FILE_COUNT_LIMIT) throw tooMany(request.name, `${FILE_COUNT_LIMIT} files`);
      }
    }
  }
  for (const list of Object.values(found)) list.sort();
  return found;
}

function tooMany(name: string, limit: string): AppError {
  return new AppError('usage', `more than ${limit} in ${name}`, {
    hint: 'Name a smaller directory or a narrower glob, or leave some out in .geminiignore.',
  });
}
