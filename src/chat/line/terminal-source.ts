import type { Clock, Env, Out } from '../../core/io.ts';
import type { TerminalInput } from '../../platform/terminal/input.ts';
import { createKeyboard, type Keyboard } from '../terminal/keyboard.ts';
import type { Key } from '../terminal/keys.ts';
import { createScreen } from '../terminal/screen.ts';
import { lineEditor } from './editor.ts';
import type { EntryHistory } from './entry-history.ts';
import { type Reading, type ReadingContext, startReading } from './reading.ts';
import type { Complete, Entry, LineSource } from './source.ts';

interface TerminalLinesOptions {
  readonly terminal: TerminalInput;
  /** Where the line is shown. */
  readonly err: Out;
  readonly clock: Clock;
  /** `TERM`, and `VISUAL` and `EDITOR` for Ctrl+G. */
  readonly env: Env;
  /** Ends a `read`, which then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  readonly history: EntryHistory;
  readonly complete?: Complete;
}

const LEAVE_WITHIN_MS = 2000;
const HANGUP_MS = 100;

/** The line editor on a terminal. It takes the terminal at the first `read` or `watch`. */
export function terminalLines(options: TerminalLinesOptions): LineSource {
  const { terminal, signal, history, env } = options;
  const isPlain = env.TERM === 'dumb' || env.TERM === '';
  const typed: Key[] = [];
  let current: Reading | undefined;
  let onFirstKey: (() => void) | undefined;
  const noteKey = (): void => {
    onFirstKey?.();
    onFirstKey = undefined;
  };
  let isEnded = false;
  let isClosed = false;
  const keyboard = createKeyboard(
    terminal,
    {
      keys(keys) {
        if (current === undefined) for (const key of keys) watcher.press(key);
        else {
          typed.push(...keys);
          noteKey();
        }
        current?.proceed();
      },
      resized: () => current?.resized(),
      continued: () => current?.redraw(),
      ended() {
        isEnded = true;
        // Wait a moment: the hangup signal arrives about now and says more about the cause.
        terminal.after(HANGUP_MS, () => current?.finish({ kind: 'end' }));
      },
    },
    isPlain,
  );
  const withTerminal = createTerminalLoan(keyboard, () => isClosed);
  const context = createContext(options, { isPlain, pendingKeys: typed, withTerminal });
  const watcher = createWatcher(options, context);
  return {
    isTerminal: true,
    async read({ prompt, draft = '', ...options }) {
      signal.throwIfAborted();
      if (isEnded) return { kind: 'end' };
      if (watcher.hasLeft()) return { kind: 'leave' };
      keyboard.take();
      context.editor.begin(prompt, draft);
      onFirstKey = options.onFirstKey;
      if (typed.length > 0) noteKey();
      current = startReading(context);
      const entry = await awaitEntry(current, signal).finally(() => {
        current = undefined;
      });
      if (entry.kind === 'text') await history.add(entry.text);
      return entry;
    },
    watch(onCancel) {
      keyboard.take();
      return watcher.watch(onCancel);
    },
    keepTypedKeys: () => moveTypedToLine(context),
    withTerminal,
    async close() {
      isClosed = true;
      keyboard.giveBack();
      moveTypedToLine(context);
      const { draft } = context.editor;
      if (draft.trim() !== '') await history.add(draft);
    },
  };
}

async function awaitEntry({ entry, fail }: Reading, signal: AbortSignal): Promise<Entry> {
  const onAbort = (): void => fail(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  return entry.finally(() => signal.removeEventListener('abort', onAbort));
}

/** Handles keys while no entry is being read. */
function createWatcher({ terminal, clock }: TerminalLinesOptions, context: ReadingContext) {
  let cancel: (() => void) | undefined;
  let interruptedAt = Number.NEGATIVE_INFINITY;
  let isLeaving = false;
  return {
    watch(onCancel: () => void): () => void {
      cancel = onCancel;
      return () => {
        if (cancel === onCancel) cancel = undefined;
      };
    },
    press(key: Key): void {
      const isInterrupt = isKey(key, 'ctrl-c');
      if (isKey(key, 'ctrl-z')) terminal.suspend();
      else if (cancel === undefined || !(isInterrupt || isKey(key, 'escape'))) context.pendingKeys.push(key);
      else {
        moveTypedToLine(context);
        cancel();
      }
      if (!isInterrupt) return;
      isLeaving ||= clock.now() - interruptedAt < LEAVE_WITHIN_MS;
      interruptedAt = clock.now();
      context.editor.interrupted(interruptedAt);
    },
    /** Whether Ctrl+C was typed twice in a row; true only once. */
    hasLeft(): boolean {
      const hasLeft = isLeaving;
      isLeaving = false;
      return hasLeft;
    },
  };
}

/** Keys that reach beyond the line, dropped from what was typed ahead. */
const OUTWARD_KEYS: ReadonlySet<string> = new Set([
  'ctrl-c',
  'ctrl-d',
  'ctrl-g',
  'ctrl-l',
  'ctrl-r',
  'tab',
  'shift-tab',
]);

/** Types the waiting keys into the line; Enter inserts a newline instead of sending. */
function moveTypedToLine({ editor, pendingKeys, clock }: ReadingContext): void {
  const keys = pendingKeys.splice(0).filter((key) => key.kind !== 'key' || !OUTWARD_KEYS.has(key.name));
  const end = keys.findLastIndex((key) => !isKey(key, 'enter')) + 1;
  for (const key of keys.slice(0, end)) {
    editor.press(isKey(key, 'enter') ? { kind: 'key', name: 'ctrl-j' } : key, clock.now());
  }
}

interface ContextParts {
  readonly isPlain: boolean;
  readonly pendingKeys: Key[];
  readonly withTerminal: LineSource['withTerminal'];
}

function createContext(
  options: TerminalLinesOptions,
  { isPlain, pendingKeys, withTerminal }: ContextParts,
): ReadingContext {
  const { terminal, err, clock, env, signal, history, complete } = options;
  let entries: readonly string[] = [];
  return {
    editor: lineEditor({ entries: () => entries, size: () => terminal, isStyled: err.isStyled, isPlain }),
    screen: createScreen(err, isPlain),
    clock,
    complete,
    pendingKeys,
    columns: () => terminal.columns,
    edit: (text) => withTerminal(() => terminal.edit(text, env, signal)),
    after: terminal.after,
    suspend: terminal.suspend,
    ready: async () => {
      entries = await history.load();
    },
  };
}

/** Takes the terminal back when the last user of it is done, unless it was closed meanwhile. */
function createTerminalLoan(keyboard: Keyboard, isClosed: () => boolean): LineSource['withTerminal'] {
  let borrowers = 0;
  return async (work) => {
    borrowers += 1;
    keyboard.giveBack();
    try {
      return await work();
    } finally {
      borrowers -= 1;
      if (borrowers === 0 && !isClosed()) keyboard.take();
    }
  };
}

function isKey(key: Key, name: string): boolean {
  return key.kind === 'key' && key.name === name;
}
