import { posix, resolve } from 'node:path';
import { findNearestNames } from '../core/text/names.ts';
import { toSlashes } from '../core/text/path.ts';
import { isDirectory } from '../platform/files/path.ts';
import { readDirectory } from '../platform/files/read.ts';

/** Endings of file names that handles, decorators and hosts do not have. */
const FILE_ENDING =
  /\.(?:md|txt|rst|tex|json|jsonl|ya?ml|toml|csv|tsv|xml|html?|s?css|[cm]?[jt]sx?|py|ipynb|rb|rs|go|java|kt|swift|c|h|cc|cpp|hpp|cs|php|sh|sql|log|ini|conf|cfg|lock|diff|patch|pdf|png|jpe?g|gif|webp|svg|mp[34]|wav|docx?|xlsx?|pptx?)$/i;

/** Finds a path below the working directory by its last part. Throws the signal's reason. */
export type FindElsewhere = (name: string) => Promise<string | undefined>;

interface MissingContext {
  readonly cwd: string;
  readonly findElsewhere: FindElsewhere;
}

/**
 * What to say about a mention of which no file was found; undefined if it may be no path at all: `@alice`,
 * `@types/node`, `@app.get`. `names` are the candidates of the mention, the longest first.
 */
export async function describeMissingPath(
  names: readonly string[],
  context: MissingContext,
): Promise<string | undefined> {
  const name = names.findLast((candidate) => looksLikePath(candidate, context.cwd));
  if (name === undefined) return undefined;
  const near = await findNearestPath(name, context);
  return `there is no file ${name}${near === undefined ? '' : `; did you mean @${near}?`}`;
}

function looksLikePath(name: string, cwd: string): boolean {
  if (name.includes('://')) return false;
  if (/^\.{1,2}\//.test(name) || FILE_ENDING.test(name)) return true;
  const [first = '', ...below] = toSlashes(name).split('/');
  return first !== '' && below.length > 0 && isDirectory(resolve(cwd, first));
}

/** The path with its first part that does not exist replaced by the most similar one that does. */
async function findNearestPath(name: string, { cwd, findElsewhere }: MissingContext): Promise<string | undefined> {
  const parts = toSlashes(name)
    .split('/')
    .filter((part) => part !== '.');
  const missing = parts.findIndex((_, index) => !isDirectory(resolve(cwd, ...parts.slice(0, index + 1))));
  const above = parts.slice(0, Math.max(missing, 0));
  if (above.includes('..') || name.startsWith('/')) return undefined;
  // A directory that cannot be listed only costs the suggestion.
  const entries = await readDirectory(resolve(cwd, ...above)).catch(() => []);
  const isLast = missing === parts.length - 1;
  const fitting = entries.filter(({ kind }) => isLast || kind === 'directory').map((entry) => entry.name);
  const [near] = findNearestNames(parts[missing] ?? '', fitting);
  if (near !== undefined) return posix.join(...above, near, ...(isLast ? [] : parts.slice(missing + 1)));
  return missing === 0 && isLast ? findElsewhere(name) : undefined;
}

/** Walks the tree with the first name that is looked for. */
export function createFindElsewhere({
  cwd,
  signal,
}: {
  readonly cwd: string;
  readonly signal: AbortSignal;
}): FindElsewhere {
  let paths: Promise<readonly string[]> | undefined;
  return async (name) => {
    const { listNearPaths } = await import('./path-search.ts');
    paths ??= listNearPaths(cwd, signal);
    return (await paths).find((path) => path.endsWith(`/${name}`));
  };
}
