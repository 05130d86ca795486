/** What two texts differ in, as a unified diff. */
export interface UnifiedDiff {
  readonly diff: string;
  readonly added: number;
  readonly removed: number;
}

const LONGEST_MS = 500;
const NO_FEED = '\\ No newline at end of file';

/**
 * Compares two texts line by line; loaded when a change is shown. `before` undefined: the file is new. If that takes longer
 * than `longestMs`, all lines go and all come.
 */
export async function unifiedDiff(
  name: string,
  before: string | undefined,
  after: string,
  longestMs = LONGEST_MS,
): Promise<UnifiedDiff> {
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff');
  const from = before === undefined ? '/dev/null' : `a/${name}`;
  const to = `b/${name}`;
  const options = { context: 3, headerOptions: FILE_HEADERS_ONLY, timeout: longestMs };
  const patch =
    createTwoFilesPatch(from, to, before ?? '', after, undefined, undefined, options) ??
    wholeDiff(from, to, before ?? '', after);
  const lines = patch.split('\n').slice(2);
  const count = (mark: string): number => lines.filter((line) => line.startsWith(mark)).length;
  return { diff: patch, added: count('+'), removed: count('-') };
}

/** Where finding the smallest difference takes too long: everything goes, everything comes. */
function wholeDiff(from: string, to: string, before: string, after: string): string {
  const [old, next] = [markedLines(before, '-'), markedLines(after, '+')] as const;
  const ranges = [old, next].map(({ count }) => `${Math.min(count, 1)},${count}`);
  const header = `@@ -${ranges[0]} +${ranges[1]} @@`;
  return [`--- ${from}`, `+++ ${to}`, header, ...old.lines, ...next.lines, ''].join('\n');
}

/** A line feed ends a line; where the last has none, the diff says so. */
function markedLines(text: string, mark: string): { readonly lines: readonly string[]; readonly count: number } {
  if (text === '') return { lines: [], count: 0 };
  const lines = text.replace(/\n$/, '').split('\n');
  const marked = lines.map((line) => `${mark}${line}`);
  return { lines: text.endsWith('\n') ? marked : [...marked, NO_FEED], count: lines.length };
}
