import type { Env, Out } from '../core/io.ts';
import { sanitize } from '../core/text/terminal.ts';
import { wrapText } from '../core/text/width.ts';
import { yieldToEvents } from '../platform/runtime/clock.ts';
import { INTERRUPT, type Tty } from '../platform/terminal/tty.ts';
import { type Answer, echoKey, explainKeys, formatKeys, isApproving, listAnswerKeys, type Question } from './keys.ts';
import { groupView, type QuestionView, questionView, type ViewOptions } from './view.ts';

/**
 * Asks a person and resolves with the answer. Enter means no, Esc and Ctrl+C are no answer; keys typed before the
 * question appeared do not count. A preview that does not fit the screen is cut, and can only be approved after all of it was shown.
 */
export async function askPerson(
  question: Question,
  { tty, err, env }: { readonly tty: Tty; readonly err: Out; readonly env: Env },
  signal: AbortSignal,
): Promise<Answer> {
  const harm = question.offer?.harm;
  if (harm !== undefined) return askForWord(question, { harm, tty, err }, signal);
  const keys = listAnswerKeys(question);
  const pause = (): Promise<void> => yieldToEvents(signal);
  let page = await layOutPage(question, { tty, err, pause });
  let isCut = page.isLong;
  await show(err, page, isCut);
  for (;;) {
    const key = await tty.key(keys, () => err.write(wrapKeys(formatKeys(question, isCut), tty.columns)), signal);
    const choice = keys.get(key) ?? NO;
    await err.write(`${echoKey(key, choice, question)}\n`);
    const hasChanged = page.columns !== tty.columns || page.rows !== tty.rows;
    if (choice.kind === 'help' || choice.kind === 'unknown') {
      const rows = choice.kind === 'help' ? explainKeys(question) : [UNKNOWN];
      await err.write(rows.map((row) => `${wrapExplanation(row, tty.columns)}\n`).join(''));
      continue;
    }
    if (hasChanged) page = await layOutPage(question, { tty, err, pause });
    if (choice.kind === 'all' || choice.kind === 'again') {
      isCut = choice.kind === 'again' && (hasChanged ? page.isLong : isCut);
      // A pager uses the alternate screen and leaves nothing behind.
      const isPaged =
        choice.kind === 'all' &&
        page.isLong &&
        (await tty.page(`${selectRows(page, false).join('\n')}\n`, env, signal));
      await show(err, page, isCut || isPaged);
    } else if (hasChanged && isApproving(choice)) {
      // After a resize the question may have scrolled out of sight.
      isCut = page.isLong;
      await err.write('│ The window has changed since.\n');
      await show(err, page, isCut);
    } else if (isCut && isApproving(choice)) {
      await err.write('│ This is not all of it. See the rest first: d\n');
    } else if (choice.kind === 'reply') {
      const text = await tty.line('  Tell the model: ', signal);
      if (text === INTERRUPT) return { kind: 'stop' };
      if (text.trim() !== '') return { kind: 'reply', text: text.trim() };
    } else return choice;
  }
}

/** Resolves with yes only where all of the question is in sight, and the word is typed in full. */
async function askForWord(
  question: Question,
  { harm, tty, err }: { readonly harm: string; readonly tty: Tty; readonly err: Out },
  signal: AbortSignal,
): Promise<Answer> {
  for (;;) {
    const page = await layOutPage(question, { tty, err, pause: () => yieldToEvents(signal) });
    const about = wrapExplanation(`Nothing brings back what it destroys: ${sanitize(harm)}`, page.columns).split('\n');
    const isCut = page.isLong || page.view.body.length + about.length > page.room;
    await show(err, page, isCut);
    await err.write(`${about.join('\n')}\n`);
    if (isCut) {
      await err.write('│ It is too long to be shown whole, so it is not run.\n');
      return NO;
    }
    const word = await tty.line('╰ To run it, type run and press Enter; Esc is no › ', signal, {
      atEnd: '',
      isEscapable: true,
    });
    if (word === INTERRUPT) return { kind: 'stop', isInterrupt: true };
    if (word.trim() !== 'run') return NO;
    if (page.columns === tty.columns && page.rows === tty.rows) return { kind: 'yes' };
    await err.write('│ The window has changed since.\n');
  }
}

const NO = { kind: 'no' } as const;
const UNKNOWN = 'That is none of the keys. They are these, and ? explains them:';

interface Page {
  readonly columns: number;
  readonly rows: number;
  readonly view: QuestionView;
  /** Rows for the body. */
  readonly room: number;
  readonly titleRoom: number;
  readonly isLong: boolean;
}

async function layOutPage(
  question: Question,
  {
    tty: { columns, rows },
    err: { isStyled },
    pause,
  }: { readonly tty: Tty; readonly err: Out } & Pick<ViewOptions, 'pause'>,
): Promise<Page> {
  const view = await layOutQuestion(question, { columns, isStyled, pause });
  const keys = wrapKeys(formatKeys(question, false), columns).split('\n');
  const free = rows - keys.length - 3;
  // Names and paths can be long, too.
  const titleRoom = Math.max(Math.ceil(free / 2), 8);
  const room = Math.max(free - Math.min(view.title.length, titleRoom), 4);
  const isLong = view.title.length > titleRoom || view.body.length > room;
  return { columns, rows, view, room, titleRoom, isLong };
}

async function layOutQuestion({ items }: Question, options: ViewOptions): Promise<QuestionView> {
  const views: QuestionView[] = [];
  for (const { name, preview } of items) views.push(await questionView(name, preview, options));
  const [first] = views;
  return first !== undefined && views.length === 1
    ? first
    : groupView(
        views,
        items.map(({ preview }) => preview),
      );
}

const FRAME_WIDTH = '╰  › y'.length;

/**
 * Breaks the row of keys only between keys, and leaves the cursor after the last. No previewed text can begin like
 * these rows, so it cannot fake them.
 */
function wrapKeys(offered: readonly string[], columns: number): string {
  const rows: string[] = [];
  for (const key of offered) {
    const longer = `${rows.at(-1)} ${key}`;
    if (rows.length > 0 && longer.length <= columns - FRAME_WIDTH) rows[rows.length - 1] = longer;
    else rows.push(key);
  }
  return `╰ ${rows.join('\n  ')} › `;
}

function wrapExplanation(row: string, columns: number): string {
  return `│ ${wrapText(row, columns - 3).replaceAll('\n', '\n┊ ')}`;
}

/** Rows per write: a terminal is slow, and an abort may come in between. */
const ROWS_AT_ONCE = 1000;

async function show(err: Out, page: Page, isCut: boolean): Promise<void> {
  const rows = selectRows(page, isCut);
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE)
    await err.write(`${rows.slice(start, start + ROWS_AT_ONCE).join('\n')}\n`);
}

/** Cuts the middle, so that nothing can hide at the end behind a long beginning. */
function selectRows({ view: { title, body, brief }, room, titleRoom }: Page, isCut: boolean): readonly string[] {
  return isCut ? [...cutRows(title, titleRoom), ...cutRows(brief ?? body, room)] : [...title, ...body];
}

function cutRows(rows: readonly string[], room: number): readonly string[] {
  if (rows.length <= room) return rows;
  const head = rows.slice(0, Math.ceil((room - 1) / 2));
  const tail = rows.slice(rows.length - (room - 1 - head.length));
  return [...head, `┆ ${rows.length - head.length - tail.length} more lines`, ...tail];
}
