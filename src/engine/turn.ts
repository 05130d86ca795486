import type { Agent, PromptCount, Turn } from '../agent/agent.ts';
import { readSetting } from '../config/keys.ts';
import type { App } from '../core/app.ts';
import type { StoredContent } from '../core/content.ts';
import { type TurnEvent, toFailure, toNotices } from '../core/event.ts';
import type { Model } from '../core/model.ts';
import { shortenId } from '../core/text/names.ts';
import type { BilledCall } from '../core/usage.ts';
import type { SaveResult } from '../session/one-shot.ts';
import { appendUsage } from '../session/usage-log.ts';
import type { AnswerFiles } from './answer/answer-files.ts';
import type { AnswerFormat } from './answer/output-schema.ts';
import type { Verification } from './answer/verify.ts';
import type { Host } from './host.ts';
import type { Limits } from './limits/limits.ts';
import { type OpenedModel, toBilledCall } from './model/model.ts';
import type { Conversation } from './session/conversation.ts';
import type { RunSetup } from './setup.ts';
import type { Hooks } from './tools/hooks/hooks.ts';
import type { RunSandbox } from './tools/sandbox/sandbox.ts';
import type { BackgroundHolder } from './tools/toolbox.ts';

export interface TurnOptions {
  readonly conversation: Conversation;
  /** Default: the run's. */
  readonly signal?: AbortSignal;
  /** Fields of every request, over those of the run. */
  readonly request?: Partial<Agent['request']>;
  /** In place of the run's: a JSON Schema, as `--output-schema` takes it. */
  readonly outputSchema?: string;
  /** Default: true. */
  readonly hasTools?: boolean;
  /** Opened for the first file of the answer, which most answers do not have. Absent: files are only in the events. */
  readonly openFiles?: () => Promise<AnswerFiles>;
  /** Whether the answer is to be a picture: then text may have to wait for it. */
  readonly isPicture?: boolean;
  readonly verify?: Verification;
  /** Tokens of the conversation before the prompt, if the server has counted them. */
  readonly tokensBefore?: number;
  /** No other turn follows: commands in the background end with this one, so that it reports what they leave. */
  readonly isLast?: boolean;
  readonly onReply?: Agent['onReply'];
  readonly onCall?: (call: BilledCall) => void;
}

interface TurnParts {
  readonly app: App;
  readonly host: Host;
  readonly setup: RunSetup;
  readonly limits: Limits;
  readonly format: AnswerFormat;
  readonly model: OpenedModel;
  readonly agent: Agent & { readonly setup: Parameters<NonNullable<Conversation['keepSetup']>>[0] };
  /** The calls that tools have made; the turn takes them. */
  readonly toolCalls: BilledCall[];
  /** Denials that were said: each is said once a turn. */
  readonly denied: Set<string>;
  readonly sandbox?: RunSandbox;
  readonly background: BackgroundHolder;
  readonly hooks?: Hooks;
  readonly count: PromptCount;
}

type EndEvent = Extract<TurnEvent, { type: 'end' }>;

/**
 * Runs the turn of `agent/turn.ts` and completes its events: the ids of the session, the files of the answer, the cost.
 * However it ends, also if nobody reads on, the conversation is saved and what was counted is in the usage log.
 */
export async function* takeTurn(
  prompt: StoredContent,
  options: TurnOptions,
  given: TurnParts,
): AsyncGenerator<TurnEvent, void> {
  const { conversation, openFiles, isPicture, tokensBefore, signal = given.limits.signal } = options;
  const { app, setup } = given;
  const calls: BilledCall[] = [];
  const onCall = (call: BilledCall): void => {
    calls.push(call);
    options.onCall?.(call);
  };
  let saving: Promise<SaveResult> | undefined;
  const save = (): Promise<SaveResult> => {
    for (const call of given.toolCalls.splice(0)) onCall(call);
    saving ??= saveTurn(conversation, calls, given);
    return saving;
  };
  let files: AnswerFiles | undefined;
  let hasText = false;

  const complete = async (event: TurnEvent): Promise<readonly TurnEvent[]> => {
    switch (event.type) {
      case 'begin': {
        const { sessionId, isResumable } = conversation;
        return [{ ...event, sessionId, isResumable }];
      }
      case 'file':
        files ??= await openFilesWith(openFiles, hasText);
        return files?.add(event.file) ?? [event];
      case 'end': {
        const { notices, ...saved } = await save();
        if (options.isLast) await given.background.commands?.close();
        const rest = (await files?.finish()) ?? [];
        const cost = setup.answer.showsCost ? await sumTurnCost(app, calls) : undefined;
        return [...rest, ...toNotices([...notices, ...(await listMade(given))]), { ...event, cost, ...saved }];
      }
      default:
        return [event];
    }
  };

  try {
    given.denied.clear();
    conversation.keepSetup?.(given.agent.setup);
    const parts = await applyFormat(options, given);
    if (isPicture) files = await openFiles?.();
    const agent = countCalls(chooseAgent(options, parts), parts, onCall);
    const checked = options.verify === undefined ? parts.format.run : await verifyWith(options.verify, parts);
    // A question about the conversation is none of the user's prompts.
    const hooks = options.hasTools === false ? undefined : parts.hooks;
    const run = hooks?.aroundTurn(checked, conversation.sessionId) ?? checked;
    const firstCall = await findFirstCall(prompt, options, parts);
    const { count } = given;
    const turn = { history: conversation.history, prompt, signal, tokensBefore, firstCall, count };
    for await (const event of run(agent, turn)) {
      if (event.type !== 'text') yield* await complete(event);
      else {
        hasText = true;
        if (files === undefined) yield event;
        else yield* files.takeText(event);
      }
    }
  } catch (thrown) {
    const saved = await save();
    yield* await rescueFiles(files, saved);
    yield* toNotices([...saved.notices, ...(await listMade(given))]);
    yield* toFailure(thrown, saved.sessionId);
  } finally {
    await save();
  }
}

