import type { Clock, Env, Out } from '../../core/io.ts';
import type { TerminalInput } from '../../platform/terminal/input.ts';
import { createKeyboard, type Keyboard } from '../terminal/keyboard.ts';
import type { Key } from '../terminal/keys.ts';
import { createScreen } from '../terminal/screen.ts';
import { lineEditor } from './editor.ts';
import type { EntryHistory } from './entry-history.ts';
import { type Reading, type ReadingContext, startPicking, startReading } from './reading.ts';
import type { Candidate, Complete, FitStatus, LineSource, Pasted, PickList } from './source.ts';
import { createTypeAhead, echoEntry } from './type-ahead.ts';

interface TerminalLinesOptions {
  readonly terminal: TerminalInput;
  readonly err: Out;
  readonly clock: Clock;
  /** `TERM`, and `VISUAL` and `EDITOR` for Ctrl+G. */
  readonly env: Env;
  /** Ends a `read`, which then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  readonly history: EntryHistory;
  readonly complete?: Complete;
  /** One row below the line; asked for with each `read`. */
  readonly status?: () => FitStatus | undefined;
  /** Ctrl+V: what the clipboard of the system holds. Never rejects. */
  readonly paste?: (signal: AbortSignal) => Promise<Pasted>;
  /** Takes pasted text that names files to attach; a notice if it did. Never rejects. */
  readonly attach?: (text: string) => Promise<string | undefined>;
}

const HANGUP_MS = 100;

/** The line editor on a terminal. It takes the terminal at the first `read` or `watch`. */
export function terminalLines(options: TerminalLinesOptions): LineSource {
  const { terminal, signal, history, env } = options;
  const isPlain = env.TERM === 'dumb' || env.TERM === '';
  const typed: Key[] = [];
  let current: Reading<unknown> | undefined;
  let onFirstKey: (() => void) | undefined;
  const reportFirstKey = (): void => {
    onFirstKey?.();
    onFirstKey = undefined;
  };
  let isEnded = false;
  let isClosed = false;
  const keyboard = createKeyboard(
    terminal,
    {
      onKeys(keys) {
        if (current === undefined) for (const key of keys) typeAhead.press(key);
        else {
          typed.push(...keys);
          reportFirstKey();
        }
        current?.proceed();
      },
      onResize: () => (current ?? typeAhead).resize(),
      onSuspend: () => current?.suspend(),
      onContinue: () => current?.redraw(),
      onEnd() {
        isEnded = true;
        // Wait a moment: the hangup signal arrives about now and says more about the cause.
        terminal.after(HANGUP_MS, () => current?.finish({ kind: 'end' }));
      },
    },
    isPlain,
  );
  const withTerminal = createWithTerminal(keyboard, { isClosed: () => isClosed, hide: () => typeAhead.hide() });
  const context = createContext(options, { isPlain, pendingKeys: typed, withTerminal });
  const typeAhead = createTypeAhead(context);
  const receive = async <Result>(reading: Reading<Result>): Promise<Result> => {
    current = reading;
    return awaitEntry(reading, signal).finally(() => {
      current = undefined;
    });
  };
  const pick = async (list: PickList): Promise<Candidate | undefined> => {
    signal.throwIfAborted();
    if (isEnded) return undefined;
    keyboard.take();
    return receive(startPicking(context, list));
  };
  return {
    isTerminal: true,
    async read({ prompt, draft = '', notice, isAnswer = false, ...options }) {
      signal.throwIfAborted();
      if (isEnded) return { kind: 'end' };
      if (typeAhead.takeLeaveRequest()) return { kind: 'leave' };
      keyboard.take();
      // A draft is for this line; what is queued comes after it.
      const queued = draft === '' ? typeAhead.next(prompt) : undefined;
      if (queued !== undefined) {
        if (queued.kind === 'text' && !isAnswer) await history.add(queued.text);
        return queued;
      }
      context.editor.begin(prompt, draft, context.refreshStatus());
      if (notice !== undefined) context.editor.showNotice(notice);
      onFirstKey = options.onFirstKey;
      if (typed.length > 0) reportFirstKey();
      const entry = await receive(startReading(context));
      if (entry.kind === 'text' && !isAnswer) await history.add(entry.text);
      return entry;
    },
    echo: (prompt, text) => echoEntry(context, prompt, text),
    pick: isPlain ? undefined : pick,
    watch(onCancel, onEntry) {
      keyboard.take();
      return typeAhead.watch(onCancel, onEntry);
    },
    showTypedKeys: isPlain ? undefined : typeAhead.showIn,
    hasTyped: typeAhead.hasTyped,
    keepTypedKeys: typeAhead.takeBack,
    queueTypedKeys: typeAhead.typePending,
    withTerminal,
    async close() {
      isClosed = true;
      keyboard.giveBack();
      typeAhead.takeBack();
      const { draft } = context.editor;
      if (draft.trim() !== '') await history.add(draft);
    },
  };
}

async function awaitEntry<Result>({ entry, fail }: Reading<Result>, signal: AbortSignal): Promise<Result> {
  const onAbort = (): void => fail(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  return entry.finally(() => signal.removeEventListener('abort', onAbort));
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
  const { terminal, err, clock, env, signal, history, complete, paste, attach, status } = options;
  let entries: readonly string[] = [];
  return {
    editor: lineEditor({ entries: () => entries, size: () => terminal, isStyled: err.isStyled, isPlain }),
    screen: createScreen(err, isPlain),
    clock,
    complete,
    paste: async () => paste?.(signal),
    attach: async (text) => attach?.(text),
    refreshStatus: () => (isPlain ? undefined : status?.()),
    pendingKeys,
    columns: () => terminal.columns,
    size: () => terminal,
    isStyled: err.isStyled,
    edit: (text) => withTerminal(() => terminal.edit(text, env, signal)),
    after: terminal.after,
    suspend: terminal.suspend,
    ready: async () => {
      entries = await history.load();
    },
  };
}

function createWithTerminal(
  keyboard: Keyboard,
  { isClosed, hide }: { readonly isClosed: () => boolean; readonly hide: () => () => void },
): LineSource['withTerminal'] {
  let users = 0;
  return async (work) => {
    users += 1;
    keyboard.giveBack();
    const show = hide();
    try {
      return await work();
    } finally {
      users -= 1;
      if (users === 0) {
        if (!isClosed()) keyboard.take();
        show();
      }
    }
  };
}
