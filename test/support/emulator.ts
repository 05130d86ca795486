import headless from '@xterm/headless';
import type { Out, Spinner } from '../../src/core/io.ts';
import { measureWidth } from '../../src/core/text/width.ts';

/** The terminal of VS Code without a window, as an output: what a person would see of what is written to it. */
export interface Emulator extends Out {
  readonly spinners: Set<Spinner>;
  /** Resolves when everything written so far is on the screen. */
  shown(): Promise<Seen>;
  resize(columns: number, rows: number): Promise<void>;
  /** As Ctrl+Z and `fg` in a shell, which writes `words` in between. */
  suspend(words: string): Promise<void>;
  /** Bytes written so far. */
  readonly output: string;
}

export interface Seen {
  /** The window, without spaces at the ends of rows and empty rows at the end. */
  readonly window: readonly string[];
  /** All lines since the start, as they would be copied: those that the terminal wrapped are whole. */
  readonly lines: readonly string[];
}

interface EmulatorOptions {
  readonly columns: number;
  readonly rows: number;
  readonly isStyled?: boolean;
  /** Measures emoji as terminals did before Unicode 9: one column for each part. */
  readonly hasOldWidths?: boolean;
}

export function emulator(size: EmulatorOptions): Emulator {
  const terminal = new headless.Terminal({
    cols: size.columns,
    rows: size.rows,
    scrollback: 100_000,
    allowProposedApi: true,
    // As the driver of a terminal does it: the end of a line is CR and LF.
    convertEol: true,
  });
  if (!size.hasOldWidths) {
    terminal.unicode.register(modernWidths);
    terminal.unicode.activeVersion = modernWidths.version;
  }
  saveCursorInWindow(terminal);
  const listeners = new Set<() => void>();
  const suspensions = new Set<{ leave(): void; enter(): void }>();
  let output = '';
  const settle = (): Promise<void> => new Promise((resolve) => terminal.write('', resolve));
  return {
    isTerminal: true,
    isStyled: size.isStyled ?? false,
    spinners: new Set(),
    get columns() {
      return terminal.cols;
    },
    get rows() {
      return terminal.rows;
    },
    get output() {
      return output;
    },
    async write(chunk) {
      output += chunk;
      terminal.write(chunk);
    },
    onResize(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    onSuspend(leave, enter) {
      const suspension = { leave, enter };
      suspensions.add(suspension);
      return () => void suspensions.delete(suspension);
    },
    async suspend(words) {
      for (const { leave } of suspensions) leave();
      await new Promise((resolve) => setImmediate(resolve));
      terminal.write(words);
      for (const { enter } of suspensions) enter();
      await settle();
    },
    async resize(columns, rows) {
      await settle();
      terminal.resize(columns, rows);
      for (const listener of listeners) listener();
      await settle();
    },
    async shown() {
      await settle();
      const { active } = terminal.buffer;
      const rows = Array.from({ length: active.length }, (_, index) => active.getLine(index));
      const lines: string[] = [];
      for (const row of rows) {
        const text = row?.translateToString(false) ?? '';
        if (row?.isWrapped) lines.push((lines.pop() ?? '') + text);
        else lines.push(text);
      }
      return {
        window: trimRows(rows.slice(active.baseY).map((row) => row?.translateToString(true) ?? '')),
        lines: trimRows(lines),
      };
    },
  };
}

/** Like xterm and tmux, where a saved cursor is a place in the window; in VS Code it moves with the text that scrolls. */
function saveCursorInWindow(terminal: headless.Terminal): void {
  let row = 0;
  terminal.parser.registerEscHandler({ final: '7' }, () => {
    row = terminal.buffer.active.cursorY;
    return false;
  });
  terminal.parser.registerEscHandler({ final: '8' }, () => {
    const { buffer } = Reflect.get(terminal, '_core');
    buffer.savedY = buffer.ybase + row;
    return false;
  });
}

function trimRows(rows: readonly string[]): readonly string[] {
  const texts = rows.map((row) => row.trimEnd());
  return texts.slice(0, texts.findLastIndex((row) => row !== '') + 1);
}

const JOINER = 0x200d;

/** The widths of today's terminals, in the form of https://github.com/xtermjs/xterm.js/blob/master/src/common/services/UnicodeService.ts */
const modernWidths = {
  version: 'modern',
  wcwidth: (code: number): 0 | 1 | 2 => toWidth(measureWidth(String.fromCodePoint(code))),
  /** Bit 0: joins the character before it; bits 1 and 2: the width; the rest: the state, here whether it was a joiner. */
  charProperties(code: number, preceding: number): number {
    const own = toWidth(measureWidth(String.fromCodePoint(code)));
    const joins = preceding !== 0 && (own === 0 || preceding >> 3 === 1);
    const width = joins ? Math.max(own, (preceding >> 1) & 3) : own;
    return (code === JOINER ? 8 : 0) | (width << 1) | (joins ? 1 : 0);
  },
};

function toWidth(columns: number): 0 | 1 | 2 {
  return columns === 0 ? 0 : columns === 1 ? 1 : 2;
}
