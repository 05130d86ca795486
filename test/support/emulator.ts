import headless from '@xterm/headless';
import type { Out, Spinner } from '../../src/core/io.ts';

/** The terminal of VS Code without a window, as an output: what a person would see of what is written to it. */
export interface Emulator extends Out {
  readonly spinners: Set<Spinner>;
  /** Resolves when everything written so far is on the screen. */
  shown(): Promise<Seen>;
  resize(columns: number, rows: number): Promise<void>;
  /** Bytes written so far. */
  readonly output: string;
}

export interface Seen {
  /** The window, without spaces at the ends of rows and empty rows at the end. */
  readonly window: readonly string[];
  /** All lines since the start, as they would be copied: those that the terminal wrapped are whole. */
  readonly lines: readonly string[];
}

export function emulator(size: {
  readonly columns: number;
  readonly rows: number;
  readonly isStyled?: boolean;
}): Emulator {
  const terminal = new headless.Terminal({
    cols: size.columns,
    rows: size.rows,
    scrollback: 100_000,
    allowProposedApi: true,
    // As the driver of a terminal does it: the end of a line is CR and LF.
    convertEol: true,
  });
  const listeners = new Set<() => void>();
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

function trimRows(rows: readonly string[]): readonly string[] {
  const texts = rows.map((row) => row.trimEnd());
  return texts.slice(0, texts.findLastIndex((row) => row !== '') + 1);
}
