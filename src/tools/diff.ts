import type { Preview } from '../core/tool.ts';
import type { Place } from './workspace/fence.ts';

interface UnifiedDiff {
  readonly diff: string;
  readonly added: number;
  readonly removed: number;
}

/** In characters of both texts: splitting longer ones into lines takes too long by itself. */
const MAX_LENGTH = 1_000_000;
/** In lines removed and added. The time grows with the square: these take about 20 ms. */
const MAX_CHANGES = 500;
const CONTEXT = 3;
const NO_FEED = '\\ No newline at end of file';

/**
 * Compares two texts line by line. `before` undefined: the file is new. Where that would take too long, all lines
 * between the first and the last difference are removed and added.
 */
export async function unifiedDiff(
  name: string,
  before: string | undefined,
  after: string,
  maxChanges = MAX_CHANGES,
): Promise<UnifiedDiff> {
  const isLong = (before ?? '').length + after.length > MAX_LENGTH;
  const found = before && after && !isLong ? await computePatch(name, before, after, maxChanges) : undefined;
  return found ?? coarseDiff(name, before, after);
}

export async function previewChange(
  { name, path }: Pick<Place, 'name' | 'path'>,
  before: string | undefined,
  after: string,
): Promise<Preview> {
  const shrinks = { from: before?.length ?? 0, to: after.length };
  return {
    kind: 'diff',
    path: name,
    ...(await unifiedDiff(name, before, after)),
    shrinks: shrinks.to * 2 < shrinks.from ? shrinks : undefined,
    texts: { path, before, after },
  };
}

/** The smallest diff; undefined if it has more changes. */
async function computePatch(
  name: string,
  before: string,
  after: string,
  maxEditLength: number,
): Promise<UnifiedDiff | undefined> {
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff');
  const options = { context: CONTEXT, headerOptions: FILE_HEADERS_ONLY, maxEditLength };
  const [from, to] = toFileNames(name, before);
  const patch = createTwoFilesPatch(from, to, before, after, undefined, undefined, options);
  if (patch === undefined) return undefined;
  const lines = patch.split('\n').slice(2);
  const count = (mark: string): number => lines.filter((line) => line.startsWith(mark)).length;
  return { diff: patch, added: count('+'), removed: count('-') };
}

function toFileNames(name: string, before: string | undefined): readonly [string, string] {
  return [before === undefined ? '/dev/null' : `a/${name}`, `b/${name}`];
}

/** One hunk, from the first line that differs to the last. */
function coarseDiff(name: string, before: string | undefined, after: string): UnifiedDiff {
  const [old, next] = [splitDiffLines(before ?? ''), splitDiffLines(after)];
  const room = Math.min(old.length, next.length);
  let head = 0;
  while (head < room && old[head] === next[head]) head += 1;
  let tail = 0;
  while (tail < room - head && old.at(-1 - tail) === next.at(-1 - tail)) tail += 1;
  const [removed, added] = [old.slice(head, old.length - tail), next.slice(head, next.length - tail)];
  const [from, to] = toFileNames(name, before);
  const header = `--- ${from}\n+++ ${to}\n`;
  if (removed.length + added.length === 0) return { diff: header, added: 0, removed: 0 };
  const above = old.slice(Math.max(0, head - CONTEXT), head);
  const below = old.slice(old.length - tail, old.length - tail + CONTEXT);
  const ranges = [removed, added].map((lines) => {
    const count = above.length + lines.length + below.length;
    return `${head - above.length + Math.min(count, 1)},${count}`;
  });
  const hunk = [markLines(above, ' '), markLines(removed, '-'), markLines(added, '+'), markLines(below, ' ')];
  const diff = `${header}@@ -${ranges[0]} +${ranges[1]} @@\n${hunk.join('')}`;
  return { diff, added: added.length, removed: removed.length };
}

/** Without their line feeds. If the last line has none, a note follows it, as a diff has it. */
function splitDiffLines(text: string): readonly string[] {
  const lines = text.split('\n');
  const last = lines.pop();
  return last === '' ? lines : [...lines, `${last}\n${NO_FEED}`];
}

function markLines(lines: readonly string[], mark: string): string {
  return lines.map((line) => `${mark}${line}\n`).join('');
}
