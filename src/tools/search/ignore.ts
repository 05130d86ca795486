import { dirname, join, relative, sep } from 'node:path';
import { AppError } from '../../core/error.ts';
import { compileGlob } from '../../core/text/glob.ts';
import { contains } from '../../core/text/path.ts';
import { pathExists } from '../../platform/files/path.ts';
import { readRegularText } from '../../platform/files/read-sync.ts';
import { errorCode } from '../../platform/runtime/system.ts';

/** `.gitignore` speaks to every program, `.geminiignore` only to models. */
const SHARED_FILE = '.gitignore';
const OWN_FILE = '.geminiignore';
const IGNORE_FILES = [OWN_FILE, SHARED_FILE].map((name) => ({ name }));
const MAX_BYTES = 1_000_000;

export interface IgnoreRules {
  /** `below` is relative to the start of the walk, with slashes. */
  ignores(below: string, kind: 'file' | 'directory'): boolean;
  readonly levels: readonly Level[];
  /** Whether `.gitignore` counts; `.geminiignore` always does. */
  readonly isShared: boolean;
}

interface RulesAbove extends IgnoreRules {
  /** A `.geminiignore` excludes the start, or an ignore file above it cannot be read. */
  readonly isStartOut: boolean;
  /**
   * Whether any ignore file excludes the start. Rules that exclude the workspace itself do not count: the user chose to
   * work there.
   */
  readonly isStartIgnored: boolean;
  readonly unreadable: string | undefined;
}

/** `.git` is still ignored. */
const NO_RULES: IgnoreRules = createRules([], true);

interface Level extends DirectoryFiles {
  readonly toPath: (below: string) => string;
}

interface DirectoryFiles {
  readonly both: IgnoreFile;
  readonly own: IgnoreFile;
}

/** As in git, the deepest file with a matching rule decides. But no `.gitignore` can lift a `.geminiignore`. */
function createRules(levels: readonly Level[], isShared: boolean): IgnoreRules {
  const isOut = (which: keyof DirectoryFiles, below: string, kind: 'file' | 'directory'): boolean => {
    for (const level of levels) {
      const decision = level[which].decide(level.toPath(below), kind);
      if (decision !== undefined) return decision === 'ignored';
    }
    return false;
  };
  return {
    levels,
    isShared,
    ignores: (below, kind) =>
      below === '.git' ||
      below.endsWith('/.git') ||
      isOut('own', below, kind) ||
      (isShared && isOut('both', below, kind)),
  };
}

/**
 * The rules in force in a directory of a walk: those above it and its own. Undefined if its own cannot be read: then
 * nothing in it may be shown. `entries` are those of the directory.
 */
export function readRulesWithin(
  above: IgnoreRules,
  below: string,
  address: string,
  entries: readonly { readonly name: string }[] = IGNORE_FILES,
): IgnoreRules | undefined {
  const hasEntry = (wanted: string): boolean => entries.some(({ name }) => name === wanted);
  const files = readIgnoreFiles(address, {
    hasShared: above.isShared && hasEntry(SHARED_FILE),
    hasOwn: hasEntry(OWN_FILE),
  });
  if (files === undefined) return undefined;
  if (files === NO_FILES) return above;
  const cut = below === '' ? 0 : below.length + 1;
  return createRules([{ ...files, toPath: (path) => path.slice(cut) }, ...above.levels], above.isShared);
}

/**
 * The rules of the directories above `start`, up to the top of the workspace, or of its repository if that is higher.
 * If a `.gitignore` excludes the start itself, the user named it on purpose, and the `.gitignore` files above do not
 * count. Both paths must be real paths.
 */
