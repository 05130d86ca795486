import { raceWithAbort } from '../core/async.ts';
import { AppError, FAULTS } from '../core/error.ts';
import { settlesWithin } from '../core/io.ts';
import { withoutSpinner } from '../render/spinner.ts';
import { switchToNextMode } from './approval-modes.ts';
import { formatBanner, formatFarewell } from './banner.ts';
import type { Chat } from './chat.ts';
import type { NextLine, NextPrompt, NextStep } from './commands/command.ts';
import { isNote, rememberEntry } from './commands/memory.ts';
import { buildServerPrompt } from './commands/servers.ts';
import { findShowCommand, runSlashEntry } from './commands/table.ts';
import type { Entry } from './line/source.ts';
import { askToGoOn } from './plan.ts';
import { buildPrompt } from './prompt.ts';
import { formatPromptMark, showRecap, showUnanswered } from './recap.ts';
import { rewindByList } from './rewind.ts';
import { runShellLine } from './shell.ts';
import { askPrompt } from './turn.ts';
import type { View } from './view.ts';

/**
 * `/exit` and the end of input exit with 0, Ctrl+C with 130. A failure sets the exit code only if input is not a
 * terminal.
 */
type ChatExit = { readonly exitCode: number };

const WIND_DOWN_MS = 1000;

/**
 * Reads entries and answers them until the user leaves; `first`, if given, is asked before anything is read. Returns
 * the exit code: that of the first failure if input is a pipe, that of the signal if one ended the chat. However it
 * ends, the conversation is saved and the terminal restored. Throws AppError if entries cannot be read.
 */
export async function runChat(chat: Chat, first: string | undefined): Promise<number> {
  const { lines, view, conversation } = chat;
  const failures: AppError[] = [];
  try {
    if (lines.isTerminal) await view.showNotice(formatBanner(chat));
    await view.showReports();
    if (lines.isTerminal) {
      await showRecap(conversation.session, view);
      await showUnanswered(conversation.session, view);
    }
    const { exitCode } = await answerEntries(chat, first, failures);
    return exitCode === 0 && !lines.isTerminal ? (failures[0]?.exitCode ?? 0) : exitCode;
  } finally {
    await lines.close();
    await conversation.session.close();
    await view.showReports();
    for (const line of await formatFarewell(chat)) await view.showNotice(line);
  }
}

async function answerEntries(chat: Chat, first: string | undefined, failures: AppError[]): Promise<ChatExit> {
  const { app, lines, view } = chat;
  let entry: Entry = first === undefined ? await readEntry(chat) : { kind: 'text', text: first };
  if (first !== undefined) lines.echo?.(formatMark(view), first);
  let isTyped = first === undefined;
  // Abandoned work that may still write to the session.
  let rest: Promise<void> | undefined;
  for (;;) {
    const leaving = findExit(app.signal, entry);
    if (leaving !== undefined) {
      // Give an abandoned answer a moment to be saved.
      if (rest) await settlesWithin(rest, WIND_DOWN_MS, app.clock, app.signal);
      return leaving;
    }
    await view.showReports();
    let next: NextLine | undefined;
    const outcome = await runCancellable(chat, (signal, hasLeft) =>
      answerEntry(chat, entry, { isTyped, failures, signal, hasLeft, rest }),
    );
    if (outcome.kind === 'left') {
      const all: Promise<void> = Promise.all([rest, outcome.rest]).then(() => {
        if (rest === all) rest = undefined;
      });
      rest = all;
      await view.silence();
      await view.say('⏹ cancelled');
    } else if (outcome.result === 'leave') return { exitCode: 0 };
    else next = outcome.result;
    await view.showReports();
    isTyped = true;
    entry = await readEntry(chat, next);
  }
}

function findExit(signal: AbortSignal, { kind }: Entry): ChatExit | undefined {
  if (signal.aborted) return AppError.from(signal.reason);
  if (kind === 'end') return { exitCode: 0 };
  return kind === 'leave' ? { exitCode: FAULTS.interrupted.exitCode } : undefined;
}

/** Returns `leave` if a signal of the system arrives while it waits. */
async function readEntry({ lines, app, view, run }: Chat, next?: NextLine): Promise<Entry> {
  try {
    // The connection of the last turn is kept for a minute; a new one is ready by the time of Enter.
    return await lines.read({ ...next, prompt: formatMark(view), onFirstKey: () => run.facts.model.preconnect() });
  } catch (thrown) {
    if (app.signal.aborted) return { kind: 'leave' };
    throw thrown;
  }
}

function formatMark({ isPlain, io }: View): string {
  return formatPromptMark({ isPlain, isStyled: io.err.isStyled });
}

interface AnswerOptions {
  /** False for the prompt of the command line. */
  readonly isTyped: boolean;
  readonly signal: AbortSignal;
  readonly hasLeft: () => boolean;
  readonly rest: Promise<void> | undefined;
  readonly failures: AppError[];
}

async function answerEntry(
  chat: Chat,
  entry: Entry,
  { isTyped, signal, failures, hasLeft, rest }: AnswerOptions,
): Promise<'leave' | NextLine | undefined> {
  const { lines, view } = chat;
  try {
    if (rest !== undefined) await waitForRest(view, rest, signal);
    if (entry.kind === 'next-mode') return await switchToNextMode(chat);
    if (entry.kind === 'rewind') return await rewindByList(chat);
    if (entry.kind !== 'text') return undefined;
    const next = await runEntry(chat, entry.text, { isTyped, signal });
    if (next === undefined || next === 'leave') return next;
    if ('line' in next) return next.line;
    const failure = await askWithPlan(chat, next, { signal, hasLeft });
    if (failure === undefined) return undefined;
    // Keys typed at an approval question bypass `watch`, so put the rest into the line here.
    if (failure.fault === 'interrupted' && !hasLeft()) lines.keepTypedKeys();
    failures.push(failure);
    return undefined;
  } catch (thrown) {
    const error = AppError.from(thrown);
    // Whoever read stdout has closed it.
    if (error.fault === 'pipe') return 'leave';
    if (hasLeft()) return undefined;
    if (error.fault === 'interrupted') lines.keepTypedKeys();
    failures.push(error);
    // A system signal's error may carry a hint about resuming the answer; there is no answer here.
    await view.fail(error === chat.app.signal.reason ? error.with({ hint: undefined }) : error);
    error.isReported = true;
    return undefined;
  }
}

