import { findChangedWords, pairLines } from '../../core/text/word-diff.ts';
import type { Paint, Theme } from './theme.ts';

/** Whether a line of a diff was removed (`-`) or added (`+`); the names of files (`---`, `+++`) are neither. */
export function findChange(line: string): '-' | '+' | undefined {
  if (/^(?:---|\+\+\+)(?: |$)/.test(line)) return undefined;
  return line.startsWith('-') ? '-' : line.startsWith('+') ? '+' : undefined;
}

export function paintDiff(
  lines: readonly string[],
  theme: Theme,
  paintOther: (line: string) => string,
): readonly string[] {
  const painted: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const removed = takeWhile(lines, at, '-');
    const added = takeWhile(lines, at + removed.length, '+');
    at += removed.length + added.length;
    if (removed.length + added.length === 0) {
      painted.push(paintOther(lines[at] ?? ''));
      at += 1;
    }
    const others = pairLines(removed, added);
    for (const [index, line] of removed.concat(added).entries())
      painted.push(paintChange(line, others[index], index < removed.length ? theme.removed : theme.added, theme));
  }
  return painted;
}

function takeWhile(lines: readonly string[], start: number, change: '-' | '+'): readonly string[] {
  let end = start;
  while (end < lines.length && findChange(lines[end] ?? '') === change) end += 1;
  return lines.slice(start, end);
}

function paintChange(line: string, other: string | undefined, paint: Paint, theme: Theme): string {
  const runs = other === undefined ? undefined : findChangedWords(line.slice(1), other.slice(1));
  if (runs === undefined) return paint(line);
  const words = runs.map(({ text, isChanged }) => paint(isChanged ? theme.changed(text) : text));
  return paint(line.charAt(0)) + words.join('');
}
