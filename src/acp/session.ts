import type { Chat } from '../chat/chat.ts';
import type { NextPrompt } from '../chat/commands/command.ts';
import type { CollectedOut } from '../chat/hosted.ts';
import { takeChatTurn } from '../chat/turn.ts';
import { findWindowLimit } from '../chat/window.ts';
import { beginsTurn, prependParts, type StoredContent } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import { formatCodeBlock } from '../core/text/code-block.ts';
import { createAbortable, onAbort } from '../platform/runtime/abort.ts';
import { showInOrder } from '../render/renderer.ts';
import { deriveTitle } from '../session/record.ts';
import { type Client, describeFailure, notify } from './client.ts';
import { listEditorCommands, listServerPrompts, runEditorCommand } from './commands.ts';
import { chooseOption, describeChoices, type SessionChoices } from './options.ts';
import { buildEditorPrompt, readPromptBlocks } from './prompt.ts';
import { replaySession } from './replay.ts';
import type { ContentBlock, StopReason } from './sdk.ts';
import type { FindTool } from './tool-call.ts';
import { createTurnUpdates, type TurnEnding, type TurnUpdates } from './updates.ts';

export interface EditorSession {
  readonly id: string;
  readonly choices: SessionChoices;
  /** Throws AppError `usage` for what is not offered. */
  choose(option: string, value: unknown): Promise<void>;
  /** Shows all that was said. */
  replay(): Promise<void>;
  /** What there is to say once the editor knows the session. */
  announce(): Promise<void>;
  /** Throws AppError: `usage` while another prompt is answered. */
  prompt(blocks: readonly ContentBlock[], signal: AbortSignal): Promise<StopReason>;
  cancel(): void;
  /** Stops what runs, and saves. */
  close(): Promise<void>;
}

/** What those who ask and show during a turn know of it. */
export interface TurnState {
  controller?: AbortController | undefined;
  updates?: TurnUpdates | undefined;
  /** Tells the editor which mode and options are in force, if they have changed. */
  reportChoices(): Promise<void>;
}

interface SessionParts {
  readonly chat: Chat;
  readonly client: Client;
  readonly state: TurnState;
  readonly printed: CollectedOut;
  readonly findTool: FindTool;
}

export function createEditorSession({ chat, client, state, printed, findTool }: SessionParts): EditorSession {
  const { app, run, view, conversation } = chat;
  const ended = createAbortable();
  let running: Promise<unknown> = Promise.resolve();
  state.reportChoices = createChoicesReport(chat, client);
  const show = createShower(chat, client);

  /** What the run said while nobody listened. */
  const showReports = async (): Promise<void> => notify(client, (await printed.collect(() => view.showReports())).text);

  async function takeTurn(prompt: StoredContent, signal: AbortSignal): Promise<TurnEnding> {
    const updates = createTurnUpdates({ client, cwd: app.cwd, turn: show.nextTurn(), findTool });
    state.updates = updates;
    const render = showInOrder(updates.render);
    if (!conversation.session.contents.some(beginsTurn)) await show.title(prompt);
    await takeChatTurn(chat, prompt, { signal, showWith: (work) => view.showWith(render, () => work(render)) });
    await show.usage();
    return updates.ending;
  }

  async function answer(blocks: readonly ContentBlock[], signal: AbortSignal): Promise<StopReason> {
    await showReports();
    const given = await readPromptBlocks(blocks, chat);
    const entry = given.words.trim();
    const next = given.isCommand
      ? await runSlashPrompt(entry, { chat, client, printed }, signal)
      : { ask: await buildEditorPrompt(given, chat, signal), isWhole: true };
    if (next === undefined) return 'end_turn';
    const { ask, release, onEnded }: NextPrompt = next;
    const prompt = 'isWhole' in next ? ask : prependParts(ask, given.parts);
    const ending = await takeTurn(prompt, signal).finally(release);
    if (onEnded !== undefined) await notify(client, (await printed.collect(onEnded)).text);
    return toStopReason(ending, signal, client);
  }

  return {
    id: client.sessionId,
    get choices() {
      return describeChoices(chat);
    },
    async choose(option, value) {
      await chooseOption(chat, option, value);
      await state.reportChoices();
    },
    replay: () => replaySession(conversation.session, { client, cwd: app.cwd, findTool }),
    async announce() {
      const own = await listEditorCommands(chat);
      await client.update({ sessionUpdate: 'available_commands_update', availableCommands: own });
      await showReports();
      if (conversation.session.unanswered !== undefined) {
        await notify(client, 'Its last prompt had no answer: /retry asks it again.');
      }
      const prompts = await listServerPrompts(chat, ended.signal);
      if (prompts.length === 0) return;
      await client.update({ sessionUpdate: 'available_commands_update', availableCommands: [...own, ...prompts] });
    },
    async prompt(blocks, signal) {
      if (state.controller !== undefined) throw busyError();
      const controller = createAbortable();
      state.controller = controller;
      const forget = onAbort(signal, () => controller.abort(cancelError()));
      const work = answer(blocks, controller.signal);
      running = work.catch(() => {});
      try {
        return await work;
      } catch (thrown) {
        if (controller.signal.aborted) return 'cancelled';
        throw thrown;
      } finally {
        forget();
        state.controller = undefined;
        state.updates = undefined;
        await state.reportChoices();
      }
    },
    cancel: () => state.controller?.abort(cancelError()),
    async close() {
      state.controller?.abort(cancelError());
      ended.abort(cancelError());
      await running;
      await conversation.session.close();
      await run.close();
    },
  };
}

