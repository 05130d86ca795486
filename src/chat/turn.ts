import type { Content, StoredContent } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { AnswerFiles } from '../engine/answer-files.ts';
import { type Conversation, createUnsavedConversation } from '../engine/conversation.ts';
import type { Verification } from '../engine/verify.ts';
import { callEvery, nextTurn } from '../platform/runtime/clock.ts';
import { loadLive } from '../render/lazy.ts';
import type { LiveArea } from '../render/live.ts';
import { type Renderer, showInOrder } from '../render/renderer.ts';
import { textRenderer } from '../render/text.ts';
import type { Chat } from './chat.ts';
import { findMode } from './setup.ts';
import { windowNotice } from './window.ts';

/**
 * Runs a turn, shows it and stores it in the session; the prompt is stored before the request is sent. A turn that
 * fails or is cancelled keeps what has arrived; if nothing has, the prompt is removed as well and waits for `/retry`.
 * Returns the failure, if any, already shown.
 */
export async function askPrompt(chat: Chat, prompt: StoredContent, signal: AbortSignal): Promise<AppError | undefined> {
  const { run, session, stats, toolLog, changes, notifier } = chat;
  chat.lastPrompt = prompt;
  stats.addTurn();
  changes.begin(session);
  const before = session.contents.length;
  const verify = await chooseVerification(chat);
  notifier.start();
  const events = run.turn(prompt, {
    conversation: toConversation(chat),
    signal,
    verify,
    openFiles: () => openChatFiles(chat, prompt),
    tokensBefore: stats.windowTokens,
    onReply: stats.measureWindow,
    onCall: chat.spending.add,
  });
  let failure: AppError | undefined;
  await withRenderer(chat, async (render) => {
    for await (const event of events) {
      stats.addEvent(event);
      toolLog.add(event);
      if (event.type !== 'failure') await render(event);
      else {
        failure = event.error;
        await render({ type: 'failure', error: toChatError(chat, event.error, { before, signal }) });
      }
    }
  });
  if (!signal.aborted) await notifier.notify('ended');
  const isRetracted = failure !== undefined && session.contents.length === before;
  if (!isRetracted && !signal.aborted) await warnIfWindowFull(chat);
  return failure;
}

/** Every step is written before the next; a prompt without a reply is removed, and waits for `/retry`. */
function toConversation({ session, isSaved }: Chat): Conversation {
  const before = session.contents.length;
  return {
    history: session,
    sessionId: isSaved ? session.id : undefined,
    keepSetup: session.choose,
    async save() {
      if (session.contents.length === before + 1) await session.retractPrompt();
      return { notices: [] };
    },
  };
}

/** A file that cannot be saved is reported, and the turn goes on: the session has it. */
async function openChatFiles(chat: Chat, { parts }: Content): Promise<AnswerFiles> {
  const textPart = parts.findLast((part) => 'text' in part);
  const files = await chat.openFiles(textPart !== undefined && 'text' in textPart ? textPart.text : '');
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

async function chooseVerification(chat: Chat): Promise<Verification | undefined> {
  const { verify: command } = chat;
  if (command === undefined) return undefined;
  const why = findVerifyObstacle(chat);
  if (why === undefined) return { command, hint: VERIFY_HINT };
  await chat.showNotice(`/verify is not run ${why}.`);
  return undefined;
}

export function findVerifyObstacle(chat: Pick<Chat, 'run'>): string | undefined {
  if (findMode(chat) === 'plan') return 'in plan mode, which changes nothing';
  return chat.run.facts.agent.tools.length === 0 ? 'without tools' : undefined;
}

/** Asks about the conversation, without tools; nothing of it is kept. Only progress is shown. Throws AppError. */
export async function askAside(chat: Chat, question: Content, signal: AbortSignal): Promise<string> {
  const { run, session, isSaved } = chat;
  const { contents: earlier, compactions: compacted } = session;
  const conversation = {
    ...createUnsavedConversation({ earlier, compacted }),
    sessionId: isSaved ? session.id : undefined,
  };
  const agent = { ...run.facts.agent, tools: [] };
  let text = '';
  await withRenderer(chat, async (render) => {
    for await (const event of run.turn(question, { conversation, agent, signal, onCall: chat.spending.add })) {
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
    return chat.reports.showWith(show, () => work(show));
  });
}

/** Shows what is typed, and the status, below what `work` shows in the area; without an area if nothing can be drawn. */
export async function withLive<Result>(
  { io, isPlain, lines }: Chat,
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
function createTurnRenderer({ io, isQuiet, isPlain, run, clock, findPictures }: Chat, live?: LiveArea): Renderer {
  return textRenderer(io, {
    live,
    quiet: isQuiet,
    showThoughts: run.facts.setup.showThoughts ?? false,
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
  { signal: chatSignal, session }: Chat,
  error: AppError,
  { before, signal }: { readonly before: number; readonly signal: AbortSignal },
): AppError {
  if (error.fault === 'api' && error.details.objection === 'length') {
    return error.with({
      hint: '/compress replaces the conversation with a summary; leave out a file that is too long.',
    });
  }
  if (!signal.aborted || chatSignal.aborted) return error;
  const kept = session.contents.length > before + 1 ? 'partial answer kept' : 'nothing had arrived';
  return new AppError('interrupted', `⏹ cancelled; ${kept}. Press Ctrl+C again on an empty line to leave.`);
}

async function warnIfWindowFull(chat: Chat): Promise<void> {
  const notice = windowNotice(chat);
  if (notice !== undefined) await chat.showNotice(notice);
}
