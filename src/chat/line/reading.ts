import { waitForAbort } from '../../core/async.ts';
import type { Clock } from '../../core/io.ts';
import type { Key } from '../terminal/keys.ts';
import type { Screen } from '../terminal/screen.ts';
import type { KeyRequest } from './commands.ts';
import type { LineEditor } from './editor.ts';
import { standOut } from './layout.ts';
import { createPicker } from './picker.ts';
import type { Candidate, Complete, Entry, FitStatus, Pasted, PickList } from './source.ts';
import type { Size } from './view.ts';

export interface ReadingContext {
  readonly editor: LineEditor;
  readonly screen: Screen;
  readonly clock: Clock;
  readonly complete: Complete | undefined;
  readonly pendingKeys: Key[];
  readonly columns: () => number;
  readonly size: () => Size;
  readonly isStyled: boolean;
  paste(): Promise<Pasted | undefined>;
  attach(text: string): Promise<string | undefined>;
  refreshStatus(): FitStatus | undefined;
  /** Opens the text in the user's editor; undefined if that failed. */
  edit(text: string): Promise<string | undefined>;
  after(ms: number, action: () => void): () => void;
  suspend(): boolean;
  ready(): Promise<void>;
}

export interface Reading<Result = Entry> {
  /** Rejects only through `fail`. */
  readonly entry: Promise<Result>;
  proceed(): void;
  resize(): void;
  /** Leaves the terminal to others, until `redraw`. */
  suspend(): void;
  redraw(): void;
  finish(entry: Extract<Entry, { kind: 'end' }>): void;
  fail(reason: unknown): void;
}

const COMPLETE_MS = 1000;

/** Starts to read an entry. After the entry is complete, the remaining keys stay in `pendingKeys`. */
export function startReading(context: ReadingContext): Reading {
  const { editor, screen, pendingKeys } = context;
  const result = createDeferred<Entry>();
  let state: 'typing' | 'busy' | 'over' = 'typing';
  const show = (): void => {
    if (state === 'typing') screen.show(editor.frame(), context.columns());
  };
  const close = (settle: () => void): void => {
    if (state === 'over') return;
    if (state === 'typing') screen.show(standOut(editor.lastFrame()), context.columns());
    screen.moveBelow();
    state = 'over';
    settle();
  };
  const fail = (reason: unknown): void => close(() => result.reject(reason));
  const suggest = createSuggester(context, () => {
    if (state === 'typing') show();
  });
  const proceed = (): void => {
    while (state === 'typing') {
      const key = pendingKeys.shift();
      if (key === undefined) break;
      if (key.kind === 'paste') {
        control.wait(insertOrAttach(context, key));
        break;
      }
      const request = editor.press(key, context.clock.now());
      if (request !== undefined) handleRequest(context, request, control);
    }
    suggest();
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
    finish: (entry) => close(() => result.resolve(entry)),
    put(entry) {
      screen.erase();
      state = 'over';
      result.resolve(entry);
    },
  };
  show();
  control.wait(context.ready());
  return {
    ...{ entry: result.promise, proceed, resize: show, finish: control.finish, fail },
    suspend() {
      if (state === 'over') return;
      // The shell prompt goes below the line; the status or menu would stay above it.
      screen.show(editor.lastFrame(), context.columns());
      screen.moveBelow();
    },
    redraw() {
      screen.startBelow();
      resume();
    },
  };
}

export function startPicking(context: ReadingContext, list: PickList): Reading<Candidate | undefined> {
  const { screen, pendingKeys } = context;
  const picker = createPicker(list, context.size, context.isStyled);
  const result = createDeferred<Candidate | undefined>();
  let isOpen = true;
  const show = (): void => {
    if (isOpen) screen.show(picker.frame(), context.columns());
  };
  const close = (settle: () => void): void => {
    if (!isOpen) return;
    isOpen = false;
    screen.erase();
    settle();
  };
  const proceed = (): void => {
    while (isOpen) {
      const key = pendingKeys.shift();
      if (key === undefined) break;
      const isText = key.kind === 'text' || key.kind === 'paste';
      if (isText && list.yieldsToText) pendingKeys.unshift(key);
      const picked = isText && list.yieldsToText ? 'closed' : picker.press(key);
      if (picked !== undefined) close(() => result.resolve(picked === 'closed' ? undefined : picked));
    }
    show();
  };
  proceed();
  return {
    ...{ entry: result.promise, proceed, resize: show },
    suspend: screen.erase,
    redraw: show,
    finish: () => close(() => result.resolve(undefined)),
    fail: (reason) => close(() => result.reject(reason)),
  };
}

interface ReadingControl {
  /** Keys wait until `redraw`. */
  pauseKeys(): void;
  /** Keys wait until the work is done, because their meaning depends on it. */
  wait(work: Promise<void>): void;
  finish(entry: Entry): void;
  /** Like `finish`, but erases the line from the screen and keeps its text for the next reading. */
  put(entry: Entry): void;
}

function handleRequest(context: ReadingContext, request: KeyRequest, control: ReadingControl): void {
  const { kind } = request;
  if (kind === 'complete') control.wait(completeLine(context));
  else if (kind === 'edit') control.wait(editLine(context));
  else if (kind === 'paste') control.wait(pasteIntoLine(context));
  else if (kind === 'clear-screen') context.screen.clear();
  else if (kind === 'next-mode' || kind === 'rewind') control.put(request);
  else if (kind !== 'suspend') {
    control.finish(request);
    if (kind === 'text') context.editor.clear();
  } else if (context.suspend()) control.pauseKeys();
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

export function createSuggester(
  { editor, complete }: Pick<ReadingContext, 'editor' | 'complete'>,
  onShown: () => void,
): () => void {
  let controller: AbortController | undefined;
  let wanted: string | undefined;
  return () => {
    const before = editor.suggestible;
    if (before === wanted) return;
    controller?.abort();
    wanted = before;
    if (before === undefined || complete === undefined) return;
    controller = new AbortController();
    complete(before, controller.signal).then((completion) => {
      if (wanted !== before) return;
      editor.showSuggestions(before, completion);
      onShown();
    });
  };
}

async function completeLine({ editor, complete, after }: ReadingContext): Promise<void> {
  if (complete === undefined) return;
  const controller = new AbortController();
  const stop = after(COMPLETE_MS, () => controller.abort());
  const timedOut = waitForAbort(controller.signal).then(() => undefined);
  const completion = await Promise.race([complete(editor.before, controller.signal), timedOut]);
  stop();
  if (completion !== undefined) editor.showCompletion(completion);
}

async function editLine({ editor, screen, edit }: ReadingContext): Promise<void> {
  screen.erase();
  const text = await edit(editor.text);
  if (text === undefined) editor.showNotice('The editor failed. VISUAL or EDITOR names the one to use.');
  else editor.replace(text);
}

async function pasteIntoLine(context: ReadingContext): Promise<void> {
  const pasted = await context.paste();
  if (pasted === undefined) return;
  if ('notice' in pasted) showAttached(context, pasted.notice);
  else context.editor.press({ kind: 'paste', text: pasted.text }, context.clock.now());
}

async function insertOrAttach(context: ReadingContext, key: Extract<Key, { kind: 'paste' }>): Promise<void> {
  const notice = await context.attach(key.text);
  if (notice === undefined) context.editor.press(key, context.clock.now());
  else showAttached(context, notice);
}

function showAttached({ editor, refreshStatus }: ReadingContext, notice: string): void {
  editor.setStatus(refreshStatus());
  editor.showNotice(notice);
}
