import type { Clock } from '../../core/io.ts';
import type { Key } from '../terminal/keys.ts';
import type { Screen } from '../terminal/screen.ts';
import type { Request } from './commands.ts';
import type { LineEditor } from './editor.ts';
import type { Complete, Entry } from './source.ts';

/** What the reading of an entry works with. */
export interface Desk {
  readonly editor: LineEditor;
  readonly screen: Screen;
  readonly clock: Clock;
  readonly complete: Complete | undefined;
  /** Typed and not yet acted upon, the oldest first. */
  readonly typed: Key[];
  readonly columns: () => number;
  /** The text as the person's editor leaves it; undefined if that failed. */
  edit(text: string): Promise<string | undefined>;
  /** Calls `action` after `ms`, unless the returned function is called before. */
  after(ms: number, action: () => void): () => void;
  /** False where there is no background to go to. */
  suspend(): boolean;
  /** Entries from before are at hand. */
  ready(): Promise<void>;
}

/** One entry while it is being typed. */
export interface Reading {
  /** Rejects only by `fail`. */
  readonly entry: Promise<Entry>;
  /** Acts on what has been typed. */
  proceed(): void;
  resized(): void;
  /** Back from the background: draws the line again, where the cursor is now. */
  redraw(): void;
  /** Ends it, whatever stands in the line. */
  finish(entry: Entry): void;
  fail(reason: unknown): void;
}

const COMPLETE_MS = 1000;

/** Begins to read an entry. Once it has one, it leaves the rest of what was typed alone. */
export function reading(desk: Desk): Reading {
  const { editor, screen, typed } = desk;
  const outcome = pending<Entry>();
  let state: 'typing' | 'busy' | 'over' = 'typing';
  const show = (): void => {
    if (state === 'typing') screen.show(editor.frame(), desk.columns());
  };
  const close = (settle: () => void): void => {
    if (state === 'over') return;
    if (state === 'typing') screen.show(editor.lastFrame(), desk.columns());
    screen.leave();
    state = 'over';
    settle();
  };
  const fail = (reason: unknown): void => close(() => outcome.reject(reason));
  const proceed = (): void => {
    while (state === 'typing') {
      const key = typed.shift();
      if (key === undefined) break;
      const request = editor.press(key, desk.clock.now());
      if (request !== undefined) grant(desk, request, course);
    }
    show();
  };
  const resume = (): void => {
    if (state === 'busy') state = 'typing';
    proceed();
  };
  const course: Course = {
    hold() {
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
  course.wait(desk.ready());
  return {
    ...{ entry: outcome.promise, proceed, resized: show, finish: course.finish, fail },
    redraw() {
      screen.forget();
      resume();
    },
  };
}

/** What a request can do to the reading. */
interface Course {
  /** Keys wait until `redraw`. */
  hold(): void;
  /** Keys wait until that is done: what they mean depends on it. */
  wait(work: Promise<void>): void;
  finish(entry: Entry): void;
  /** The same, but the line is taken off the screen, and kept for the next reading. */
  put(entry: Entry): void;
}

function grant(desk: Desk, request: Request, course: Course): void {
  const { kind } = request;
  if (kind === 'complete') course.wait(completed(desk));
  else if (kind === 'edit') course.wait(edited(desk));
  else if (kind === 'clear-screen') desk.screen.clear();
  else if (kind === 'next-mode') course.put(request);
  else if (kind !== 'suspend') {
    course.finish(request);
    if (kind === 'text') desk.editor.clear();
  } else if (desk.suspend()) {
    desk.screen.leave();
    course.hold();
  }
}

function pending<Value>() {
  let resolve: (value: Value) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<Value>((onValue, onFailure) => {
    resolve = onValue;
    reject = onFailure;
  });
  return { promise, resolve, reject };
}

/** A look-up that takes long is given up: the person types on. */
async function completed({ editor, complete, after }: Desk): Promise<void> {
  if (complete === undefined) return;
  const controller = new AbortController();
  const givenUp = new Promise<undefined>((resolve) => {
    controller.signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const stop = after(COMPLETE_MS, () => controller.abort());
  const completion = await Promise.race([complete(editor.before, controller.signal), givenUp]);
  stop();
  if (completion !== undefined) editor.offer(completion);
}

async function edited({ editor, screen, edit }: Desk): Promise<void> {
  screen.erase();
  const text = await edit(editor.text);
  if (text === undefined) editor.tell('The editor failed. VISUAL or EDITOR names the one to use.');
  else editor.replace(text);
}