export function readRulesAbove(start: string, workspace: string, isShared = true): RulesAbove {
  const repository = findRepository(start) ?? workspace;
  const top = repository.length < workspace.length ? repository : workspace;
  const steps = top === start ? [] : relative(top, start).split(sep);
  let found: readonly (DirectoryFiles & { readonly from: number })[] = [];
  let isStartOut = false;
  let isStartIgnored = false;
  let unreadable: string | undefined;
  const createRulesAt = (index: number, isAll: boolean): IgnoreRules => {
    const levels = found.map(({ from, ...files }) => ({
      ...files,
      toPath: (below: string) => [...steps.slice(from, index), below].join('/'),
    }));
    return createRules(levels, isAll);
  };
  for (const [from, step] of steps.entries()) {
    const directory = join(top, ...steps.slice(0, from));
    // Git does not read ignore files above the repository.
    const hasShared = isShared && directory.length >= repository.length;
    const files =
      readIgnoreFiles(directory, { hasShared, hasOwn: true }) ??
      readIgnoreFiles(directory, { hasShared: false, hasOwn: true });
    if (files !== undefined && files !== NO_FILES) found = [{ ...files, from }, ...found];
    // An unreadable rule might exclude the start.
    if (files === undefined) unreadable ??= directory;
    isStartOut ||= files === undefined;
    isStartOut ||= step !== '.git' && createRulesAt(from, false).ignores(step, 'directory');
    if (!createRulesAt(from, isShared).ignores(step, 'directory')) continue;
    isStartIgnored ||= !contains(join(directory, step), workspace);
    found = found.map((level) => ({ ...level, both: EMPTY }));
  }
  return { ...createRulesAt(steps.length, isShared), isStartOut, isStartIgnored, unreadable };
}

/**
 * The rules above a directory that the user named. If they exclude it, it was named on purpose, and they do not count.
 * Throws AppError `usage` if they cannot be read. Both paths must be real paths.
 */
export function readRulesAboveNamed(
  directory: string,
  workspace: string,
): { readonly rules: IgnoreRules; readonly isExcluded: boolean } {
  const rules = readRulesAbove(directory, contains(workspace, directory) ? workspace : directory);
  if (rules.unreadable !== undefined) throw unreadableRulesError(rules.unreadable);
  const isExcluded = rules.isStartOut || rules.isStartIgnored;
  return { rules: isExcluded ? NO_RULES : rules, isExcluded };
}

export function unreadableRulesError(directory: string): AppError {
  return new AppError('usage', `the ignore files of ${directory} cannot be read, or have too much in them`, {
    hint: 'What they exclude is unknown. Name the files one by one.',
  });
}

export function hasSharedLevels({ levels }: IgnoreRules): boolean {
  return levels.some(({ both }) => both !== EMPTY);
}

function findRepository(directory: string): string | undefined {
  for (let path = directory; ; path = dirname(path)) {
    if (pathExists(join(path, '.git'))) return path;
    if (dirname(path) === path) return undefined;
  }
}

const EMPTY: IgnoreFile = { decide: () => undefined };
const NO_FILES: DirectoryFiles = { both: EMPTY, own: EMPTY };

function readIgnoreFiles(
  address: string,
  { hasShared, hasOwn }: { readonly hasShared: boolean; readonly hasOwn: boolean },
): DirectoryFiles | undefined {
  const shared = hasShared ? readRuleFile(join(address, SHARED_FILE)) : '';
  const own = hasOwn ? readRuleFile(join(address, OWN_FILE)) : '';
  if (shared === undefined || own === undefined) return undefined;
  if (shared.trim() === '' && own.trim() === '') return NO_FILES;
  const both = toIgnoreFile(`${shared}\n${own}`);
  const alone = own.trim() === '' ? EMPTY : toIgnoreFile(own);
  return both === undefined || alone === undefined ? undefined : { both, own: alone };
}

function readRuleFile(path: string): string | undefined {
  try {
    return readRegularText(path, MAX_BYTES);
  } catch (thrown) {
    return errorCode(thrown) === 'EACCES' ? undefined : '';
  }
}

