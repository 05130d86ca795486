import type { ApprovalMode } from '../approval/policy.ts';
import type { App } from '../core/app.ts';
import { createSerial } from '../core/async.ts';
import { prependParts } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import { settle, type TurnEvent, toFailure } from '../core/event.ts';
import type { JsonObject } from '../core/json.ts';
import type { TurnNotices } from '../engine/answer/turn-notices.ts';
import type { Verification, VerifyOptions } from '../engine/answer/verify.ts';
import type { Run } from '../engine/run.ts';
import type { Conversation } from '../engine/session/conversation.ts';
import { createAbortable, onAbort } from '../platform/runtime/abort.ts';
import { type Renderer, showInOrder } from '../render/renderer.ts';
import { streamJsonRenderer } from '../render/stream-json.ts';
import type { PromptRequest, SetRequest, TurnChoice } from './request.ts';

/** Prompts that wait, so that a program that only writes cannot fill the memory. */
const MAX_WAITING = { prompts: 1000, bytes: 64_000_000 } as const;

export interface TurnsOptions extends VerifyOptions {
  readonly showThoughts?: boolean;
}

interface TurnsContext {
  readonly app: App;
  readonly run: Run;
  readonly conversation: Conversation;
  readonly write: (event: JsonObject) => Promise<void>;
  /** Aborts when everything must end. */
  readonly signal: AbortSignal;
  /** Nothing can be written any more. */
  readonly onLost: (error: AppError) => void;
  readonly notices: TurnNotices;
}

interface Entry {
  readonly request: PromptRequest;
  readonly bytes: number;
  readonly controller: AbortController;
  readonly release: () => void;
  state: 'waiting' | 'running' | 'over';
}

/** The turns of a process, one after the other. Each ends with one `done` or `error`. */
export function createTurnQueue(options: TurnsOptions, context: TurnsContext) {
  const { run, write, signal } = context;
  const runSerially = createSerial();
  const known = new Map<string, Entry | 'over'>();
  const waiting = { prompts: 0, bytes: 0 };
  const runner = createTurnRunner(options, context);
  const output = createTurnOutput(options, context);
  let current: string | undefined;
  let unfinished = 0;

  function end(entry: Entry): void {
    unfinished -= 1;
    entry.state = 'over';
    entry.release();
    known.set(entry.request.id, 'over');
  }

  async function runEntry(entry: Entry): Promise<void> {
    waiting.prompts -= 1;
    waiting.bytes -= entry.bytes;
    if (entry.state === 'over') return;
    entry.state = 'running';
    current = entry.request.id;
    await output.show(entry, settle(runner.answer(entry.request, entry.controller.signal)));
    current = undefined;
    end(entry);
  }

  return {
    /** The turn that runs now. */
    get current() {
      return current;
    },
    /** Throws AppError at once: `usage` if the id was used before, `limit` if too much waits. */
    add(request: PromptRequest, bytes: number): Promise<void> {
      const { id } = request;
      if (known.has(id)) throw new AppError('usage', `there was a prompt with the id "${id}" before`, NEW_ID);
      if (waiting.prompts >= MAX_WAITING.prompts || waiting.bytes + bytes > MAX_WAITING.bytes) throw fullError();
      const controller = createAbortable();
      if (signal.aborted) controller.abort(signal.reason);
      const release = onAbort(signal, () => controller.abort(signal.reason));
      const entry: Entry = { request, bytes, controller, release, state: 'waiting' };
      known.set(id, entry);
      unfinished += 1;
      waiting.prompts += 1;
      waiting.bytes += bytes;
      const written = write({ type: unfinished === 1 ? 'accepted' : 'queued', turn: id });
      void runSerially(() => runEntry(entry));
      return written;
    },
    /** Throws AppError `usage` at once if there is no such turn, or it is over. */
    cancel(id: string): Promise<void> | undefined {
      const entry = known.get(id);
      if (entry === undefined) throw new AppError('usage', `there is no prompt with the id "${id}"`, NO_TURN);
      if (entry === 'over') throw new AppError('usage', `the turn "${id}" is over`, NO_TURN);
      const reason = new AppError('interrupted', 'cancelled');
      entry.controller.abort(reason);
      if (entry.state !== 'waiting') return undefined;
      end(entry);
      return output.endUnstarted(entry, reason);
    },
    /** For the turns after those that wait now. Never throws. */
    set: (request: SetRequest, onFailure: (error: AppError) => Promise<void>): Promise<void> =>
      runSerially(async () => {
        try {
          await runner.set(request);
        } catch (thrown) {
          return onFailure(AppError.from(thrown));
        }
        const { model, tools } = run.facts.setup;
        await write({ type: 'set', model: model.model, mode: tools.approvalMode });
      }).catch((thrown) => context.onLost(AppError.from(thrown))),
    /** Waits for all turns. Returns the exit code of the worst one; a turn that was cancelled counts if all others are done. */
    async finish(): Promise<number> {
      await runSerially(async () => {});
      return output.exitCode();
    },
  };
}

const NEW_ID = { hint: 'Give every prompt an id of its own.' } as const;
const NO_TURN = { hint: 'A turn can be cancelled until its done or error has come.' } as const;

