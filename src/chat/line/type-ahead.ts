import type { Cell, Row } from '../../core/text/frame.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { Key } from '../terminal/keys.ts';
import { LEAVE_WITHIN_MS } from './commands.ts';
import { createPastedBlocks } from './folds.ts';
import { clipRow, layOut, standOut } from './layout.ts';
import { createSuggester, type ReadingContext } from './reading.ts';
import type { CancelKey, Entry, Footer, LineSource } from './source.ts';
import { layOutMenu } from './view.ts';

interface TypeAhead {
  watch: LineSource['watch'];
  press(key: Key): void;
  showIn(footer: Footer): () => void;
  /** While others have the terminal, nothing is shown; call the returned function when they are done. */
  hide(): () => void;
  resize(): void;
  next(prompt: string): Entry | undefined;
  takeBack(): void;
  /** Types the keys that wait, as if they had been typed during the turn. */
  typePending(): void;
  hasTyped(): boolean;
  /** Whether Ctrl+C was typed twice in a row during one turn; true only once. */
  takeLeaveRequest(): boolean;
}

/** Keys that reach beyond the line, or look things up: they have no effect during a turn. Tab takes from an open menu. */
const IDLE_KEYS: ReadonlySet<string> = new Set(['ctrl-g', 'ctrl-l', 'ctrl-r', 'ctrl-v', 'tab']);

export function createTypeAhead(context: ReadingContext): TypeAhead {
  const { editor, pendingKeys, clock } = context;
  const queue: Entry[] = [];
  let footer: Footer | undefined;
  let isHidden = false;
  let cancel: ((key: CancelKey) => void) | undefined;
  let isAnswered: (text: string) => boolean = () => false;
  let interruptedAt = Number.NEGATIVE_INFINITY;
  let isLeaving = false;
  const show = (): void => {
    if (!isHidden) footer?.set(...layOutFooter(context, queue));
  };
  const suggest = createSuggester(context, show);
  const type = (key: Key): void => {
    const isInMenu = editor.menu !== undefined;
    if (isKey(key, 'up') && !isInMenu && takeBackLast(context, queue)) return;
    if (key.kind === 'key' && IDLE_KEYS.has(key.name) && !(isInMenu && key.name === 'tab')) return;
    const request = editor.press(key, clock.now());
    const isShown = request?.kind === 'text' && isAnswered(request.text);
    const isEntry = request?.kind === 'text' || request?.kind === 'end' || request?.kind === 'next-mode';
    if (isEntry && !isShown) queue.push(request);
    if (request?.kind === 'text') editor.clear();
  };
  const typePending = (): void => {
    for (const key of pendingKeys.splice(0)) if (!isCancelKey(key)) type(key);
  };
  const takeBack = (): void => {
    typePending();
    while (takeBackLast(context, queue));
    show();
  };
  return {
    typePending,
    watch(onCancel, onEntry) {
      cancel = onCancel;
      isAnswered = onEntry;
      interruptedAt = Number.NEGATIVE_INFINITY;
      typePending();
      return () => {
        if (cancel !== onCancel) return;
        cancel = undefined;
        editor.noteTurnEnd(clock.now());
        footer?.set([]);
        footer = undefined;
      };
    },
    press(key) {
      if (isKey(key, 'ctrl-z')) {
        context.suspend();
        return;
      }
      if (cancel === undefined) {
        pendingKeys.push(key);
        return;
      }
      const isInterrupt = isKey(key, 'ctrl-c');
      isLeaving ||= isInterrupt && clock.now() - interruptedAt < LEAVE_WITHIN_MS;
      interruptedAt = isInterrupt ? clock.now() : Number.NEGATIVE_INFINITY;
      // Esc closes a menu first.
      if (isCancelKey(key) && !(isKey(key, 'escape') && editor.menu !== undefined)) {
        takeBack();
        cancel(isInterrupt ? 'ctrl-c' : 'escape');
      } else type(key);
      if (footer !== undefined && context.size().rows >= MIN_MENU_ROWS) suggest();
      show();
    },
    showIn(next) {
      footer = next;
      show();
      return () => {
        if (footer === next) footer = undefined;
      };
    },
    hide() {
      isHidden = true;
      footer?.set([]);
      return () => {
        isHidden = false;
        show();
      };
    },
    resize: show,
    next(prompt) {
      const entry = queue.shift();
      if (entry?.kind === 'text') echoEntry(context, prompt, entry.text);
      return entry;
    },
    takeBack,
    hasTyped: () => queue.length > 0 || editor.text !== '' || pendingKeys.length > 0,
    takeLeaveRequest() {
      const isRequested = isLeaving;
      isLeaving = false;
      return isRequested;
    },
  };
}

