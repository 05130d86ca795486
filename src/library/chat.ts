import { type AskProgram, type CallAnswer, unanswerableError } from '../approval/program.ts';
import { createSerial, raceWithAbort } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import type { KeptSetup } from '../core/session.ts';
import { createTurnNotices } from '../engine/answer/turn-notices.ts';
import { Run } from '../engine/run.ts';
import type { OpenedConversation } from '../engine/session/conversation.ts';
import type { RunSetup } from '../engine/setup.ts';
import { openTurnChanges, type TurnChanges } from '../engine/tools/turn-changes.ts';
import { putBackChanges } from '../engine/tools/undo-store.ts';
import type { Guest } from '../platform/app.ts';
import { createAbortable, followSignal, onAbort } from '../platform/runtime/abort.ts';
import { randomId } from '../platform/runtime/random-id.ts';
import type { UndoResult } from '../tools/workspace/journal.ts';
import type { Workspace } from '../tools/workspace/workspace.ts';
import { createRunApp } from './app.ts';
import { toGmnError, turnCancelledError } from './error.ts';
import type * as Public from './gmn.d.ts';
import { askCallback, createHost, toCallAnswer } from './host.ts';
import { addSkills, buildAskedContent } from './prompt.ts';
import {
  checkApprove,
  checkSignal,
  keepsFiles,
  listBuiltins,
  openChosenConversation,
  toLibrarySetup,
} from './setup.ts';
import { createTurn, type TurnContext } from './turn.ts';

export function createChatFunction(guest: Guest): typeof Public.chat {
  return async (options = {}) => {
    try {
      return await openLibraryChat(options, guest);
    } catch (thrown) {
      throw toGmnError(thrown);
    }
  };
}

type SendOptions = Public.SendOptions & { readonly schema?: unknown };

async function openLibraryChat(options: Public.ChatOptions, guest: Guest): Promise<Public.ChatSession> {
  const { signal: given, thoughts, approve } = options;
  checkSignal(given);
  checkApprove(approve, ['defer']);
  if (given?.aborted) throw turnCancelledError(given.reason);
  const life = createAbortable();
  const app = createRunApp(guest, options, { signal: life.signal, keepsFiles: keepsFiles(options) });
  const setup = toLibrarySetup(options, app);
  const notices = createTurnNotices();
  /** The turn that runs. */
  let current: TurnContext | undefined;
  const deferred = approve === 'defer' ? createDeferredAnswers((event) => current?.push(event)) : undefined;
  const ask =
    deferred?.ask ??
    (typeof approve === 'function' ? askCallback(approve, (error) => current?.fail(error)) : undefined);
  const host = createHost(notices.notify, ask);
  const runSerially = createSerial();
  let closing: Promise<void> | undefined;
  const unfollow = given && followSignal(given, () => void close(turnCancelledError(given.reason)).catch(() => {}));
  const opening = runSerially(openParts);
  const opened = await raceWithAbort(opening, life.signal).catch((thrown) => {
    unfollow?.();
    throw thrown;
  });
  const { run, conversation, changes } = opened;
  const owner = randomId();

  async function openParts(): Promise<Parts> {
    const parts: Partial<Parts> = {};
    try {
      if (listBuiltins(options).length > 0) parts.changes = await openTurnChanges(setup.tools, app);
      parts.conversation = await openChosenConversation(options.session, app, host.notify);
      const own = addSession(setup, parts.changes?.workspace, parts.conversation.setup);
      parts.run = await Run.open(own, app, host);
      return parts as Parts;
    } catch (thrown) {
      await closeParts(parts);
      throw thrown;
    }
  }

  async function takeTurn(prompt: string, { files, skills }: SendOptions, context: TurnContext): Promise<void> {
    const { signal, schema, show } = context;
    signal.throwIfAborted();
    changes?.begin(owner);
    current = context;
    try {
      await notices.showWith(show, async () => {
        const { fileSupport } = run.facts.model;
        const asked = await buildAskedContent(prompt, files, { app, fileSupport, signal, notify: notices.notify });
        const content = await addSkills(asked, skills, { run, settings: options.settings });
        for await (const event of run.turn(content, { conversation, signal, outputSchema: schema })) await show(event);
      });
    } finally {
      current = undefined;
    }
  }

  /** What is sent later is refused with the same reason. */
  function close(reason: AppError): Promise<void> {
    life.abort(reason);
    closing ??= runSerially(async () => {
      unfollow?.();
      await closeParts(await opening);
    });
    return closing;
  }
  const closeAll = (): Promise<void> => close(new AppError('interrupted', 'the session is closed'));

  const send = (prompt: string, sent: SendOptions = {}): Public.Turn<unknown> =>
    createTurn({
      ...{ signal: sent.signal, thoughts, schema: sent.schema },
      async run(context) {
        life.signal.throwIfAborted();
        const unlink = onAbort(life.signal, () => context.fail(AppError.from(life.signal.reason)));
        await runSerially(() => takeTurn(prompt, sent, context)).finally(unlink);
      },
    });

  return {
    get sessionId() {
      return conversation.sessionId;
    },
    // The overloads say which options give which type of answer.
    send: send as Public.ChatSession['send'],
    answer(call, approval) {
      try {
        const answer = toCallAnswer(approval);
        if (!deferred?.answer(call, answer)) throw nothingWaitsError(call);
      } catch (thrown) {
        throw toGmnError(thrown);
      }
    },
    undo: () => runSerially(async () => (changes === undefined ? [] : undoLatest(changes, owner))).catch(rethrow),
    close: closeAll,
    [Symbol.asyncDispose]: closeAll,
  };
}

