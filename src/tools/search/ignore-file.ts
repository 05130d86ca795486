import { compileGlob } from '../../core/text/glob.ts';

/** The rules of the ignore files of one directory. */
export interface IgnoreFile {
  /** What they say of a path below that directory, with slashes; undefined if nothing. */
  verdict(path: string, kind: 'file' | 'directory'): 'ignored' | 'kept' | undefined;
}

interface Rule {
  /** Its place in the file: the last rule that matches wins. */
  readonly order: number;
  readonly isNegated: boolean;
  readonly isForDirectories: boolean;
  /** Absent: the rule is found by its name. */
  readonly matches?: (path: string, name: string) => boolean;
}

const MAX_PATTERNS = 2000;
const MAX_LENGTH = 1000;

/**
 * Reads what `.gitignore` holds: https://git-scm.com/docs/gitignore. Undefined if there are so many patterns, or such
 * long ones, that asking them would take long; then nobody can say what is ignored. Never throws, and no pattern takes long.
 */
export function parseIgnoreFile(text: string): IgnoreFile | undefined {
  const byName = new Map<string, Rule[]>();
  const patterns: Rule[] = [];
  for (const [order, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const read = readLine(line);
    if (read === undefined) continue;
    const rule = { order, isNegated: read.isNegated, isForDirectories: read.isForDirectories };
    if (!read.isAnchored && !/[*?[\\]/.test(read.pattern)) {
      const named = byName.get(read.pattern);
      if (named === undefined) byName.set(read.pattern, [rule]);
      else named.push(rule);
    } else if (patterns.length === MAX_PATTERNS || read.pattern.length > MAX_LENGTH) return undefined;
    else patterns.push({ ...rule, matches: matcherOf(read) });
  }
  patterns.reverse();
  return {
    verdict: (path, kind) => {
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

interface Line {
  readonly isNegated: boolean;
  readonly isForDirectories: boolean;
  readonly isAnchored: boolean;
  readonly pattern: string;
}

function readLine(line: string): Line | undefined {
  const kept = withoutTrailingSpaces(line);
  if (kept === '' || kept.startsWith('#')) return undefined;
  const isNegated = kept.startsWith('!');
  const body = isNegated ? kept.slice(1) : kept;
  const isForDirectories = body.endsWith('/');
  const path = isForDirectories ? body.slice(0, -1) : body;
  const pattern = path.replace(/^\//, '');
  if (pattern === '') return undefined;
  return { isNegated, isForDirectories, isAnchored: path.includes('/'), pattern };
}

function withoutTrailingSpaces(line: string): string {
  let end = line.length;
  while (line[end - 1] === ' ' && line[end - 2] !== '\\') end -= 1;
  return line.slice(0, end);
}

function matcherOf({ pattern, isAnchored }: Line): (path: string, name: string) => boolean {
  const glob = compileGlob(pattern, { isCaseSensitive: true, hasBraces: false });
  return isAnchored ? (path) => glob.matches(path) : (_, name) => glob.matches(name);
}
