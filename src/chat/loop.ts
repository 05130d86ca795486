import type { Content } from '../core/content.ts';
import { AppError, EXIT_CODES } from '../core/error.ts';
import { goodbye, greeting } from './banner.ts';
import type { Chat } from './chat.ts';
import type { Next } from './commands/command.ts';
import { serverPrompt } from './commands/servers.ts';
import { findCommand } from './commands/table.ts';
import type { Entry } from './line/source.ts';
import { promptOf } from './prompt.ts';
import { nextMode, unansweredWords } from './setup.ts';
import { runShellLine } from './shell.ts';
import { ask } from './turn.ts';

/** `/exit` and the end of input leave with 0, Ctrl+C with 130; a failure decides only where nobody sat and saw it. */
type Leaving = { readonly exitCode: number };

const WIND_DOWN_MS = 1000;

/**
 * Reads entries and answers them until the person leaves; `first`, if there is one, is asked before anything is read. Returns
 * the exit code: of a pipe that of the first failure, of a signal that of the signal. However it ends, what was said is
 * saved and the terminal is given back. Throws AppError if entries cannot be read.
 */
export async function runChat(chat: Chat, first: string | undefined): Promise<number> {
  const { lines } = chat;
  const failures: AppError[] = [];
  try {
    if (lines.isTerminal) await chat.note(greeting(chat));
    await report(chat);
    const words = unansweredWords(chat.session);
    if (words !== undefined && lines.isTerminal) await chat.note(words);
    const { exitCode } = await untilLeft(chat, first, failures);
    return exitCode === 0 && !lines.isTerminal ? (failures[0]?.exitCode ?? 0) : exitCode;
  } finally {
    await lines.close();
    await chat.session.close();
    await report(chat);
    for (const line of await goodbye(chat)) await chat.note(line);
  }
}

async function untilLeft(chat: Chat, first: string | undefined, failures: AppError[]): Promise<Leaving> {
  let entry: Entry = first === undefined ? await nextEntry(chat) : { kind: 'text', text: first };
  // What was asked on the command line is a prompt, whatever it begins with.
  let isLiteral = first !== undefined;
  // What was left to wind down may still write to the session.
  let rest: Promise<void> | undefined;
  for (;;) {
    const leaving = leavingBy(chat, entry);
    if (leaving !== undefined) {
      // What had come of an answer that was left is worth a moment.
      if (rest) await Promise.race([rest, chat.clock.sleep(WIND_DOWN_MS, chat.signal).catch(() => {})]);
      return leaving;
    }
    // What has changed behind the prompt counts for this answer.
    await report(chat);
    const outcome = await cancellable(chat, (signal, hasLeft) =>
      answered(chat, entry, { isLiteral, failures, signal, hasLeft, rest }),
    );
    if (outcome.kind === 'left') {
      const all: Promise<void> = Promise.all([rest, outcome.rest]).then(() => {
        if (rest === all) rest = undefined;
      });
      rest = all;
      await chat.hush();
      await chat.say('⏹ cancelled');
    } else if (outcome.result === 'leave') return { exitCode: 0 };
    await report(chat);
    isLiteral = false;
    entry = await nextEntry(chat);
  }
}

function leavingBy({ signal }: Chat, { kind }: Entry): Leaving | undefined {
  if (signal.aborted) return AppError.from(signal.reason);
  if (kind === 'end') return { exitCode: 0 };
  return kind === 'leave' ? { exitCode: EXIT_CODES.interrupted } : undefined;
}

async function report(chat: Chat): Promise<void> {
  for (const message of chat.takeReports()) await chat.note(message);
}

/** Also `leave` when a signal of the system comes while nobody types. */
async function nextEntry({ lines, signal, isPlain }: Chat): Promise<Entry> {
  try {
    return await lines.read({ prompt: isPlain ? '> ' : '❯ ' });
  } catch (thrown) {
    if (signal.aborted) return { kind: 'leave' };
    throw thrown;
  }
}

interface Answering {
  readonly isLiteral: boolean;
  readonly signal: AbortSignal;
  /** Whether the person no longer waits for it. */
  readonly hasLeft: () => boolean;
  /** What has to be over before. */
  readonly rest: Promise<void> | undefined;
  /** What went wrong, all of it shown. */
  readonly failures: AppError[];
}

