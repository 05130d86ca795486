import type { Env, Out } from '../core/io.ts';
import type { Preview } from '../core/tool.ts';
import { yieldToEvents } from '../platform/runtime/clock.ts';
import { CONTINUED, INTERRUPT, type Tty } from '../platform/terminal/tty.ts';
import type { Scope } from './policy.ts';
import { groupView, type QuestionView, questionView, type ViewOptions } from './view.ts';

export type Answer =
  | { readonly kind: 'yes' | 'no' | 'always' | 'file' | 'edit' | 'single' | 'stop' }
  | { readonly kind: 'reply'; readonly text: string };

export interface Question {
  readonly items: readonly { readonly name: string; readonly preview: Preview }[];
  /** What "always" would cover. Absent: only yes and no are offered. */
  readonly scope?: Scope;
  readonly hasFile: boolean;
}

type Choice = Answer['kind'] | 'all' | 'again';

const CHOICES: ReadonlyMap<string, Choice> = new Map([
  ['y', 'yes'],
  ['n', 'no'],
  ['\r', 'no'],
  ['\n', 'no'],
  ['\u001b', 'no'],
  ['\u0004', 'no'],
  ['a', 'always'],
  ['f', 'file'],
  ['o', 'single'],
  ['e', 'edit'],
  ['r', 'reply'],
  ['d', 'all'],
  ['q', 'stop'],
  [INTERRUPT, 'stop'],
  [CONTINUED, 'again'],
]);

const ECHOES: Readonly<Record<Choice, string>> = {
  ...{ yes: 'y', no: 'n', always: 'a', file: 'f', single: 'o', edit: 'e', reply: 'r', all: 'd', stop: 'q', again: '' },
};

const ALWAYS: Readonly<Record<Scope, string>> = {
  tool: '[a]lways',
  command: '[a]lways this command',
  call: '[a]lways this file',
};

/**
 * Asks a person and resolves with the answer. Enter and Esc mean no; keys typed before the question appeared do not
 * count. A preview that does not fit the screen is cut, and can only be approved after all of it was shown.
 */
export async function askPerson(
  question: Question,
  { tty, err, env }: { readonly tty: Tty; readonly err: Out; readonly env: Env },
  signal: AbortSignal,
): Promise<Answer> {
  const keys = new Map([...CHOICES].filter(([, choice]) => hasChoice(question, choice)));
  const pause = (): Promise<void> => yieldToEvents(signal);
  let page = await layOutPage(question, { tty, err, pause });
  let isCut = page.isLong;
  await show(err, page, isCut);
  for (;;) {
    const key = await tty.key(keys, () => err.write(wrapKeys(formatKeys(question, isCut), tty.columns)), signal);
    const choice = keys.get(key) ?? 'no';
    await err.write(`${ECHOES[choice]}\n`);
    const hasChanged = page.columns !== tty.columns || page.rows !== tty.rows;
    if (hasChanged) page = await layOutPage(question, { tty, err, pause });
    if (choice === 'all' || choice === 'again') {
      isCut = choice === 'again' && (hasChanged ? page.isLong : isCut);
      // A pager uses the alternate screen and leaves nothing behind.
      const isPaged =
        choice === 'all' && page.isLong && (await tty.page(`${selectRows(page, false).join('\n')}\n`, env, signal));
      await show(err, page, isCut || isPaged);
    } else if (hasChanged && APPROVING.includes(choice)) {
      // After a resize the question may have scrolled out of sight.
      isCut = page.isLong;
      await err.write('│ The window has changed since.\n');
      await show(err, page, isCut);
    } else if (isCut && APPROVING.includes(choice)) {
      await err.write('│ This is not all of it. See the rest first: d\n');
    } else if (choice === 'reply') {
      const text = await tty.line('  Tell the model: ', signal);
      if (text === INTERRUPT) return { kind: 'stop' };
      if (text.trim() !== '') return { kind: 'reply', text: text.trim() };
    } else return { kind: choice };
  }
}

interface Page {
  readonly columns: number;
  readonly rows: number;
  readonly view: QuestionView;
  readonly room: number;
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
  const room = Math.max(rows - view.title.length - keys.length - 3, 4);
  return { columns, rows, view, room, isLong: view.body.length > room };
}

const PLAIN_CHOICES: readonly Choice[] = ['yes', 'no', 'all', 'again'];
const APPROVING: readonly Choice[] = ['yes', 'always', 'file'];

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

function hasChoice({ items, scope, hasFile }: Question, choice: Choice): boolean {
  if (scope === undefined) return PLAIN_CHOICES.includes(choice);
  if (choice === 'file') return hasFile;
  return items.length > 1 ? choice !== 'edit' : choice !== 'single';
}

function formatKeys({ items, scope, hasFile }: Question, isCut: boolean): string {
  const isDiff = items.every(({ preview }) => preview.kind === 'diff');
  const all = isDiff ? '[d]iff' : '[d] all of it';
  if (scope === undefined) return `${isCut ? all : '[y]es'} [n]o`;
  if (items.length > 1)
    return `${isCut ? all : `[y]es to all ${ALWAYS[scope]} ${all}`} [n]o [o]ne by one [r]eply [q]uit turn`;
  if (isCut) return `${all} [n]o [e]dit [r]eply [q]uit turn`;
  const file = hasFile ? '[f] always this file ' : '';
  return `[y]es [n]o ${ALWAYS[scope]} ${file}[e]dit [r]eply ${isDiff ? `${all} ` : ''}[q]uit turn`;
}

const FRAME_WIDTH = '╰  › y'.length;

/**
 * Breaks the row of keys only between keys, and leaves the cursor after the last. No previewed text can begin like
 * these rows, so it cannot fake them.
 */
function wrapKeys(offered: string, columns: number): string {
  const rows: string[] = [];
  for (const key of offered.split(/ (?=\[)/)) {
    const longer = `${rows.at(-1)} ${key}`;
    if (rows.length > 0 && longer.length <= columns - FRAME_WIDTH) rows[rows.length - 1] = longer;
    else rows.push(key);
  }
  return `╰ ${rows.join('\n  ')} › `;
}

/** Rows per write: a terminal is slow, and an abort may come in between. */
const ROWS_AT_ONCE = 1000;

async function show(err: Out, page: Page, isCut: boolean): Promise<void> {
  const rows = selectRows(page, isCut);
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE)
    await err.write(`${rows.slice(start, start + ROWS_AT_ONCE).join('\n')}\n`);
}

/** Cuts the middle, so that nothing can hide at the end behind a long beginning. */
function selectRows({ view: { title, body: all, brief }, room }: Page, isCut: boolean): readonly string[] {
  const body = isCut ? (brief ?? all) : all;
  if (!isCut || body.length <= room) return [...title, ...body];
  const head = body.slice(0, Math.ceil((room - 1) / 2));
  const tail = body.slice(body.length - (room - 1 - head.length));
  const omitted = body.length - head.length - tail.length;
  return [...title, ...head, `┆ ${omitted} more lines`, ...tail];
}
