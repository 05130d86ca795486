import { join, posix, resolve } from 'node:path';
import { AppError } from '../core/error.ts';
import { compileGlob } from '../core/text/glob.ts';
import { toSlashes } from '../core/text/path.ts';
import { isSensitiveEntry } from '../core/text/secrets.ts';
import { inspectPath, readError } from '../platform/files/read.ts';
import { startPace } from '../platform/runtime/pace.ts';
import { readRulesAboveNamed, unreadableRulesError } from '../tools/search/ignore.ts';
import { joinBelow, walkTree } from '../tools/search/walk.ts';
import { createWalkContext, type FileContext, splitGlob } from './files.ts';

type EachContext = Pick<FileContext, 'cwd' | 'env' | 'homes' | 'signal'>;

/**
 * The files that match a glob, one by one, relative to the working directory. Leaves out what ignore files name, links, and what
 * may hold secrets. Throws AppError `usage` if a directory cannot be read.
 */
export async function* findEachFile(pattern: string, context: EachContext): AsyncGenerator<string, void> {
  const { base, below: rest } = splitGlob(toSlashes(pattern));
  const { matches, depth } = compileGlob(rest, { isCaseSensitive: true, hasBraces: true, hidesDots: true });
  const { cwd, signal, workspace, isWithheld } = await createWalkContext(context);
  const found = await inspectPath(resolve(cwd, base), base);
  if (found?.kind !== 'directory' || isWithheld(found.path)) {
    throw new AppError('usage', `--each: there is no directory ${base} to look in`, { hint: 'Check the pattern.' });
  }
  const walk = walkTree({
    start: found.path,
    handleMode: 'path',
    rules: readRulesAboveNamed(found.path, workspace).rules,
    enters: (path) => !isWithheld(path),
    shows: (below) => matches(below) && !isSensitiveEntry(join(found.path, below)),
    maxDepth: depth,
    pace: startPace({ maxEntries: Number.POSITIVE_INFINITY, maxMs: Number.POSITIVE_INFINITY }, signal),
    onUnreadable: (path, cause) => {
      throw cause === undefined ? unreadableRulesError(path) : readError(cause, path);
    },
    onStopped: () => {},
  });
  for await (const { below, files, close } of walk) {
    close();
    for (const file of files) yield posix.join(toSlashes(base), joinBelow(below, file));
  }
}
