import { counted } from '../core/counted.ts';
import type { Preview } from '../core/tool.ts';
import { visible } from '../core/visible.ts';
import { graphemesOf, widthOf } from '../render/markdown/width.ts';

/** A question laid out for a terminal: lines that fit, in which nothing can pass for the frame around them. */
export interface QuestionView {
  /** What it is about, and where. */
  readonly title: readonly string[];
  /** All that the person decides about. */
  readonly body: readonly string[];
  /** What stands for the body where that does not fit; absent: its two ends. */
  readonly brief?: readonly string[];
}

export interface ViewOptions {
  readonly columns: number;
  readonly isStyled: boolean;
}

type Paint = (text: string) => string;

const plain: Paint = (text) => text;
const style =
  (on: number, off: number): Paint =>
  (text) =>
    `\u001b[${on}m${text}\u001b[${off}m`;

const GREEN = style(32, 39);
const RED = style(31, 39);
const YELLOW = style(33, 39);
const DIM = style(2, 22);
const BOLD = style(1, 22);

/** Lays out what a tool would do. Every character that cannot be seen, or moves others, is written as its escape. */
export function questionView(name: string, preview: Preview, { columns, isStyled }: ViewOptions): QuestionView {
  const width = Math.max(columns - 3, 10);
  const paint = (style: Paint): Paint => (isStyled ? style : plain);
  // What a long line goes on with must not pass for a line of its own.
  const rows = (text: string, style: Paint): readonly string[] =>
    wrapped(text, width).map((row, index) =>
      `${index === 0 ? '│' : '┊'} ${row === '' ? '' : paint(style)(row)}`.trimEnd(),
    );
  const body = linesOf(preview).flatMap(({ text, style }) => rows(text, style));
  const hidden = hiddenIn(preview);
  const warning =
    hidden === 0 ? [] : rows(`${counted(hidden, 'character')} that cannot be seen: written as escapes`, YELLOW);
  const [first = '', ...others] = rows(`${visible(name)} ${titleOf(preview)}`, BOLD);
  return { title: [first.replace('│', '╭'), ...others, ...warning], body };
}

/** Several questions as one, each with its title above it; in brief, the titles alone. */
export function groupView(views: readonly QuestionView[], previews: readonly Preview[]): QuestionView {
  const [added, removed] = (['added', 'removed'] as const).map((key) =>
    previews.reduce((sum, preview) => sum + (preview.kind === 'diff' ? preview[key] : 0), 0),
  );
  const inner = views.map(({ title, body }) => ({ title: title.map((line) => line.replace('╭', '├')), body }));
  return {
    title: [`╭ ${counted(views.length, 'change')}  +${added} −${removed}`],
    body: inner.flatMap(({ title, body }) => [...title, ...body]),
    brief: inner.flatMap(({ title }) => title),
  };
}

function titleOf(preview: Preview): string {
  switch (preview.kind) {
    case 'diff':
      return `${visible(preview.path)}  +${preview.added} −${preview.removed}`;
    case 'command':
      return `in ${visible(preview.directory)}  ${counted(Buffer.byteLength(preview.command), 'byte')}`;
    case 'text':
      return '';
  }
}

interface Line {
  readonly text: string;
  readonly style: Paint;
}

function linesOf(preview: Preview): readonly Line[] {
  switch (preview.kind) {
    case 'diff':
      return diffLines(preview.diff);
    case 'command':
      return textLines(preview.command);
    case 'text':
      return textLines(preview.text);
  }
}

function textLines(text: string): readonly Line[] {
  return withoutGaps(text.split('\n'), '').map((line) => ({ text: visible(shownBlanks(line)), style: plain }));
}

/** More lines or characters than this with nothing in them are counted instead: they push what matters out of sight. */
const MAX_GAP = 3;
const GAPS = /(?<! )(?: {41,}| +$)|\t{11,}/g;

/** Long runs of blanks, and all at the end of a line, as a count. */
function shownBlanks(line: string): string {
  return line.replace(GAPS, (run) => `⟨${counted(run.length, run.startsWith(' ') ? 'space' : 'tab')}⟩`);
}

/** Runs of lines that have nothing but blanks behind the mark, as one line with their count. */
function withoutGaps(lines: readonly string[], mark: string): readonly string[] {
  const isBlank = (line: string): boolean => line.startsWith(mark) && /^[ \t]*$/.test(line.slice(mark.length));
  const shown: string[] = [];
  let gap: string[] = [];
  const closeGap = (): void => {
    const kind = gap.every((line) => line === mark) ? 'empty' : 'blank';
    shown.push(...(gap.length > MAX_GAP ? [`${mark}⟨${gap.length} ${kind} lines⟩`] : gap));
    gap = [];
  };
  for (const line of lines) {
    if (isBlank(line)) gap.push(line);
    else {
      closeGap();
      shown.push(line);
    }
  }
  closeGap();
  return shown;
}

/** Without the names of the files, which are in the title. */
function diffLines(diff: string): readonly Line[] {
  const lines = diff.replace(/\n$/, '').split('\n');
  const start = lines.findIndex((line) => line.startsWith('@@'));
  const shown = ['+', '-', ' '].reduce<readonly string[]>(withoutGaps, lines.slice(Math.max(start, 0)));
  return shown.map((line) => ({
    text: shownTabs(`${line.slice(0, 1)}${shownBlanks(line.slice(1))}`),
    style: styleOf(line),
  }));
}

function styleOf(line: string): Paint {
  if (line.startsWith('+')) return GREEN;
  if (line.startsWith('-')) return RED;
  return line.startsWith('@@') || line.startsWith('\\') ? DIM : plain;
}

/** Indentation by tabs is no trick, but it must keep its width. */
function shownTabs(line: string): string {
  return line.split('\t').map(visible).join('→   ');
}

/** The characters of the text itself that are shown as escapes; line breaks, and tabs of a file, are not counted. */
function hiddenIn(preview: Preview): number {
  const text =
    preview.kind === 'diff' ? preview.diff.replaceAll(/\r?\n|\t/g, '') : textOf(preview).replaceAll('\n', '');
  // Most texts have none: those are not looked at character by character.
  return visible(text) === text ? 0 : [...text].filter((character) => visible(character) !== character).length;
}

function textOf(preview: Exclude<Preview, { kind: 'diff' }>): string {
  return preview.kind === 'command' ? preview.command : preview.text;
}

/** The text in rows that fit, cut between the characters as a reader counts them. */
function wrapped(text: string, width: number): readonly string[] {
  if (text.length * 2 <= width) return [text];
  const rows: string[] = [];
  let row: string[] = [];
  let used = 0;
  for (const character of graphemesOf(text)) {
    const size = widthOf(character);
    if (used + size > width && row.length > 0) {
      rows.push(row.join(''));
      row = [];
      used = 0;
    }
    row.push(character);
    used += size;
  }
  return [...rows, row.join('')];
}
