import type { Frame } from './painter.ts';

/** The same as `painted` for a terminal that can print, and go back a column, and nothing else: the line only grows and shrinks at its end. */
export function plainlyPainted(before: Frame | undefined, next: Frame): string {
  const old = textOf(before);
  const text = textOf(next);
  if (text === old && before !== undefined) return '';
  if (text.startsWith(old)) return text.slice(old.length);
  const gone = lastRowOf(before).slice(commonLength(lastRowOf(before), lastRowOf(next)));
  const hasOneRow = before?.rows.length === 1 && next.rows.length === 1;
  if (!hasOneRow || !old.startsWith(text)) return `\n${text}`;
  const columns = gone.reduce((sum, { width }) => sum + width, 0);
  return `${'\b'.repeat(columns)}${' '.repeat(columns)}${'\b'.repeat(columns)}`;
}

function textOf(frame: Frame | undefined): string {
  return frame?.rows.map((row) => row.map(({ text }) => text).join('')).join('\n') ?? '';
}

function lastRowOf(frame: Frame | undefined): Frame['rows'][number] {
  return frame?.rows.at(-1) ?? [];
}

function commonLength(old: Frame['rows'][number], row: Frame['rows'][number]): number {
  const differs = row.findIndex(({ text }, index) => text !== old[index]?.text);
  return differs === -1 ? row.length : differs;
}