/** Moves the last queued text before the one in the line; false if nothing is queued. Other entries are dropped. */
function takeBackLast({ editor }: ReadingContext, queue: Entry[]): boolean {
  const last = queue.pop();
  if (last?.kind === 'text') editor.replace(editor.text === '' ? last.text : `${last.text}\n${editor.text}`);
  return last !== undefined;
}

export function echoEntry({ screen, columns }: ReadingContext, prompt: string, text: string): void {
  const blocks = createPastedBlocks();
  const shown = blocks.fold(text);
  const layout = layOut({ prompt, text: shown, caret: shown.length, columns: columns(), label: blocks.label });
  screen.show(standOut(layout), columns());
  screen.moveBelow();
}

const MAX_QUEUED_ROWS = 3;
const MAX_TYPED_ROWS = 5;
const MAX_MENU_ROWS = 6;
/** A lower window has no row to spare. */
const MIN_ROWS = 4;
/** A menu that cannot be seen must not be taken from. */
const MIN_MENU_ROWS = 7;
/** Rows left for the answer and its progress, if the window has that many. */
const OTHER_ROWS = 5;
const DIM = '\u001b[2m';
const PLAIN = '\u001b[0m';

/** If there is room for one row only, it shows what is typed, or the status while nothing is typed. */
function layOutFooter(
  { editor, size, isStyled, refreshStatus }: ReadingContext,
  queue: readonly Entry[],
): readonly [rows: readonly string[], caret?: Cell] {
  const { columns, rows } = size();
  if (rows < MIN_ROWS) return [[]];
  const most = Math.max(1, rows - OTHER_ROWS);
  const dim = (text: string): string => joinRow(clipRow(isStyled ? `${DIM}${text}${PLAIN}` : text, columns - 1));
  const texts = queue.flatMap((entry) => (entry.kind === 'text' ? [entry.text] : []));
  const count = texts.length === 0 ? '' : ` · ${texts.length} queued`;
  const status = dim((refreshStatus()?.(columns - 1 - count.length) ?? '') + count);
  if (most === 1 && editor.text === '') return [[status], { row: 0, column: 0 }];
  const typed = editor.text === '' ? { rows: [[]], caret: { row: 0, column: 0 } } : editor.lastFrame();
  const height = Math.min(MAX_TYPED_ROWS, Math.max(1, most - 1));
  const first = Math.max(0, typed.caret.row - height + 1);
  const line = typed.rows.slice(first, first + height).map(joinRow);
  const room = Math.min(MAX_MENU_ROWS, most - line.length);
  const menu = editor.menu === undefined ? [] : layOutMenu(editor.menu, { columns, rows: room }, isStyled).map(joinRow);
  const below = menu.length > 0 ? menu : most === 1 ? [] : [status];
  const above = Math.max(0, Math.min(MAX_QUEUED_ROWS, most - below.length - line.length));
  const queued = texts.slice(Math.max(0, texts.length - above)).map((text, index, { length }) => {
    const hint = index === length - 1 ? ' (Up takes it back)' : '';
    return dim(`queued${hint}: ${sanitize(text.replace(/\s+/g, ' '))}`);
  });
  const caret = { row: queued.length + typed.caret.row - first, column: typed.caret.column };
  return [[...queued, ...line, ...below], caret];
}

function joinRow(row: Row): string {
  return row.map(({ text }) => text).join('');
}

function isCancelKey(key: Key): boolean {
  return isKey(key, 'escape') || isKey(key, 'ctrl-c');
}

function isKey(key: Key, name: string): boolean {
  return key.kind === 'key' && key.name === name;
}