function addSession(setup: RunSetup, workspace: Workspace | undefined, kept: KeptSetup | undefined): RunSetup {
  return {
    ...setup,
    tools: { ...setup.tools, workspace },
    instruction: { ...setup.instruction, isChat: true },
    limits: { ...setup.limits, timing: 'request' },
    session: { ...setup.session, kept },
  };
}

function nothingWaitsError(call: string): AppError {
  return new AppError('usage', `no call with the id "${call}" waits for an approval`, {
    hint: "It was answered or its turn is over, or the session has not approve: 'defer'.",
  });
}

interface Parts {
  run: Run;
  conversation: OpenedConversation;
  changes?: TurnChanges;
}

async function closeParts({ run, conversation, changes }: Partial<Parts>): Promise<void> {
  await run?.close();
  await conversation?.close();
  await (changes?.workspace ?? run?.facts.setup.tools.workspace)?.close();
}

function rethrow(thrown: unknown): never {
  throw toGmnError(thrown);
}

/** One question at a time waits for its answer. */
function createDeferredAnswers(push: (event: Public.GmnEvent) => void) {
  let pending: { readonly call: string; resolve(answer: CallAnswer): void } | undefined;
  const ask: AskProgram = (question, signal) =>
    new Promise((resolve, reject) => {
      const { call } = question;
      const ignore = onAbort(signal, () => {
        pending = undefined;
        reject(unanswerableError('its turn is over'));
      });
      pending = {
        call,
        resolve(answer) {
          ignore();
          pending = undefined;
          resolve(answer);
        },
      };
      push({ type: 'approval', ...question });
    });
  return {
    ask,
    /** False if it is not asked about. */
    answer(call: string, answer: CallAnswer): boolean {
      if (pending?.call !== call) return false;
      pending.resolve(answer);
      return true;
    },
  };
}

async function undoLatest({ store, workspace }: TurnChanges, owner: string): Promise<readonly Public.Undone[]> {
  const changes = (await store.listChanges()).filter(({ run, isPassed }) => run.startsWith(`${owner}.`) && !isPassed);
  const last = changes.at(-1)?.run;
  const results = await putBackChanges(
    changes.filter(({ run }) => run === last),
    store,
    workspace,
  );
  return results.map(toUndone);
}

function toUndone(result: UndoResult): Public.Undone {
  if ('outcome' in result) return { path: result.path, outcome: result.outcome };
  return { path: result.path, outcome: 'failed', problem: result.problem.message };
}
