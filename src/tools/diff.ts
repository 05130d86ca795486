import type { Preview } from '../core/tool.ts';

interface UnifiedDiff {
  readonly diff: string;
  readonly added: number;
  readonly removed: number;
}

export interface DiffJob {
  readonly name: string;
  /** Undefined: the file is new. */
  readonly before: string | undefined;
  readonly after: string;
}

/** Longer texts are compared in a worker thread. */
const MAX_LENGTH = 65_536;
const SHORT_MS = 40;
const NO_FEED = '\\ No newline at end of file';

/**
 * Compares two texts line by line. `before` undefined: the file is new. Texts that are long, or that take longer than
 * `shortMs`, are compared in a thread that the signal ends. If that takes too long, the diff removes all lines and adds
 * all.
 */
export async function unifiedDiff(
  name: string,
  before: string | undefined,
  after: string,
  signal: AbortSignal,
  shortMs = SHORT_MS,
): Promise<UnifiedDiff> {
  if (!before || after === '') return wholeDiff(name, before, after);
  const isShort = before.length + after.length <= MAX_LENGTH;
  const found =
    (isShort && (await computePatch(name, before, after, shortMs))) ||
    (await diffInThread(name, before, after, signal));
  return found ?? wholeDiff(name, before, after);
}

/** What a person is shown before a file is written. */
export async function previewChange(
  name: string,
  before: string | undefined,
  after: string,
  signal: AbortSignal,
): Promise<Preview> {
  const shrinks = { from: before?.length ?? 0, to: after.length };
  return {
    kind: 'diff',
    path: name,
    ...(await unifiedDiff(name, before, after, signal)),
    ...(shrinks.to * 2 < shrinks.from ? { shrinks } : {}),
  };
}

async function diffInThread(
  name: string,
  before: string,
  after: string,
  signal: AbortSignal,
): Promise<UnifiedDiff | undefined> {
  const { textThread } = await import('../platform/process/text-thread.ts');
  const job: DiffJob = { name, before, after };
  // `text-worker.ts` answers with the result of `computePatch`.
  return (await textThread(signal).run('diff', job)) as UnifiedDiff | undefined;
}

/** The smallest diff; undefined if finding it takes longer than `longestMs`. */
export async function computePatch(
  name: string,
  before: string | undefined,
  after: string,
  longestMs: number,
): Promise<UnifiedDiff | undefined> {
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff');
  const options = { context: 3, headerOptions: FILE_HEADERS_ONLY, timeout: longestMs };
  const [from, to] = toFileNames(name, before);
  const patch = createTwoFilesPatch(from, to, before ?? '', after, undefined, undefined, options);
  if (patch === undefined) return undefined;
  const lines = patch.split('\n').slice(2);
  const count = (mark: string): number => lines.filter((line) => line.startsWith(mark)).length;
  return { diff: patch, added: count('+'), removed: count('-') };
}

function toFileNames(name: string, before: string | undefined): readonly [string, string] {
  return [before === undefined ? '/dev/null' : `a/${name}`, `b/${name}`];
}

/** Removes every line and adds every line: for a new file, or if the smallest diff takes too long. */
function wholeDiff(name: string, before: string | undefined, after: string): UnifiedDiff {
  const [from, to] = toFileNames(name, before);
  const [old, next] = [markLines(before ?? '', '-'), markLines(after, '+')] as const;
  const header = `--- ${from}\n+++ ${to}\n`;
  if (old.count + next.count === 0) return { diff: header, added: 0, removed: 0 };
  const ranges = [old, next].map(({ count }) => `${Math.min(count, 1)},${count}`);
  const diff = `${header}@@ -${ranges[0]} +${ranges[1]} @@\n${old.text}${next.text}`;
  return { diff, added: next.count, removed: old.count };
}

/** Puts a mark before each line. If the last line has no line feed, the diff says so. */
function markLines(text: string, mark: string): { readonly text: string; readonly count: number } {
  if (text === '') return { text: '', count: 0 };
  const isEnded = text.endsWith('\n');
  const body = isEnded ? text.slice(0, -1) : text;
  let count = 1;
  for (let at = body.indexOf('\n'); at !== -1; at = body.indexOf('\n', at + 1)) count += 1;
  return { text: `${mark}${body.split('\n').join(`\n${mark}`)}\n${isEnded ? '' : `${NO_FEED}\n`}`, count };
}
