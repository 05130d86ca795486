import { findLastWord } from '../../core/text/trim.ts';
import { graphemeSegmenter } from '../../core/text/width.ts';
import { PASTE_CHARACTER } from './folds.ts';

/** A text being edited, with its caret. The caret is always on a grapheme border. */
export interface LineBuffer {
  readonly text: string;
  readonly caret: number;
  insert(text: string): void;
  move(motion: Motion): void;
  delete(motion: Motion): void;
  /** Deletes, and stores the deleted text for `yank`; consecutive kills are joined. */
  kill(motion: Motion): void;
  yank(): void;
  /** Right after `yank` or `yankEarlier`: replaces the yanked text with the one killed before it. */
  yankEarlier(): void;
  transpose(): void;
  undo(): void;
  replace(text: string, caret?: number): void;
  /** Empties the line and its undo history; the kill ring stays, each text passed through `keep`. */
  reset(keep: (killed: string) => string): void;
}

interface LineState {
  readonly text: string;
  readonly caret: number;
}

type Action = 'insert' | 'kill' | 'yank' | 'other';

const MAX_KILLS = 20;
const MAX_UNDO = 200;
const EMPTY: LineState = { text: '', caret: 0 };

export function createBuffer(): LineBuffer {
  const history = createUndoHistory();
  const ring = createKillRing();
  let yankedAt = 0;
  const put = (text: string, from: number, action: Action): void => {
    const { text: whole, caret } = history.line;
    history.change({ text: whole.slice(0, from) + text + whole.slice(caret), caret: from + text.length }, action);
  };
  const remove = (motion: Motion, action: Action): string => {
    const { text, caret } = history.line;
    const to = motion(text, caret);
    const [start, end] = to < caret ? [to, caret] : [caret, to];
    if (start !== end) history.change({ text: text.slice(0, start) + text.slice(end), caret: start }, action);
    return text.slice(start, end);
  };
  return {
    get text() {
      return history.line.text;
    },
    get caret() {
      return history.line.caret;
    },
    insert: (text) => put(text, history.line.caret, 'insert'),
    move: (motion) => history.move(motion(history.line.text, history.line.caret)),
    delete: (motion) => void remove(motion, 'other'),
    kill(motion) {
      const goesOn = history.last === 'kill';
      const isBackward = motion(history.line.text, history.line.caret) < history.line.caret;
      const killed = remove(motion, 'kill');
      if (killed !== '') ring.add(killed, { goesOn, isBackward });
    },
    yank() {
      yankedAt = history.line.caret;
      const text = ring.newest();
      if (text !== undefined) put(text, yankedAt, 'yank');
    },
    yankEarlier() {
      const text = history.last === 'yank' ? ring.earlier() : undefined;
      if (text !== undefined) put(text, yankedAt, 'yank');
    },
    transpose() {
      const swapped = transposeCharacters(history.line);
      if (swapped !== undefined) history.change(swapped, 'other');
    },
    undo: history.undo,
    replace: (text, caret = text.length) => history.change({ text, caret }, 'other'),
    reset(keep) {
      history.forget();
      ring.map(keep);
    },
  };
}

function createUndoHistory() {
  let line = EMPTY;
  let past: LineState[] = [];
  let last: Action = 'other';
  return {
    get line() {
      return line;
    },
    get last() {
      return last;
    },
    change(next: LineState, action: Action): void {
      const typed = next.text.slice(line.caret - 1, next.caret);
      const word = findLastWord(typed);
      const beginsWord = word !== '' && word.length < typed.length;
      const goesOn = action === 'insert' && last === 'insert' && !beginsWord;
      if (!goesOn) past = [...past.slice(1 - MAX_UNDO), line];
      line = { text: next.text, caret: snapToGrapheme(next.text, next.caret) };
      last = action;
    },
    move(caret: number): void {
      line = { text: line.text, caret: snapToGrapheme(line.text, caret) };
      last = 'other';
    },
    undo(): void {
      line = past.pop() ?? line;
      last = 'other';
    },
    forget(): void {
      line = EMPTY;
      past = [];
      last = 'other';
    },
  };
}