/** Does what an entry asks for. */
async function answered(
  chat: Chat,
  entry: Entry,
  { isLiteral, signal, failures, hasLeft, rest }: Answering,
): Promise<'leave' | undefined> {
  try {
    if (rest !== undefined) await woundDown(chat, rest, signal);
    if (entry.kind === 'next-mode') return await nextMode(chat);
    if (entry.kind !== 'text') return undefined;
    const next = isLiteral ? { ask: await promptOf(chat, entry.text, signal) } : await done(chat, entry.text, signal);
    if (next === undefined || next === 'leave') return next;
    const failure = await ask(chat, next.ask, signal);
    if (failure === undefined) return undefined;
    // Who stops the turn at a question types there, where `watch` sees no key.
    if (failure.fault === 'interrupted' && !hasLeft()) chat.lines.putDown();
    failures.push(failure);
    return undefined;
  } catch (thrown) {
    const error = AppError.from(thrown);
    // Nobody reads the answers any more.
    if (error.fault === 'pipe') return 'leave';
    if (hasLeft()) return undefined;
    if (error.fault === 'interrupted') chat.lines.putDown();
    failures.push(error);
    // There was no answer of which the rest could be had.
    await chat.fail(error === chat.signal.reason ? new AppError(error.fault, error.message) : error);
    error.isTold = true;
    return undefined;
  }
}

async function woundDown(chat: Chat, rest: Promise<void>, signal: AbortSignal): Promise<void> {
  await chat.note('What was cancelled has to end first. Esc: do not wait for it.');
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([rest, aborted]);
  signal.throwIfAborted();
}

/** Carries out a slash command or a shell line; what is neither, or has a slash too many, is to be asked. */
async function done(chat: Chat, text: string, signal: AbortSignal): Promise<Next> {
  const words = text.trim();
  if (words === '') return undefined;
  if (words.startsWith('!')) return void (await runShellLine(chat, words.slice(1).trim(), signal));
  if (words.startsWith('/') && !words.startsWith('//')) {
    const asked = await serverPrompt(words, chat, signal);
    if (asked !== undefined) return asked;
    const { command, argument } = findCommand(words);
    return command.run(argument, chat, signal);
  }
  const prompt: Content = await promptOf(chat, words.startsWith('//') ? text.replace('/', '') : text, signal);
  return { ask: prompt };
}

/** What came of something that can be cancelled. */
type Outcome<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  /** The person does not want to wait until it has wound down; `rest` is fulfilled when it has. */
  | { readonly kind: 'left'; readonly rest: Promise<void> };

const NOTHING = (): void => {};

/**
 * Runs what an entry asked for. Esc or Ctrl+C aborts its signal, and only that; once more, and nobody waits for it any
 * longer, of which `hasLeft` tells. The system's signals abort it too. Throws what `work` throws.
 */
async function cancellable<Result>(
  { lines, signal: chatSignal }: Chat,
  work: (signal: AbortSignal, hasLeft: () => boolean) => Promise<Result>,
): Promise<Outcome<Result>> {
  const controller = new AbortController();
  const follow = (): void => controller.abort(chatSignal.reason);
  let hasLeft = false;
  let leave: () => void = () => {};
  const left = new Promise<void>((resolve) => {
    leave = () => {
      hasLeft = true;
      resolve();
    };
  });
  if (chatSignal.aborted) follow();
  chatSignal.addEventListener('abort', follow, { once: true });
  const unwatch = lines.watch(() => {
    if (controller.signal.aborted) leave();
    else controller.abort(new AppError('interrupted', '⏹ cancelled'));
  });
  try {
    const working = work(controller.signal, () => hasLeft);
    const rest = (): Promise<void> => working.then(NOTHING, NOTHING);
    return await Promise.race([
      left.then(() => ({ kind: 'left', rest: rest() }) as const),
      working.then((result) => ({ kind: 'done', result }) as const),
    ]);
  } finally {
    unwatch();
    chatSignal.removeEventListener('abort', follow);
  }
}