/** Checks the directories above each path, too. */
export function createIgnoreCheck(start: string, above: IgnoreRules): (below: string) => boolean {
  const known = new Map<string, IgnoreRules | undefined>();
  const readRulesIn = (directory: string): IgnoreRules | undefined => {
    if (known.has(directory)) return known.get(directory);
    const parent = directory === '' ? above : readRulesIn(toParentPath(directory));
    const isOut = directory !== '' && parent?.ignores(directory, 'directory') !== false;
    const rules =
      parent === undefined || isOut ? undefined : readRulesWithin(parent, directory, join(start, directory));
    known.set(directory, rules);
    return rules;
  };
  return (below) => readRulesIn(toParentPath(below))?.ignores(below, 'file') !== false;
}

function toParentPath(below: string): string {
  return below.slice(0, Math.max(0, below.lastIndexOf('/')));
}

interface IgnoreFile {
  /** `path` is below that directory, with slashes; undefined if no rule matches. */
  decide(path: string, kind: 'file' | 'directory'): 'ignored' | 'kept' | undefined;
}

interface Rule {
  /** The line number: the last matching rule wins. */
  readonly order: number;
  readonly isNegated: boolean;
  readonly isForDirectories: boolean;
  /** Absent: the rule is looked up by name. */
  readonly matches?: (path: string, name: string) => boolean;
}

const MAX_PATTERNS = 2000;
const MAX_LENGTH = 1000;
/** For one path: about 20 ms. */
const MAX_STEPS = 5_000_000;
/** In characters: the longest name there is, and a long path. */
const NAME_LENGTH = 255;
const PATH_LENGTH = 1024;

/**
 * Parses the `.gitignore` format: https://git-scm.com/docs/gitignore. Undefined if there are too many patterns, or too
 * long ones, to match quickly; then it is unknown what is ignored. Never throws.
 */
export function toIgnoreFile(text: string): IgnoreFile | undefined {
  const byName = new Map<string, Rule[]>();
  const patterns: Rule[] = [];
  let steps = 0;
  for (const [order, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const read = toIgnoreLine(line);
    if (read === undefined) continue;
    const rule = { order, isNegated: read.isNegated, isForDirectories: read.isForDirectories };
    if (!read.isAnchored && !/[*?[\\]/.test(read.pattern)) {
      const named = byName.get(read.pattern);
      if (named === undefined) byName.set(read.pattern, [rule]);
      else named.push(rule);
      continue;
    }
    if (patterns.length === MAX_PATTERNS || read.pattern.length > MAX_LENGTH) return undefined;
    const glob = compileGlob(read.pattern, { isCaseSensitive: true, hasBraces: false });
    steps += glob.cost * (glob.depth === Number.POSITIVE_INFINITY ? PATH_LENGTH : NAME_LENGTH);
    if (steps > MAX_STEPS) return undefined;
    patterns.push({ ...rule, matches: (path, name) => glob.matches(read.isAnchored ? path : name) });
  }
  patterns.reverse();
  return {
    decide: (path, kind) => {
      const name = path.slice(path.lastIndexOf('/') + 1);
      const fits = (rule: Rule): boolean => kind === 'directory' || !rule.isForDirectories;
      const named = byName.get(name)?.findLast(fits);
      const found = patterns.find(
        (rule) => rule.order < (named?.order ?? -1) || (fits(rule) && rule.matches?.(path, name) === true),
      );
      const last = found !== undefined && found.order > (named?.order ?? -1) ? found : named;
      return last === undefined ? undefined : last.isNegated ? 'kept' : 'ignored';
    },
  };
}

function toIgnoreLine(line: string) {
  const kept = trimTrailingSpaces(line);
  if (kept === '' || kept.startsWith('#')) return undefined;
  const isNegated = kept.startsWith('!');
  const body = isNegated ? kept.slice(1) : kept;
  const isForDirectories = body.endsWith('/');
  const path = isForDirectories ? body.slice(0, -1) : body;
  const pattern = path.replace(/^\//, '');
  if (pattern === '') return undefined;
  return { isNegated, isForDirectories, isAnchored: path.includes('/'), pattern };
}

function trimTrailingSpaces(line: string): string {
  let end = line.length;
  while (line[end - 1] === ' ' && line[end - 2] !== '\\') end -= 1;
  return line.slice(0, end);
}
