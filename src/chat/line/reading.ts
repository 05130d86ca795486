import type { Clock } from '../../core/io.ts';
import type { Key } from '../terminal/keys.ts';
import type { Screen } from '../terminal/screen.ts';
import type { KeyRequest } from './commands.ts';
import type { LineEditor } from './editor.ts';
import type { Complete, Entry } from './source.ts';

export interface ReadingContext {
  readonly editor: LineEditor;
  readonly screen: Screen;
  readonly clock: Clock;
  readonly complete: Complete | undefined;
  /** Keys typed and not yet handled, the oldest first. */
  readonly pendingKeys: Key[];
  readonly columns: () => number;
  /** Opens the text in the user's editor; undefined if that failed. */
  edit(text: string): Promise<string | undefined>;
  /** Calls `action` after `ms`, unless the returned function is called first. */
  after(ms: number, action: () => void): () => void;
  /** False where the process cannot go to the background. */
  suspend(): boolean;
  /** Resolves when earlier entries are loaded. */
  ready(): Promise<void>;
}

export interface Reading {
  /** Rejects only through `fail`. */
  readonly entry: Promise<Entry>;
  /** Handles the typed keys. */
  proceed(): void;
  resized(): void;
  /** After coming back from the background: draws the line again at the current cursor position. */
  redraw(): void;
  finish(entry: Entry): void;
  fail(reason: unknown): void;
}

const COMPLETE_MS = 1000;

/** Starts to read an entry. After the entry is complete, the remaining keys stay in `pendingKeys`. */
export function startReading(context: ReadingContext): Reading {
  const { editor, screen, pendingKeys } = context;
  const outcome = createDeferred<Entry>();
  let state: 'typing' | 'busy' | 'over' = 'typing';
  const show = (): void => {
    if (state === 'typing') screen.show(editor.frame(), context.columns());
  };
  const close = (settle: () => void): void => {
    if (state === 'over') return;
    if (state === 'typing') screen.show(editor.lastFrame(), context.columns());
    screen.moveBelow();
    state = 'over';
    settle();
  };
  const fail = (reason: unknown): void => close(() => outcome.reject(reason));
  const proceed = (): void => {
    while (state === 'typing') {
      const key = pendingKeys.shift();
      if (key === undefined) break;
      const request = editor.press(key, context.clock.now());
      if (request !== undefined) handleRequest(context, request, control);
    }
    show();
  };
  const resume = (): void => {
    if (state === 'busy') state = 'typing';
    proceed();
  };
  const control: ReadingControl = {
    pauseKeys() {
      state = 'busy';
    },
    wait(work) {
      state = 'busy';
      work.catch(fail).finally(resume);
    },
    finish: (entry) => close(() => outcome.resolve(entry)),
    put(entry) {
      screen.erase();
      state = 'over';
      outcome.resolve(entry);
    },
  };
  show();
  control.wait(context.ready());
  return {
    ...{ entry: outcome.promise, proceed, resized: show, finish: control.finish, fail },
    redraw() {
      screen.startBelow();
      resume();
    },
  };
}

/** What a request can do to the reading. */
interface ReadingControl {
  /** Keys wait until `redraw`. */
  pauseKeys(): void;
  /** Keys wait until the work is done, because their meaning depends on it. */
  wait(work: Promise<void>): void;
  finish(entry: Entry): void;
  /** Like `finish`, but erases the line from the screen and keeps its text for the next reading. */
  put(entry: Entry): void;
}

function handleRequest(context: ReadingContext, request: KeyRequest, course: ReadingControl): void {
  const { kind } = request;
  if (kind === 'complete') course.wait(completeLine(context));
  else if (kind === 'edit') course.wait(editLine(context));
  else if (kind === 'clear-screen') context.screen.clear();
  else if (kind === 'next-mode') course.put(request);
  else if (kind !== 'suspend') {
    course.finish(request);
    if (kind === 'text') context.editor.clear();
  } else {
    // The shell prompt goes below the line; the status or menu would stay above it.
    context.screen.show(context.editor.lastFrame(), context.columns());
    if (!context.suspend()) return;
    context.screen.moveBelow();
    course.pauseKeys();
  }
}

function createDeferred<Value>() {
  let resolve: (value: Value) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<Value>((onValue, onFailure) => {
    resolve = onValue;
    reject = onFailure;
  });
  return { promise, resolve, reject };
}

/** Gives up after `COMPLETE_MS`, so that the user can go on typing. */
async function completeLine({ editor, complete, after }: ReadingContext): Promise<void> {
  if (complete === undefined) return;
  const controller = new AbortController();
  const givenUp = new Promise<undefined>((resolve) => {
    controller.signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const stop = after(COMPLETE_MS, () => controller.abort());
  const completion = await Promise.race([complete(editor.before, controller.signal), givenUp]);
  stop();
  if (completion !== undefined) editor.showCompletion(completion);
}

async function editLine({ editor, screen, edit }: ReadingContext): Promise<void> {
  screen.erase();
  const text = await edit(editor.text);
  if (text === undefined) editor.showNotice('The editor failed. VISUAL or EDITOR names the one to use.');
  else editor.replace(text);
}