function fullError(): AppError {
  return new AppError('limit', `${MAX_WAITING.prompts} prompts, or 64 MB of them, are waiting`, {
    hint: 'Send the next one after a done or error.',
  });
}

/** Shows turns, and how they end. */
function createTurnOutput(options: TurnsOptions, { app, notices, signal, onLost }: TurnsContext) {
  const exits = { worst: 0, cancelled: 0 };

  const createRenderer = (turn: string): Renderer =>
    streamJsonRenderer(app.io, { showThoughts: options.showThoughts ?? false, turn });

  function noteEnd(error: AppError, { controller }: Entry): void {
    const isCancelled = controller.signal.reason === error && !signal.aborted;
    const key = isCancelled ? 'cancelled' : 'worst';
    exits[key] = Math.max(exits[key], error.exitCode);
  }

  async function show(entry: Entry, events: AsyncIterable<TurnEvent>): Promise<void> {
    const render = showInOrder(createRenderer(entry.request.id));
    try {
      await notices.showWith(render, async () => {
        for await (const event of events) {
          if (event.type === 'failure') noteEnd(event.error, entry);
          await render(event);
        }
      });
    } catch (thrown) {
      onLost(AppError.from(thrown));
    }
  }

  /** Beside the turn that runs, whose notices these are not. */
  async function endUnstarted(entry: Entry, reason: AppError): Promise<void> {
    const render = createRenderer(entry.request.id);
    for (const event of toFailure(reason)) {
      noteEnd(reason, entry);
      await render(event);
    }
  }

  return { show, endUnstarted, exitCode: () => exits.worst || exits.cancelled };
}

/** Asks the run, with what a turn chooses for itself. */
function createTurnRunner(options: TurnsOptions, { app, run, conversation }: TurnsContext) {
  const setup = createTurnSetup(run);
  async function* answer({ content, choice }: PromptRequest, turnSignal: AbortSignal): AsyncGenerator<TurnEvent, void> {
    turnSignal.throwIfAborted();
    await setup.apply(choice);
    const skills = choice.skills === undefined ? [] : await run.activateSkills(choice.skills);
    turnSignal.throwIfAborted();
    const opening = skills.map((text) => ({ text }));
    yield* run.turn(prependParts(content, opening), {
      conversation: chooseConversation(conversation, choice),
      signal: turnSignal,
      outputSchema: choice.schema,
      verify: await chooseTurnVerification(options, run),
      openFiles: async () => {
        const { createAnswerFiles } = await import('../engine/answer/answer-files.ts');
        const prompt = content.parts.findLast((part) => 'text' in part)?.text ?? '';
        return createAnswerFiles({}, { app, prompt });
      },
    });
  }
  return { answer, set: setup.set };
}

interface SetupChoice {
  readonly model: string | undefined;
  readonly systemText: string | undefined;
  readonly tools: string | undefined;
  readonly approvalMode: ApprovalMode | undefined;
}

/** What is in force: what a turn chooses holds for that turn only. */
function createTurnSetup(run: Run) {
  const { setup } = run.facts;
  const { tools, approvalMode } = setup.tools;
  const isYolo = approvalMode === 'yolo';
  let base: SetupChoice = {
    model: setup.model.model,
    systemText: setup.instruction.systemText,
    tools,
    approvalMode,
  };
  let inForce = base;
  const change = async (wanted: SetupChoice): Promise<void> => {
    const keys = Object.keys(wanted) as (keyof SetupChoice)[];
    if (keys.every((key) => wanted[key] === inForce[key])) return;
    await run.change({
      model: { model: wanted.model },
      tools: { tools: wanted.tools, approvalMode: wanted.approvalMode },
      instruction: { systemText: wanted.systemText },
    });
    inForce = wanted;
  };
  return {
    apply: (choice: TurnChoice): Promise<void> =>
      change({
        ...base,
        model: choice.model ?? base.model,
        systemText: choice.system ?? base.systemText,
        tools: choice.tools ?? base.tools,
      }),
    async set(request: SetRequest): Promise<void> {
      // As in a chat: only the command line can choose it.
      if (request.mode === 'yolo' && !isYolo) {
        throw new AppError('usage', 'yolo must be chosen on the command line', { hint: 'Start gmn with --yolo.' });
      }
      const wanted = { ...base, model: request.model ?? base.model, approvalMode: request.mode ?? base.approvalMode };
      await change(wanted);
      base = wanted;
    },
  };
}

/** A session that goes on keeps how it was asked, but not what one turn has chosen for itself. */
function chooseConversation(conversation: Conversation, { model, system }: TurnChoice): Conversation {
  if (model === undefined && system === undefined) return conversation;
  return {
    ...conversation,
    get sessionId() {
      return conversation.sessionId;
    },
    keepSetup: undefined,
  };
}

async function chooseTurnVerification(options: VerifyOptions, { facts }: Run): Promise<Verification | undefined> {
  // A turn without tools changes nothing.
  if (options.verify === undefined || facts.agent.tools.length === 0) return undefined;
  return (await import('../engine/answer/verify.ts')).toVerification(options, facts);
}