/** What a command prints is the answer; the prompt that it stands for is asked. */
async function runSlashPrompt(
  entry: string,
  { chat, client, printed }: Pick<SessionParts, 'chat' | 'client' | 'printed'>,
  signal: AbortSignal,
): Promise<NextPrompt | undefined> {
  const { text, result } = await printed.collect(() =>
    runEditorCommand(entry, chat, signal).catch((thrown) => {
      signal.throwIfAborted();
      return AppError.from(thrown);
    }),
  );
  const lines = [text.trimEnd(), ...(result instanceof AppError ? [describeFailure(result)] : [])]
    .join('\n')
    .replace(/^\n+/, '');
  if (lines !== '') {
    const content = { type: 'text', text: formatCodeBlock(lines) } as const;
    await client.update({ sessionUpdate: 'agent_message_chunk', content });
  }
  return typeof result === 'object' && 'ask' in result ? result : undefined;
}

function createChoicesReport(chat: Chat, client: Client): () => Promise<void> {
  let told = JSON.stringify(describeChoices(chat));
  return async () => {
    const { modes, configOptions } = describeChoices(chat);
    const now = JSON.stringify({ modes, configOptions });
    if (now === told) return;
    told = now;
    await client.update({ sessionUpdate: 'current_mode_update', currentModeId: modes.currentModeId });
    await client.update({ sessionUpdate: 'config_option_update', configOptions });
  };
}

/** What is told about a session besides its turns. */
function createShower({ app, conversation, run, stats }: Chat, client: Client) {
  let turns = 0;
  return {
    /** Unique in the session, also after it was loaded again. */
    nextTurn(): string {
      turns += 1;
      return `t${conversation.session.contents.length}-${turns}`;
    },
    async title(prompt: StoredContent): Promise<void> {
      const title = conversation.session.name ?? deriveTitle(prompt);
      const updatedAt = new Date(app.clock.now()).toISOString();
      await client.update({ sessionUpdate: 'session_info_update', title, updatedAt });
    },
    async usage(): Promise<void> {
      const { windowTokens: used } = conversation;
      const size = findWindowLimit(run.facts);
      if (used === undefined || size === undefined) return;
      const cost = stats.cost === undefined ? undefined : { amount: stats.cost, currency: 'USD' };
      await client.update({ sessionUpdate: 'usage_update', used, size, cost });
    },
  };
}

/** Throws the error of a turn that failed. What the service refuses to say is told in words, since the protocol has none. */
async function toStopReason(
  { finishReason, error }: TurnEnding,
  signal: AbortSignal,
  client: Client,
): Promise<StopReason> {
  if (signal.aborted || error?.fault === 'interrupted') return 'cancelled';
  if (error === undefined) return finishReason === 'MAX_TOKENS' ? 'max_tokens' : 'end_turn';
  if (error.fault === 'limit' && error.details.isTurnsSpent) return 'max_turn_requests';
  if (error.fault !== 'api' || !error.details.isBlocked) throw error;
  await notify(client, describeFailure(error));
  return 'refusal';
}

function cancelError(): AppError {
  return new AppError('interrupted', 'cancelled');
}

function busyError(): AppError {
  return new AppError('usage', 'this session is answering a prompt', { hint: 'Wait for it, or cancel it first.' });
}
