import type { Frame } from '../../core/text/frame.ts';
import type { Key } from '../terminal/keys.ts';
import { normalizeText } from './folds.ts';
import { layOut } from './layout.ts';
import type { Candidate, PickList } from './source.ts';
import { layOutMenu, type Size } from './view.ts';

interface Picker {
  press(key: Key): Candidate | 'closed' | undefined;
  frame(): Frame;
}

const MAX_ROWS = 15;
const NO_MATCH = { candidates: [{ insert: 'nothing matches; Esc closes' }], chosen: -1 };
const STEPS: ReadonlyMap<string, 1 | -1> = new Map([
  ['down', 1],
  ['ctrl-n', 1],
  ['tab', 1],
  ['up', -1],
  ['ctrl-p', -1],
  ['shift-tab', -1],
]);
const CLOSING_KEYS: ReadonlySet<string> = new Set(['escape', 'ctrl-c', 'ctrl-d', 'ctrl-g']);

export function createPicker(list: PickList, size: () => Size, isStyled: boolean): Picker {
  let query = '';
  let chosen = list.chosen ?? 0;
  let shown = list.candidates;
  const narrow = (next: string): void => {
    query = next;
    const words = query.toLowerCase().trim().split(/\s+/);
    const found = list.candidates.filter((candidate) => words.every((word) => toSearchText(candidate).includes(word)));
    // Candidates that begin with the query come first, so that typing the number of a row finds it.
    const isFirst = (candidate: Candidate): boolean => toSearchText(candidate).startsWith(words.join(' '));
    shown = [...found.filter(isFirst), ...found.filter((candidate) => !isFirst(candidate))];
    chosen = 0;
  };
  return {
    press(key) {
      if (key.kind === 'kitty') return undefined;
      if (key.kind !== 'key') narrow(query + normalizeText(key.text).replaceAll('\n', ' '));
      else if (CLOSING_KEYS.has(key.name)) return 'closed';
      else if (key.name === 'enter') return shown[chosen];
      else if (key.name === 'backspace' || key.name === 'ctrl-h') narrow([...query].slice(0, -1).join(''));
      else if (key.name === 'ctrl-u') narrow('');
      else chosen = (chosen + (STEPS.get(key.name) ?? 0) + shown.length) % Math.max(1, shown.length);
      return undefined;
    },
    frame() {
      const { columns, rows } = size();
      const { rows: head, caret } = layOut({
        ...{ prompt: `${list.title} › `, text: query, caret: query.length, columns },
      });
      // A query of several rows: the last one is where the user types.
      const top = head.slice(caret.row);
      const room = { columns, rows: Math.min(rows - top.length, MAX_ROWS) };
      return {
        rows: [...top, ...layOutMenu(shown.length === 0 ? NO_MATCH : { candidates: shown, chosen }, room, isStyled)],
        caret: { row: 0, column: caret.column },
      };
    },
  };
}

function toSearchText({ insert, label = insert, hint = '' }: Candidate): string {
  return `${label.trimStart()} ${hint} ${insert}`.toLowerCase();
}
