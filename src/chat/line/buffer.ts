import { lastWord } from '../../core/text/trim.ts';
import { border, left, type Motion, right } from './motions.ts';

/** A text that is being written, and the place in it. The caret is always on a grapheme border. */
export interface Buffer {
  readonly text: string;
  readonly caret: number;
  insert(text: string): void;
  move(motion: Motion): void;
  delete(motion: Motion): void;
  /** Deletes, and keeps what was deleted for `yank`; kills in a row are kept as one. */
  kill(motion: Motion): void;
  /** Puts the last killed text in. */
  yank(): void;
  /** Right after `yank` or itself: puts the one killed before in its place. */
  yankEarlier(): void;
  /** Swaps the characters around the caret, and moves on. */
  transpose(): void;
  undo(): void;
  /** Puts another text in, as one change that can be undone. */
  replace(text: string, caret?: number): void;
  /** Starts over with an empty line; what was killed stays, as `keep` makes it. */
  reset(keep: (killed: string) => string): void;
}

interface Line {
  readonly text: string;
  readonly caret: number;
}

type Action = 'insert' | 'kill' | 'yank' | 'other';

const MAX_KILLS = 20;
const MAX_UNDO = 200;
const EMPTY: Line = { text: '', caret: 0 };

/** An empty buffer. */
export function buffer(): Buffer {
  const kept = changes();
  const ring = killRing();
  let yankedAt = 0;
  const put = (text: string, from: number, action: Action): void => {
    const { text: whole, caret } = kept.line;
    kept.change({ text: whole.slice(0, from) + text + whole.slice(caret), caret: from + text.length }, action);
  };
  const remove = (motion: Motion, action: Action): string => {
    const { text, caret } = kept.line;
    const to = motion(text, caret);
    const [start, end] = to < caret ? [to, caret] : [caret, to];
    if (start !== end) kept.change({ text: text.slice(0, start) + text.slice(end), caret: start }, action);
    return text.slice(start, end);
  };
  return {
    get text() {
      return kept.line.text;
    },
    get caret() {
      return kept.line.caret;
    },
    insert: (text) => put(text, kept.line.caret, 'insert'),
    move: (motion) => kept.move(motion(kept.line.text, kept.line.caret)),
    delete: (motion) => void remove(motion, 'other'),
    kill(motion) {
      const goesOn = kept.last === 'kill';
      const isBackward = motion(kept.line.text, kept.line.caret) < kept.line.caret;
      const killed = remove(motion, 'kill');
      if (killed !== '') ring.add(killed, { goesOn, isBackward });
    },
    yank() {
      yankedAt = kept.line.caret;
      const text = ring.newest();
      if (text !== undefined) put(text, yankedAt, 'yank');
    },
    yankEarlier() {
      const text = kept.last === 'yank' ? ring.earlier() : undefined;
      if (text !== undefined) put(text, yankedAt, 'yank');
    },
    transpose() {
      const swapped = transposed(kept.line);
      if (swapped !== undefined) kept.change(swapped, 'other');
    },
    undo: kept.undo,
    replace: (text, caret = text.length) => kept.change({ text, caret }, 'other'),
    reset(keep) {
      kept.forget();
      ring.map(keep);
    },
  };
}

/** The line with its past. */
function changes() {
  let line = EMPTY;
  let past: Line[] = [];
  let last: Action = 'other';
  return {
    get line() {
      return line;
    },
    get last() {
      return last;
    },
    change(next: Line, action: Action): void {
      // Typing is undone word by word.
      const typed = next.text.slice(line.caret - 1, next.caret);
      const word = lastWord(typed);
      const beginsWord = word !== '' && word.length < typed.length;
      const goesOn = action === 'insert' && last === 'insert' && !beginsWord;
      if (!goesOn) past = [...past.slice(1 - MAX_UNDO), line];
      line = { text: next.text, caret: border(next.text, next.caret) };
      last = action;
    },
    move(caret: number): void {
      line = { text: line.text, caret: border(line.text, caret) };
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

function transposed({ text, caret }: Line): Line | undefined {
  const middle = caret === text.length ? left(text, caret) : caret;
  const start = left(text, middle);
  const end = right(text, middle);
  const [first, second] = [text.slice(start, middle), text.slice(middle, end)];
  if (first === '' || second === '' || `${first}${second}`.includes('\n')) return undefined;
  return { text: text.slice(0, start) + second + first + text.slice(end), caret: end };
}

/** What was killed, the newest last; `earlier` goes back through it, round and round. */
function killRing() {
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
