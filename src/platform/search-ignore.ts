import { closeSync, constants, existsSync, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { type IgnoreFile, parseIgnoreFile } from '../core/ignore-file.ts';
import { errnoOf } from './errno.ts';

const IGNORE_FILES: readonly string[] = ['.gitignore', '.geminiignore'];
const MAX_BYTES = 1_000_000;

/** The ignore files that are in force in a directory. */
export interface IgnoreRules {
  /** Whether they leave a path out, given below the start of the walk, with slashes. */
  ignores(below: string, kind: 'file' | 'directory'): boolean;
  readonly levels: readonly Level[];
}

interface Level {
  readonly file: IgnoreFile;
  /** The path as that file sees it. */
  readonly seen: (below: string) => string;
}

/** No rules but the one that leaves `.git` out. */
const NO_RULES: IgnoreRules = rulesOf([]);

/** Like git: the deepest file that has a word to say has the last one. */
function rulesOf(levels: readonly Level[]): IgnoreRules {
  return {
    levels,
    ignores: (below, kind) => {
      if (below === '.git' || below.endsWith('/.git')) return true;
      for (const { file, seen } of levels) {
        const verdict = file.verdict(seen(below), kind);
        if (verdict !== undefined) return verdict === 'ignored';
      }
      return false;
    },
  };
}

/**
 * The rules in force in a directory of a walk: those above it, and its own. Undefined if its own cannot be read: then
 * nobody can say what is to be left out, and nothing of it may be shown.
 */
export function rulesWithin(
  above: IgnoreRules,
  below: string,
  address: string,
  entries: readonly { readonly name: string }[],
): IgnoreRules | undefined {
  if (above.levels === OFF) return above;
  const present = IGNORE_FILES.filter((name) => isAmong(entries, name));
  if (present.length === 0) return above;
  const file = readIgnoreFiles(address, present);
  if (file === undefined) return undefined;
  if (file === EMPTY) return above;
  const cut = below === '' ? 0 : below.length + 1;
  return rulesOf([{ file, seen: (path) => path.slice(cut) }, ...above.levels]);
}

/** The entries are in order. */
function isAmong(entries: readonly { readonly name: string }[], wanted: string): boolean {
  for (const { name } of entries) {
    if (name === wanted) return true;
    if (name > wanted) return false;
  }
  return false;
}

const OFF: readonly Level[] = [];

/** Ignore files are not asked at all, but `.git` is left out all the same. */
export const RULES_OFF: IgnoreRules = { ...NO_RULES, levels: OFF };

/**
 * The rules of the directories above `start`, up to the top of its repository, else of the workspace. If they leave the
 * start itself out, it was named on purpose, and they do not count. Both paths are free of links.
 */
export function rulesAbove(start: string, workspace: string): IgnoreRules {
  const top = repositoryOf(start) ?? workspace;
  const steps = relative(top, start).split(sep);
  let found: readonly { readonly file: IgnoreFile; readonly from: number }[] = [];
  const rulesAt = (index: number): IgnoreRules =>
    rulesOf(found.map(({ file, from }) => ({ file, seen: (below) => [...steps.slice(from, index), below].join('/') })));
  if (top === start) return NO_RULES;
  for (const [from, step] of steps.entries()) {
    const file = readIgnoreFiles(join(top, ...steps.slice(0, from)), IGNORE_FILES);
    if (file !== undefined) found = [{ file, from }, ...found];
    if (rulesAt(from).ignores(step, 'directory')) found = [];
  }
  return rulesAt(steps.length);
}

function repositoryOf(directory: string): string | undefined {
  for (let path = directory; ; path = dirname(path)) {
    if (existsSync(join(path, '.git'))) return path;
    if (dirname(path) === path) return undefined;
  }
}

const EMPTY: IgnoreFile = { verdict: () => undefined };

/** Undefined if they cannot be read or are too large. */
function readIgnoreFiles(address: string, names: readonly string[]): IgnoreFile | undefined {
  const texts: string[] = [];
  for (const name of names) {
    const text = readSmallFile(join(address, name));
    if (text === undefined) return undefined;
    texts.push(text);
  }
  const text = texts.join('\n');
  return text.trim() === '' ? EMPTY : parseIgnoreFile(text);
}

/** Empty if it is no regular file; undefined if it is too large. */
function readSmallFile(path: string): string | undefined {
  let descriptor: number | undefined;
  try {
    // Most are not there, and an exception for each would cost more than reading one.
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return '';
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0));
    const status = fstatSync(descriptor);
    if (!status.isFile()) return '';
    if (status.size > MAX_BYTES) return undefined;
    const buffer = Buffer.alloc(status.size);
    return buffer.toString('utf8', 0, readSync(descriptor, buffer, 0, status.size, 0));
  } catch (thrown) {
    return errnoOf(thrown) === 'EACCES' ? undefined : '';
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Says of single paths below a directory whether ignore files leave them, or a directory they are in, out. */
export function ignoredPaths(start: string, above: IgnoreRules): (below: string) => boolean {
  const known = new Map<string, IgnoreRules | undefined>();
  const names = IGNORE_FILES.toSorted().map((name) => ({ name }));
  const rulesIn = (directory: string): IgnoreRules | undefined => {
    if (known.has(directory)) return known.get(directory);
    const parent = directory === '' ? above : rulesIn(parentOf(directory));
    const isOut = directory !== '' && parent?.ignores(directory, 'directory') !== false;
    const rules =
      parent === undefined || isOut ? undefined : rulesWithin(parent, directory, join(start, directory), names);
    known.set(directory, rules);
    return rules;
  };
  return (below) => rulesIn(parentOf(below))?.ignores(below, 'file') !== false;
}

function parentOf(below: string): string {
  return below.slice(0, Math.max(0, below.lastIndexOf('/')));
}