function transposeCharacters({ text, caret }: LineState): LineState | undefined {
  const middle = caret === text.length ? left(text, caret) : caret;
  const start = left(text, middle);
  const end = right(text, middle);
  const [first, second] = [text.slice(start, middle), text.slice(middle, end)];
  if (first === '' || second === '' || `${first}${second}`.includes('\n')) return undefined;
  return { text: text.slice(0, start) + second + first + text.slice(end), caret: end };
}

function createKillRing() {
  let kills: string[] = [];
  let place = 0;
  return {
    add(text: string, { goesOn, isBackward }: { readonly goesOn: boolean; readonly isBackward: boolean }): void {
      const before = goesOn ? (kills.pop() ?? '') : '';
      kills = [...kills.slice(1 - MAX_KILLS), isBackward ? text + before : before + text];
    },
    newest(): string | undefined {
      place = kills.length - 1;
      return kills[place];
    },
    earlier(): string | undefined {
      place = (place === 0 ? kills.length : place) - 1;
      return kills[place];
    },
    map(change: (text: string) => string): void {
      kills = kills.map(change);
    },
  };
}

/**
 * Maps a position in a text to another: where a key moves the caret, or how far it deletes. Both are grapheme borders.
 */
type Motion = (text: string, at: number) => number;

function snapToGrapheme(text: string, at: number): number {
  if (at <= 0) return 0;
  if (at >= text.length) return text.length;
  const { from, to } = findLine(text, at);
  if (at === from || at === to) return at;
  const found = graphemeSegmenter()
    .segment(text.slice(from, to))
    .containing(at - from);
  if (found === undefined || found.index === at - from) return at;
  return from + found.index + found.segment.length;
}

export const left: Motion = (text, at) => {
  const { from, to } = findLine(text, at);
  if (at === from) return Math.max(0, at - 1);
  const found = graphemeSegmenter()
    .segment(text.slice(from, to))
    .containing(at - 1 - from);
  return found === undefined ? at : from + found.index;
};

export const right: Motion = (text, at) => (at >= text.length ? at : snapToGrapheme(text, at + 1));

export const lineStart: Motion = (text, at) => findLine(text, at).from;
export const lineEnd: Motion = (text, at) => findLine(text, at).to;

/** To the start of the line; if already there, over the line break, so that repeated kills continue. */
export const killStart: Motion = (text, at) => {
  const start = lineStart(text, at);
  return start === at ? left(text, at) : start;
};

export const killEnd: Motion = (text, at) => {
  const end = lineEnd(text, at);
  return end === at ? right(text, at) : end;
};

/** Uses the word borders of the language: Japanese has no spaces between words. */
export const wordLeft: Motion = (text, at) => {
  for (let end = at; end > 0; ) {
    const { from, to } = findLine(text, end);
    const found = findWords(text.slice(from, to)).findLast(({ start }) => from + start < end);
    if (found !== undefined) return snapToGrapheme(text, from + found.start);
    end = from - 1;
  }
  return 0;
};

export const wordRight: Motion = (text, at) => {
  for (let start = at; start < text.length; ) {
    const { from, to } = findLine(text, start);
    const found = findWords(text.slice(from, to)).find(({ end }) => from + end > start);
    if (found !== undefined) return snapToGrapheme(text, from + found.end);
    start = to + 1;
  }
  return text.length;
};

export const spaceLeft: Motion = (text, at) => {
  const before = text.slice(0, at).trimEnd();
  return snapToGrapheme(text, before.length - findLastWord(before).length);
};

interface Word {
  readonly start: number;
  readonly end: number;
}

function findWords(line: string): readonly Word[] {
  return Array.from(new Intl.Segmenter(undefined, { granularity: 'word' }).segment(line))
    .filter(({ isWordLike, segment }) => isWordLike || PASTE_CHARACTER.test(segment))
    .map(({ index, segment }) => ({ start: index, end: index + segment.length }));
}

/** No grapheme spans a line break, so looking at one line is enough. */
function findLine(text: string, at: number): { readonly from: number; readonly to: number } {
  const end = text.indexOf('\n', at);
  return { from: at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1, to: end === -1 ? text.length : end };
}
