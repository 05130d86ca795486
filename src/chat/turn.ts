import { createMemoryHistory, type RunTurn } from '../agent/agent.ts';
import { runTurn } from '../agent/turn.ts';
import type { Content, StoredContent } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import { settle, type TurnEvent } from '../core/event.ts';
import { callEvery, nextTurn } from '../platform/runtime/clock.ts';
import { loadLive } from '../render/lazy.ts';
import type { LiveArea } from '../render/live.ts';
import type { Renderer } from '../render/renderer.ts';
import { textRenderer } from '../render/text.ts';
import type { Assistant } from './assistant.ts';
import type { Chat, FileSaver } from './chat.ts';
import { toSessionSetup } from './setup.ts';
import { windowNotice } from './window.ts';

/**
 * Runs a turn, shows it and stores it in the session; the prompt is stored before the request is sent. A turn that
 * fails or is cancelled keeps what has arrived; if nothing has, the prompt is removed as well and waits for `/retry`.
 * Returns the failure, if any, already shown.
 */
export async function askPrompt(chat: Chat, prompt: StoredContent, signal: AbortSignal): Promise<AppError | undefined> {
  const { assistant, session, stats, toolLog, changes, notifier } = chat;
  const agent = { ...assistant.agent, onReply: stats.measureWindow };
  const tokensBefore = stats.windowTokens;
  chat.lastPrompt = prompt;
  stats.addTurn();
  changes.begin(session);
  session.choose(toSessionSetup(assistant.setup));
  const before = session.contents.length;
  const run = await chooseRun(chat);
  notifier.start();
  const events = saveFiles(run(agent, { history: session, prompt, signal, tokensBefore }), chat, prompt);
  const failure = await showTurn(chat, events, {
    onEvent: (event) => {
      stats.addEvent(event);
      toolLog.add(event);
    },
    isKept: () => session.contents.length > before + 1,
    signal,
  });
  chat.recordUsage(session);
  if (!signal.aborted) await notifier.notify('ended');
  if (failure !== undefined && session.contents.length === before + 1) await session.retractPrompt();
  else if (!signal.aborted) await warnIfWindowFull(chat);
  return failure;
}

/** A file that cannot be saved is reported, and the turn goes on: the session has it. */
async function* saveFiles(
  events: AsyncIterable<TurnEvent>,
  { openFiles }: Chat,
  { parts }: Content,
): AsyncGenerator<TurnEvent, void> {
  let files: FileSaver | undefined;
  for await (const event of events) {
    if (event.type !== 'file') {
      yield event;
      continue;
    }
    const textPart = parts.findLast((part) => 'text' in part);
    files ??= await openFiles(textPart !== undefined && 'text' in textPart ? textPart.text : '');
    try {
      yield* await files.add(event.file);
    } catch (thrown) {
      const { message, hint = '' } = AppError.from(thrown);
      yield { type: 'notice', message: `${message}. ${hint}`.trim() };
    }
  }
}

async function chooseRun(chat: Chat): Promise<RunTurn> {
  const { verify, assistant } = chat;
  if (verify === undefined) return runTurn;
  const why = findVerifyObstacle(assistant);
  if (why === undefined) return chat.openVerifiedTurn(verify);
  await chat.showNotice(`/verify is not run ${why}.`);
  return runTurn;
}

export function findVerifyObstacle({ setup, agent }: Pick<Assistant, 'setup' | 'agent'>): string | undefined {
  if (setup.mode === 'plan') return 'in plan mode, which changes nothing';
  return agent.tools.length === 0 ? 'without tools' : undefined;
}

export async function askAside(chat: Chat, question: Content, signal: AbortSignal): Promise<string> {
  const { assistant, session } = chat;
  const agent = { ...assistant.agent, tools: [] };
  const history = createMemoryHistory({ earlier: session.contents, compacted: session.compactions });
  let text = '';
  await withRenderer(chat, async (render) => {
    for await (const event of settle(runTurn(agent, { history, prompt: question, signal }))) {
      if (event.type === 'text') text += event.delta;
      // Only progress is shown; the `end` event below removes it from the screen.
      else if (event.type !== 'failure') await render(event);
      else {
        await render({ type: 'end', finishReason: '', usage: {}, model: '' });
        throw event.error;
      }
    }
  });
  return text;
}

interface ShowOptions {
  readonly onEvent: (event: TurnEvent) => void;
  readonly isKept: () => boolean;
  readonly signal: AbortSignal;
}

async function showTurn(
  chat: Chat,
  events: AsyncIterable<TurnEvent>,
  options: ShowOptions,
): Promise<AppError | undefined> {
  let failure: AppError | undefined;
  await withRenderer(chat, async (render) => {
    for await (const event of settle(events)) {
      options.onEvent(event);
      if (event.type !== 'failure') await render(event);
      else {
        failure = event.error;
        await render({ type: 'failure', error: toChatError(chat, event.error, options) });
      }
    }
  });
  return failure;
}

function withRenderer(chat: Chat, work: (render: Renderer) => Promise<void>): Promise<void> {
  return withLive(chat, (live) => work(createTurnRenderer(chat, live)));
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
function createTurnRenderer({ io, isQuiet, isPlain, assistant, clock, findPictures }: Chat, live?: LiveArea): Renderer {
  return textRenderer(io, {
    live,
    quiet: isQuiet,
    showThoughts: assistant.setup.showThoughts,
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

function toChatError({ signal: chatSignal }: Chat, error: AppError, { isKept, signal }: ShowOptions): AppError {
  if (error.fault === 'api' && error.details.objection === 'length') {
    return error.with({
      hint: '/compress replaces the conversation with a summary; leave out a file that is too long.',
    });
  }
  if (!signal.aborted || chatSignal.aborted) return error;
  const kept = isKept() ? 'partial answer kept' : 'nothing had arrived';
  return new AppError('interrupted', `⏹ cancelled; ${kept}. Press Ctrl+C again on an empty line to leave.`);
}

async function warnIfWindowFull(chat: Chat): Promise<void> {
  const notice = windowNotice(chat);
  if (notice !== undefined) await chat.showNotice(notice);
}
