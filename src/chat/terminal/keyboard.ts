import type { TerminalInput } from '../../platform/terminal/input.ts';
import { type Key, keyDecoder } from './keys.ts';

interface KeyboardListener {
  onKeys(keys: readonly Key[]): void;
  onResize(): void;
  onSuspend(): void;
  onContinue(): void;
  onEnd(): void;
}

export interface Keyboard {
  take(): void;
  /** Reports an unfinished key or paste first, because its end will go to another reader. */
  giveBack(): void;
}

/** After this long, an Esc is the key itself and not the start of a sequence. */
const ESCAPE_MS = 50;
/** Dragging a window sends many sizes; wait for the last. */
const RESIZE_MS = 100;

export function createKeyboard(terminal: TerminalInput, listener: KeyboardListener, isPlain: boolean): Keyboard {
  let decoder = keyDecoder();
  let hasInput = false;
  let stopEscape = (): void => {};
  let stopResize = (): void => {};
  const reportKeys = (keys: readonly Key[]): void => {
    if (keys.some(({ kind }) => kind === 'kitty')) terminal.reportAllKeys();
    const typed = mergeTextKeys(keys);
    if (typed.length > 0) listener.onKeys(typed);
  };
  return {
    take: () =>
      terminal.start(
        {
          bytes(chunk) {
            stopEscape();
            reportKeys(decoder.push(hasInput ? chunk : restoreEnter(chunk)));
            hasInput = true;
            if (decoder.isWaiting) stopEscape = terminal.after(ESCAPE_MS, () => reportKeys(decoder.flush()));
          },
          onResize() {
            stopResize();
            stopResize = terminal.after(RESIZE_MS, listener.onResize);
          },
          onSuspend: listener.onSuspend,
          onContinue: listener.onContinue,
          onEnd: listener.onEnd,
        },
        { isPlain },
      ),
    giveBack() {
      stopEscape();
      stopResize();
      terminal.stop();
      reportKeys(decoder.end());
      decoder = keyDecoder();
    },
  };
}

/**
 * Keys typed before the terminal is in raw mode arrive with the first chunk, with each Enter turned into Ctrl+J. This
 * makes it Enter again, up to the first escape sequence, which may be a paste. A chunk that has an Enter was typed later.
 */
function restoreEnter(chunk: Uint8Array): Uint8Array {
  if (chunk.includes(0x0d)) return chunk;
  const sequence = chunk.indexOf(0x1b);
  const end = sequence === -1 ? chunk.length : sequence;
  return chunk.map((byte, at) => (byte === 0x0a && at < end ? 0x0d : byte));
}

/** Joins adjacent characters: inserting a long text one by one would take quadratic time. */
function mergeTextKeys(keys: readonly Key[]): readonly Key[] {
  const result: Key[] = [];
  for (const key of keys) {
    const last = result.at(-1);
    if (key.kind === 'text' && last?.kind === 'text')
      result[result.length - 1] = { kind: 'text', text: last.text + key.text };
    else if (key.kind !== 'kitty') result.push(key);
  }
  return result;
}