/** Asks the prompt and, if it made a plan that the user agrees to, goes on. Returns the failure, already shown. */
async function askWithPlan(
  chat: Chat,
  { ask, release, onEnded }: NextPrompt,
  { signal, hasLeft }: Pick<AnswerOptions, 'signal' | 'hasLeft'>,
): Promise<AppError | undefined> {
  const failure = await askPrompt(chat, ask, signal).finally(release);
  if (hasLeft()) return failure;
  if (chat.lines.isTerminal) await chat.view.say('');
  await onEnded?.();
  const next = failure === undefined ? await askToGoOn(chat) : undefined;
  return next === undefined ? failure : askWithPlan(chat, { ask: next }, { signal, hasLeft });
}

async function waitForRest(view: View, rest: Promise<void>, signal: AbortSignal): Promise<void> {
  await view.showNotice('Waiting for the cancelled work to end. Esc: do not wait for it.');
  await raceWithAbort(rest, signal);
}

/** What people type on a terminal to leave other programs; with `/` before them they are commands everywhere. */
const LEAVING_WORDS: readonly string[] = ['exit', 'quit', ':q'];

/** What people type for help in other programs; in a pipe it may be a prompt. */
const HELP_WORDS: ReadonlyMap<string, string> = new Map([
  ['?', '/keys'],
  ['help', '/help'],
]);

async function runEntry(
  chat: Chat,
  text: string,
  { isTyped, signal }: Pick<AnswerOptions, 'isTyped' | 'signal'>,
): Promise<NextStep> {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  // In a pipe they may be words of a text, and a note its heading.
  if (chat.lines.isTerminal) {
    if (LEAVING_WORDS.includes(trimmed)) return 'leave';
    const helping = HELP_WORDS.get(trimmed);
    if (helping !== undefined) return runSlashEntry(helping, chat, { signal, isTyped });
    if (isTyped && isNote(text)) return rememberEntry(text, chat, signal);
  }
  // A prompt of the command line, which others may have written, never runs a shell command.
  if (isTyped && trimmed.startsWith('!')) return void (await runShellLine(chat, trimmed.slice(1).trim(), signal));
  if (trimmed.startsWith('/') && !trimmed.startsWith('//')) {
    const serverPrompt = await buildServerPrompt(trimmed, chat, signal);
    if (serverPrompt !== undefined) return serverPrompt;
    return runSlashEntry(trimmed, chat, { signal, isTyped });
  }
  const prompt = await buildPrompt(chat, trimmed.startsWith('//') ? text.replace('/', '') : text, signal);
  return { ask: prompt };
}

/** Answers a command that only shows something, beside the work that runs. Returns whether the entry was one. */
function showDuringTurn(text: string, chat: Chat): boolean {
  const command = findShowCommand(text);
  if (command === undefined) return false;
  const { app, lines, view } = chat;
  const show = async (): Promise<void> => {
    lines.echo?.(formatMark(view), text);
    await command.run('', { ...chat, isBusy: true }, app.signal);
  };
  void withoutSpinner(view.io.err, show).catch((thrown: unknown) => view.fail(AppError.from(thrown)));
  return true;
}

type CancellableResult<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  /** The user does not wait for the work to stop; `rest` resolves when it has. */
  | { readonly kind: 'left'; readonly rest: Promise<void> };

/**
 * Runs the work for an entry. Esc or Ctrl+C aborts its signal; a second time, the chat stops waiting for it and
 * `hasLeft` becomes true. Signals of the system abort it too. Throws what `work` throws.
 */
async function runCancellable<Result>(
  chat: Chat,
  work: (signal: AbortSignal, hasLeft: () => boolean) => Promise<Result>,
): Promise<CancellableResult<Result>> {
  const {
    lines,
    app: { signal: chatSignal },
  } = chat;
  const controller = new AbortController();
  const abortWithChat = (): void => controller.abort(chatSignal.reason);
  let hasLeft = false;
  let leave: () => void = () => {};
  const left = new Promise<void>((resolve) => {
    leave = () => {
      hasLeft = true;
      resolve();
    };
  });
  if (chatSignal.aborted) abortWithChat();
  chatSignal.addEventListener('abort', abortWithChat, { once: true });
  const unwatch = lines.watch(
    (key) => {
      const hint = key === 'ctrl-c' ? 'Press Ctrl+C again on an empty line to leave.' : undefined;
      if (controller.signal.aborted) leave();
      else controller.abort(new AppError('interrupted', '⏹ cancelled', { hint }));
    },
    (text) => showDuringTurn(text, chat),
  );
  try {
    const working = work(controller.signal, () => hasLeft);
    const waitForEnd = async (): Promise<void> => void (await working.catch(() => {}));
    return await Promise.race([
      left.then(() => ({ kind: 'left', rest: waitForEnd() }) as const),
      working.then((result) => ({ kind: 'done', result }) as const),
    ]);
  } finally {
    unwatch();
    chatSignal.removeEventListener('abort', abortWithChat);
  }
}