async function listMade({ sandbox }: TurnParts): Promise<readonly string[]> {
  const notice = await sandbox?.opened?.reportMade();
  return notice === undefined ? [] : [notice];
}

/** `@name words`: the sub-agent of that name is asked at once. */
async function findFirstCall(
  prompt: StoredContent,
  { hasTools = true }: TurnOptions,
  { agent, app, host, setup }: TurnParts,
): Promise<Turn['firstCall']> {
  const [part] = prompt.parts;
  const opening = prompt.question ?? (part !== undefined && 'text' in part ? part.text : undefined);
  if (!hasTools || setup.instruction.noContext || !opening?.startsWith('@')) return undefined;
  const { findAskedAgent } = await import('./tools/asked-agent.ts');
  return findAskedAgent(prompt, agent.tools, { app, notify: host.notify });
}

async function applyFormat({ outputSchema }: TurnOptions, parts: TurnParts): Promise<TurnParts> {
  return outputSchema === undefined ? parts : { ...parts, format: await loadAnswerFormat(outputSchema, parts.app) };
}

export async function loadAnswerFormat(outputSchema: string, app: App): Promise<AnswerFormat> {
  return (await import('./answer/output-schema.ts')).readAnswerFormat(outputSchema, app);
}

/** A session without an answer is not kept, but what the service counted for it is. */
async function saveTurn(
  conversation: Conversation,
  calls: readonly BilledCall[],
  {
    app: { homes, clock, cwd, replayed },
    setup: {
      session: { kind },
    },
  }: TurnParts,
): Promise<SaveResult> {
  const { sessionId } = conversation;
  const saved = await conversation.save();
  const id = saved.sessionId ?? sessionId;
  if (id !== undefined && kind !== undefined && !replayed)
    appendUsage(homes().gmn, { at: clock.now(), kind, id, cwd, calls });
  return saved;
}

function chooseAgent({ request, hasTools = true, onReply }: TurnOptions, { format, agent }: TurnParts): Agent {
  const own = format.agent(agent);
  return { ...own, request: { ...own.request, ...request }, tools: hasTools ? own.tools : [], onReply };
}

function countCalls(agent: Agent, { app, model, count }: TurnParts, onCall: (call: BilledCall) => void): Agent {
  const counted: Model = {
    stream: (request, signal) =>
      agent.model.stream(request, signal, {
        onRequest: count.onRequest,
        onCall: (call) => onCall(toBilledCall(call, model.billedTo, app.clock.now())),
      }),
  };
  return { ...agent, model: counted };
}

async function verifyWith(verify: Verification, parts: TurnParts): Promise<AnswerFormat['run']> {
  const { app, host, setup, format } = parts;
  const { requireHarmless, verifyTurn } = await import('./answer/verify.ts');
  const sandbox = await parts.sandbox?.open();
  const {
    limits,
    tools: { shell },
  } = setup;
  if (sandbox === undefined) requireHarmless(verify, { app, shell });
  return verifyTurn(format.run, verify, { app, host, shell, limits, sandbox, isLastOnly: format.schema !== undefined });
}

async function openFilesWith(open: TurnOptions['openFiles'], hasText: boolean): Promise<AnswerFiles | undefined> {
  const files = await open?.();
  if (hasText) files?.takeText({ type: 'text', delta: '' });
  return files;
}

/** Files that could not be saved are paid for, so a notice says how to get them. */
async function rescueFiles(files: AnswerFiles | undefined, { sessionId }: SaveResult): Promise<readonly TurnEvent[]> {
  const events = (await files?.rescue()) ?? [];
  if (sessionId === undefined || !files?.hasLost()) return events;
  const message = `the session keeps what could not be saved: gmn sessions export ${shortenId(sessionId)} page.html`;
  return [...events, { type: 'notice', message }];
}

/** Loads the prices only for a run that shows what it cost. */
async function sumTurnCost(app: App, calls: readonly BilledCall[]): Promise<EndEvent['cost']> {
  const { sumCosts } = await import('../models/prices.ts');
  return sumCosts(calls, readSetting((await app.settings()).document ?? {}, 'prices'));
}
