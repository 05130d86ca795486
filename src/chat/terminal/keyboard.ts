import type { TerminalInput } from '../../platform/terminal/input.ts';
import { type Key, keyDecoder } from './keys.ts';

interface KeyboardListener {
  keys(keys: readonly Key[]): void;
  /** The window has another size, and has kept it for a moment. */
  resized(): void;
  continued(): void;
  ended(): void;
}

export interface Keyboard {
  /** Takes the terminal, unless we have it. */
  take(): void;
  /** What had come of an unfinished key or paste is told before: its end goes to somebody else. */
  giveBack(): void;
}

/** After this long an Esc is the key, not the beginning of another one's sequence. */
const ESCAPE_MS = 50;
/** A window that is being dragged sends a size for each of its steps. */
const RESIZE_MS = 100;

/** The keys of a terminal, whose bytes may come in any pieces. */
export function keyboardOf(terminal: TerminalInput, listener: KeyboardListener, isPlain: boolean): Keyboard {
  let decoder = keyDecoder();
  let stopEscape = (): void => {};
  let stopResize = (): void => {};
  const tell = (keys: readonly Key[]): void => {
    if (keys.some(({ kind }) => kind === 'kitty')) terminal.reportAllKeys();
    const typed = joined(keys);
    if (typed.length > 0) listener.keys(typed);
  };
  return {
    take: () =>
      terminal.start(
        {
          bytes(chunk) {
            stopEscape();
            tell(decoder.push(chunk));
            if (decoder.isWaiting) stopEscape = terminal.after(ESCAPE_MS, () => tell(decoder.flush()));
          },
          resized() {
            stopResize();
            stopResize = terminal.after(RESIZE_MS, listener.resized);
          },
          continued: listener.continued,
          ended: listener.ended,
        },
        { isPlain },
      ),
    giveBack() {
      stopEscape();
      stopResize();
      terminal.stop();
      tell(decoder.end());
      decoder = keyDecoder();
    },
  };
}

/** Characters that came together go into the line together: one by one, a long text would take its square in time. */
function joined(keys: readonly Key[]): readonly Key[] {
  const result: Key[] = [];
  for (const key of keys) {
    const last = result.at(-1);
    if (key.kind === 'text' && last?.kind === 'text')
      result[result.length - 1] = { kind: 'text', text: last.text + key.text };
    else if (key.kind !== 'kitty') result.push(key);
  }
  return result;
}
