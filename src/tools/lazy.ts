/** What two texts differ in, as a unified diff. */
export interface UnifiedDiff {
  readonly diff: string;
  readonly added: number;
  readonly removed: number;
}

const LONGEST_MS = 500;

/** Compares two texts line by line; loaded when a change is shown. `before` undefined: the file is new. */
export async function unifiedDiff(name: string, before: string | undefined, after: string): Promise<UnifiedDiff> {
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff');
  const from = before === undefined ? '/dev/null' : `a/${name}`;
  const to = `b/${name}`;
  const options = { context: 3, headerOptions: FILE_HEADERS_ONLY, timeout: LONGEST_MS };
  const patch =
    createTwoFilesPatch(from, to, before ?? '', after, undefined, undefined, options) ??
    wholeDiff(from, to, before ?? '', after);
  const lines = patch.split('\n').slice(2);
  const count = (mark: string): number => lines.filter((line) => line.startsWith(mark)).length;
  return { diff: patch, added: count('+'), removed: count('-') };
}

/** Where finding the smallest difference takes too long: everything goes, everything comes. */
function wholeDiff(from: string, to: string, before: string, after: string): string {
  const old = before.split('\n');
  const next = after.split('\n');
  const marked = [...old.map((line) => `-${line}`), ...next.map((line) => `+${line}`)];
  return [`--- ${from}`, `+++ ${to}`, `@@ -1,${old.length} +1,${next.length} @@`, ...marked, ''].join('\n');
}
