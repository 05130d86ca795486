import type { Content, StoredContent } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { AnswerFiles } from '../engine/answer/answer-files.ts';
import type { Verification } from '../engine/answer/verify.ts';
import type { Run } from '../engine/run.ts';
import { createUnsavedConversation } from '../engine/session/conversation.ts';
import { callEvery, nextTurn } from '../platform/runtime/clock.ts';
import { loadLive } from '../render/lazy.ts';
import type { LiveArea } from '../render/live.ts';
import { type Renderer, showInOrder } from '../render/renderer.ts';
import { textRenderer } from '../render/text.ts';
import { findMode } from './approval-modes.ts';
import type { Chat } from './chat.ts';
import { createTurnConversation } from './conversation.ts';
import { warnIfWindowFull } from './window.ts';

export function askPrompt(chat: Chat, prompt: StoredContent, signal: AbortSignal): Promise<AppError | undefined> {
  return takeChatTurn(chat, prompt, { signal, showWith: (work) => withRenderer(chat, work) });
}

interface ChatTurn {
  readonly signal: AbortSignal;
  /** Runs the turn with what shows its events, and what is said meanwhile. */
  readonly showWith: (work: (render: Renderer) => Promise<void>) => Promise<void>;
}

/**
 * Runs a turn, shows it and stores it in the session; the prompt is stored before the request is sent. A turn that
 * fails or is cancelled keeps what has arrived; if nothing has, the prompt is removed as well and waits for `/retry`.
 * Returns the failure, if any, already shown.
 */
export async function takeChatTurn(
  chat: Chat,
  prompt: StoredContent,
  { signal, showWith }: ChatTurn,
): Promise<AppError | undefined> {
  const { run, conversation, stats, changes, view } = chat;
  const { session } = conversation;
  conversation.lastPrompt = prompt;
  stats.addTurn();
  changes.begin(session);
  const before = session.contents.length;
  const verify = await chooseVerification(chat);
  view.notifier.start();
  const events = run.turn(prompt, {
    conversation: createTurnConversation(conversation),
    signal,
    verify,
    openFiles: () => openChatFiles(prompt, chat.app),
    tokensBefore: conversation.windowTokens,
    onReply: conversation.measureWindow,
    onCall: stats.addCall,
  });
  let failure: AppError | undefined;
  await showWith(async (render) => {
    for await (const event of events) {
      stats.addEvent(event);
      if (event.type !== 'failure') await render(event);
      else {
        failure = event.error;
        await render({ type: 'failure', error: toChatError(chat, event.error, { before, signal }) });
      }
    }
  });
  if (!signal.aborted) await view.notifier.notify('ended');
  const isRetracted = failure !== undefined && session.contents.length === before;
  if (isRetracted) stats.dropTurn();
  if (!isRetracted && !signal.aborted) await warnIfWindowFull(chat);
  return failure;
}

/** A file that cannot be saved is reported, and the turn goes on: the session has it. */
async function openChatFiles({ parts }: Content, app: Chat['app']): Promise<AnswerFiles> {
  const { createAnswerFiles } = await import('../engine/answer/answer-files.ts');
  const prompt = parts.findLast((part) => 'text' in part)?.text ?? '';
  const files = createAnswerFiles({}, { app, prompt });
  return {
    ...files,
    add: (file) =>
      files.add(file).catch((thrown: unknown) => {
        const { message, hint = '' } = AppError.from(thrown);
        return [{ type: 'notice', message: `${message}. ${hint}`.trim() }];
      }),
  };
}

const VERIFY_HINT = 'What the model changed is kept: /undo takes it back. /verify off ends this.';

async function chooseVerification({ verify: command, run, view }: Chat): Promise<Verification | undefined> {
  if (command === undefined) return undefined;
  const why = findVerifyObstacle(run);
  if (why === undefined) return { command, hint: VERIFY_HINT };
  await view.showNotice(`/verify is not run ${why}.`);
  return undefined;
}

export function findVerifyObstacle(run: Run): string | undefined {
  if (findMode(run) === 'plan') return 'in plan mode, which changes nothing';
  return run.facts.agent.tools.length === 0 ? 'without tools' : undefined;
}

/** Asks about the conversation, without tools; nothing of it is kept. Only progress is shown. Throws AppError. */
export async function askAside(chat: Chat, question: Content, signal: AbortSignal): Promise<string> {
  const { run, stats } = chat;
  const { contents: earlier, compactions: compacted } = chat.conversation.session;
  const { sessionId } = createTurnConversation(chat.conversation);
  const conversation = { ...createUnsavedConversation({ earlier, compacted }), sessionId };
  let text = '';
  await withRenderer(chat, async (render) => {
    for await (const event of run.turn(question, { conversation, hasTools: false, signal, onCall: stats.addCall })) {
      if (event.type === 'text') text += event.delta;
      else if (event.type !== 'failure') await render(event);
      else {
        // Removes the progress from the screen.
        await render({ type: 'end', finishReason: '', usage: {}, model: '' });
        throw event.error;
      }
    }
  });
  return text;
}

function withRenderer(chat: Chat, work: (render: Renderer) => Promise<void>): Promise<void> {
  return withLive(chat, (live) => {
    const show = showInOrder(createTurnRenderer(chat, live));
    return chat.view.showWith(show, () => work(show));
  });
}

/** Shows what is typed, and the status, below what `work` shows in the area; without an area if nothing can be drawn. */
export async function withLive<Result>(
  { view: { io, isPlain }, lines }: Chat,
  work: (live?: LiveArea) => Promise<Result>,
): Promise<Result> {
  const canDraw = !isPlain && io.out.isTerminal && io.out.rows !== undefined;
  if (!canDraw || lines.showTypedKeys === undefined) return work();
  const live = await loadLive(io);
  const stopShowing = lines.showTypedKeys({ set: live.setFooter });
  try {
    return await work(live);
  } finally {
    stopShowing();
    await live.close();
  }
}

/** Create one per turn: it tracks the position in the line. */
function createTurnRenderer({ app: { clock }, run, view }: Chat, live?: LiveArea): Renderer {
  const { io, isQuiet, isPlain, findPictures } = view;
  return textRenderer(io, {
    live,
    quiet: isQuiet,
    showThoughts: run.facts.setup.model.showThoughts ?? false,
    showUsage: false,
    render: isPlain ? 'never' : 'auto',
    rawOutput: false,
    isDumb: isPlain,
    dialect: 'gmn',
    prompt: '',
    isChat: true,
    findPictures,
    pause: nextTurn,
    clock,
    ticker: { every: callEvery },
  });
}

function toChatError(
  { app, conversation: { session } }: Chat,
  error: AppError,
  { before, signal }: { readonly before: number; readonly signal: AbortSignal },
): AppError {
  if (error.fault === 'api' && error.details.objection === 'length') {
    return error.with({
      hint: '/compress replaces the conversation with a summary; leave out a file that is too long.',
    });
  }
  if (app.signal.aborted) return error;
  if (!signal.aborted) {
    // Hints are written for a command line.
    const hint = error.hint?.replaceAll('with -m', 'with /model');
    return error.with({ hint: error.retry ? `${hint ?? ''} Then: /retry`.trim() : hint });
  }
  const kept = session.contents.length > before + 1 ? 'partial answer kept' : 'nothing had arrived';
  const { hint = '' } = AppError.from(signal.reason);
  return new AppError('interrupted', `⏹ cancelled; ${kept}. ${hint}`.trim());
}
