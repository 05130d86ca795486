import type { KeyRequest } from '../../src/chat/line/commands.ts';
import { lineEditor } from '../../src/chat/line/editor.ts';
import { type Key, keyDecoder } from '../../src/chat/terminal/keys.ts';

interface Typing {
  readonly columns?: number;
  readonly rows?: number;
  readonly entries?: readonly string[];
  readonly status?: string;
}

export const ESC = '\u001b';

/** An editor that is typed into. `screen` shows the line, `|` at the caret, and what is below it. */
export function typing({ columns = 80, rows = 24, entries = [], status }: Typing = {}) {
  const editor = lineEditor({
    entries: () => entries,
    size: () => ({ columns, rows }),
    isStyled: false,
    isPlain: false,
  });
  editor.begin('> ', '', status === undefined ? undefined : () => status);
  const requests: KeyRequest[] = [];
  let now = 0;
  const press = (key: Key): void => {
    const request = editor.press(key, now);
    if (request === undefined) return;
    requests.push(request);
    if (request.kind === 'text') editor.clear();
  };
  return {
    editor,
    requests,
    type(keys: string): string {
      const decoder = keyDecoder();
      for (const key of [...decoder.push(Buffer.from(keys)), ...decoder.flush()]) press(key);
      return this.line;
    },
    paste: (text: string) => press({ kind: 'paste', text }),
    wait(ms: number): void {
      now += ms;
    },
    get line(): string {
      return `${editor.before}|${editor.text.slice(editor.before.length)}`;
    },
    get screen(): readonly string[] {
      const { rows: drawn, caret } = editor.frame();
      return drawn.map((row, index) => {
        let column = 0;
        const cells = row.map(({ text, width }) => {
          const mark = index === caret.row && column === caret.column ? '|' : '';
          column += width;
          return mark + text;
        });
        return cells.join('') + (index === caret.row && caret.column === column ? '|' : '');
      });
    },
  };
}
