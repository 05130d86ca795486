import { counted } from '../core/text/format.ts';
import { countInvisible, visible } from '../core/text/terminal.ts';
import { graphemesOf, widthOf } from '../core/text/width.ts';
import type { Preview } from '../core/tool.ts';

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
  /** Lets others have their turn; rejects if nobody waits for the view any more. */
  readonly pause: () => Promise<void>;
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

/** A text longer than this is not measured character by character: what is not ASCII counts as wide. */
const MAX_MEASURED = 65_536;

/**
 * Lays out what a tool would do. Every character that cannot be seen, or moves others, is written as its escape. The text is
 * the model's, and may be as long as it likes: it is laid out in slices, with a pause behind each.
 */
export async function questionView(name: string, preview: Preview, options: ViewOptions): Promise<QuestionView> {
  const { columns, isStyled, pause } = options;
  const width = Math.max(columns - 3, 10);
  const paint = (style: Paint): Paint => (isStyled ? style : plain);
  const isMeasured = textOf(preview).length <= MAX_MEASURED;
  // What a long line goes on with must not pass for a line of its own.
  const framed = (row: string, isFirst: boolean, style: Paint): string =>
    `${isFirst ? '│' : '┊'} ${row === '' ? '' : paint(style)(row)}`.trimEnd();
  const rows = (text: string, style: Paint): readonly string[] =>
    wrapped(text, width, true).map((row, index) => framed(row, index === 0, style));
  const body: string[] = [];
  let done = 0;
  for (const slice of slicesOf(preview)) {
    if (slice !== undefined) {
      const rows = wrapped(slice.text, width, isMeasured);
      for (const [index, row] of rows.entries()) body.push(framed(row, slice.isFirst && index === 0, slice.style));
    }
    done += slice === undefined ? SLICE : slice.text.length + 1;
    if (done > SLICE) {
      await pause();
      done = 0;
    }
  }
  const hidden = await countHidden(preview, pause);
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

/** A line, or a part of one that is long. */
interface Slice {
  readonly text: string;
  readonly style: Paint;
  readonly isFirst: boolean;
}

/** As much text as is laid out at once. */
const SLICE = 8192;

/** What is shown of a preview; undefined where there is nothing to show yet, so that a pause can be made. */
function* slicesOf(preview: Preview): Generator<Slice | undefined> {
  const isDiff = preview.kind === 'diff';
  // Without the names of the files, which are in the title.
  const start = isDiff && !preview.diff.startsWith('@@') ? preview.diff.indexOf('\n@@') + 1 : 0;
  const text = isDiff ? preview.diff.slice(start).replace(/\n$/, '') : textOf(preview);
  for (const line of withoutGaps(linesIn(text), isDiff ? '+- ' : '')) {
    if (line === undefined) {
      yield undefined;
      continue;
    }
    const style = isDiff ? styleOf(line) : plain;
    let isFirst = true;
    for (const part of partsOf(line)) {
      const mark = isDiff && isFirst ? 1 : 0;
      const shown = `${part.slice(0, mark)}${shownBlanks(part.slice(mark))}`;
      yield { text: isDiff ? shownTabs(shown) : visible(shown), style, isFirst };
      isFirst = false;
    }
  }
}

function* linesIn(text: string): Generator<string> {
  let start = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
    yield text.slice(start, end);
    start = end + 1;
  }
  yield text.slice(start);
}

/** A text in parts that are not too long; cut neither inside a character or line break nor behind a blank. */
function* partsOf(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > SLICE) {
    let end = start + SLICE;
    while (end < text.length && /[ \t\r\ud800-\udbff]/.test(text.charAt(end - 1)) && end - start < 2 * SLICE) end += 1;
    yield text.slice(start, end);
    start = end;
  }
  yield text.slice(start);
}

/** More lines or characters than this with nothing in them are counted instead: they push what matters out of sight. */
const MAX_GAP = 3;
const GAPS = /(?<! )(?: {41,}| +$)|\t{11,}/g;

/** Long runs of blanks, and all at the end of a line, as a count. */
function shownBlanks(line: string): string {
  return line.replace(GAPS, (run) => `⟨${counted(run.length, run.startsWith(' ') ? 'space' : 'tab')}⟩`);
}

/**
 * Runs of lines that have nothing but blanks behind the same mark, as one line with their count; where lines have no marks, those
 * that have nothing but blanks. Undefined now and then inside a run that does not end.
 */
function* withoutGaps(lines: Iterable<string>, marks: string): Generator<string | undefined> {
  let gap: string[] = [];
  let length = 0;
  let isEmpty = true;
  let mark = '';
  const closed = (): readonly string[] => {
    const shown = length > MAX_GAP ? [`${mark}⟨${length} ${isEmpty ? 'empty' : 'blank'} lines⟩`] : gap;
    gap = [];
    length = 0;
    isEmpty = true;
    return shown;
  };
  for (const line of lines) {
    const own = marks === '' ? '' : line.slice(0, 1);
    const isBlank = (marks === '' || (own !== '' && marks.includes(own))) && /^[ \t]*$/.test(line.slice(own.length));
    if (!isBlank || own !== mark) yield* closed();
    mark = own;
    if (!isBlank) {
      yield line;
      continue;
    }
    if (length < MAX_GAP) gap.push(line);
    length += 1;
    isEmpty &&= line === mark;
    if (length % SLICE === 0) yield undefined;
  }
  yield* closed();
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
async function countHidden(preview: Preview, pause: () => Promise<void>): Promise<number> {
  const seen = preview.kind === 'diff' ? /\r?\n|\t/g : /\n/g;
  let count = 0;
  for (const part of partsOf(textOf(preview))) {
    count += countInvisible(part.replace(seen, ''));
    if (part.length >= SLICE) await pause();
  }
  return count;
}

function textOf(preview: Preview): string {
  switch (preview.kind) {
    case 'diff':
      return preview.diff;
    case 'command':
      return preview.command;
    case 'text':
      return preview.text;
  }
}

/** The text in rows that fit, cut between the characters as a reader counts them; if it is not measured, between code points. */
function wrapped(text: string, width: number, isMeasured: boolean): readonly string[] {
  if (text.length * 2 <= width) return [text];
  const rows: string[] = [];
  if (/^[ -~]*$/.test(text)) {
    for (let start = 0; start < text.length; start += width) rows.push(text.slice(start, start + width));
    return rows;
  }
  let row = '';
  let used = 0;
  for (const character of isMeasured ? graphemesOf(text) : text) {
    const size = isMeasured ? widthOf(character) : roomFor(character);
    if (used + size > width && row !== '') {
      rows.push(row);
      row = '';
      used = 0;
    }
    row += character;
    used += size;
  }
  return [...rows, row];
}

/** At least the columns that a character takes. */
function roomFor(character: string): number {
  if (character <= '~') return 1;
  return /\p{M}/u.test(character) ? 0 : 2;
}
