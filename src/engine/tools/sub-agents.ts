import type { Agent, PromptCount } from '../../agent/agent.ts';
import { runTurn } from '../../agent/turn.ts';
import type { AgentDefinition } from '../../config/conventions/agents.ts';
import { readSetting } from '../../config/keys.ts';
import type { App } from '../../core/app.ts';
import type { StoredContent } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import type { Model, RequestWatch } from '../../core/model.ts';
import { formatDollars, plural } from '../../core/text/format.ts';
import { shortenId } from '../../core/text/names.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { type Approve, errorResult, type Tool, type ToolResult } from '../../core/tool.ts';
import { addUsage, type BilledCall, NO_USAGE } from '../../core/usage.ts';
import { sumCosts } from '../../models/prices.ts';
import { ALIASES } from '../../models/table.ts';
import { createDeadline, type Deadline } from '../../platform/runtime/clock.ts';
import { formatCall } from '../../render/tool-line.ts';
import type { LocalSession } from '../../session/open-session.ts';
import { findToolName } from '../../tools/builtins.ts';
import { isAllowedBySettings } from '../../tools/rules.ts';
import type { Host } from '../host.ts';
import { createSubAgentPrompt } from '../instruction/agent-prompt.ts';
import { type OpenedModel, toBilledCall } from '../model/model.ts';
import { createUnsavedConversation } from '../session/conversation.ts';
import { selectAgentTools } from './sub-agent-tools.ts';

/** What a sub-agent has of the run that it is a part of. */
export interface ParentRun {
  readonly app: App;
  readonly host: Host;
  readonly opened: OpenedModel;
  readonly watch?: RequestWatch;
  /** Of the prompt that is being answered: a sub-agent's turns, calls and requests are among the prompt's. */
  readonly count: () => PromptCount | undefined;
  /** With the budget of the run. Throws AppError. */
  readonly openModel: (name: string) => Promise<OpenedModel>;
  /** Undefined if the turn that is under way is not saved. */
  readonly openSession: (report: (message: string) => void) => Promise<LocalSession | undefined>;
  /** All but what depends on the sub-agent. */
  readonly agent: Omit<Agent, 'model' | 'request' | 'onReply'>;
  /** The context files of the project. */
  readonly contextText?: string;
}

/** Each is a tool of its own name. Those whose name a tool has, of this run or of gmn, and that the settings exclude, are left out. */
export async function createAgentTools(
  agents: readonly AgentDefinition[],
  parent: ParentRun,
): Promise<readonly Tool[]> {
  const { tools, withheld = [] } = parent.agent;
  const exclude = readSetting((await parent.app.settings()).document ?? {}, 'tools.exclude');
  const isTaken = ({ name }: AgentDefinition): boolean =>
    findToolName(name) !== undefined || [...tools, ...withheld].some((tool) => tool.name === name);
  for (const { name, file } of agents.filter(isTaken))
    parent.host.notify(`${sanitize(file)} is not used: there is a tool ${name} already`);
  return agents
    .filter((agent) => !isTaken(agent) && isAllowedBySettings(agent.name, { exclude }))
    .map((agent) => createAgentTool(agent, parent));
}

const ABOUT_PROMPT = 'What it is to do, with all it has to know: it sees nothing of this conversation.';

function createAgentTool(agent: AgentDefinition, parent: ParentRun): Tool {
  const tools = selectAgentTools(parent.agent.tools, agent);
  return {
    name: agent.name,
    description: `A sub-agent. ${agent.description}`,
    // It does nothing itself: each of its calls is decided about like one of the run.
    effect: 'read',
    isAgent: true,
    runsAlone: tools.some(({ effect }) => effect !== 'read'),
    input: {
      type: 'object',
      properties: { prompt: { type: 'string', description: ABOUT_PROMPT } },
      required: ['prompt'],
    },
    invoke: async ({ prompt }, signal) => {
      if (typeof prompt !== 'string' || prompt.trim() === '')
        return errorResult('"prompt" is missing. It must be a string.');
      return runAgent({ agent, prompt, tools, parent }, signal);
    },
  };
}

interface AgentTask {
  readonly agent: AgentDefinition;
  readonly prompt: string;
  readonly tools: readonly Tool[];
  readonly parent: ParentRun;
}

/** A turn of its own: own history, session, instruction and tools; approval, hooks, workspace, cost and budget are the run's. */
async function runAgent(task: AgentTask, signal: AbortSignal): Promise<ToolResult> {
  const { agent, parent } = task;
  const deadline = createDeadline(signal, agent.timeoutMs, () => agentTimeoutError(agent));
  const model = await openAgentModel(agent, parent);
  try {
    return await takeAgentTurn(task, { model, deadline, calls: [] }, signal);
  } finally {
    deadline.clear();
    if (model !== parent.opened) await model.close();
  }
}

async function takeAgentTurn(task: AgentTask, parts: AgentParts, signal: AbortSignal): Promise<ToolResult> {
  const { agent, prompt, parent } = task;
  const { model, deadline, calls } = parts;
  const { app, host } = parent;
  const own = await toAgent(task, parts);
  const { conversation, sessionId } = await openAgentConversation(agent, model, own, parent);
  const content: StoredContent = { role: 'user', parts: [{ text: prompt }], question: `${agent.name}: ${prompt}` };
  let text = '';
  let count = 0;
  let failure: AppError | undefined;
  try {
    for await (const event of runTurn(own, {
      history: conversation.history,
      prompt: content,
      signal: deadline.signal,
      count: parent.count(),
    })) {
      if (event.type === 'text') text += event.delta;
      if (event.type === 'notice') host.notify({ ...event, message: `${agent.name}: ${event.message}` });
      if (event.type !== 'call') continue;
      // Only what is said after the last call is the answer.
      text = '';
      count += 1;
      host.showProgress?.(`· ${agent.name}: ${formatCall(event.name, event.args)}`);
    }
  } catch (thrown) {
    signal.throwIfAborted();
    failure = AppError.from(thrown);
  } finally {
    await conversation.close();
  }
  const session = sessionId();
  const summary = await summarizeWork({ count, calls, session }, app);
  const usage = calls.reduce((sum, call) => addUsage(sum, call.usage), NO_USAGE);
  const shown = session && shortenId(session);
  const answer = text.trim();
  if (failure === undefined) return { ok: true, response: { output: answer, session: shown }, summary, usage };
  const error = failure.hint === undefined ? failure.message : `${failure.message}. ${failure.hint}`;
  // Who stops a sub-agent at a question, or by a hook, means all of it.
  const endsTurn = failure.fault === 'interrupted' || parts.ending === failure ? failure : undefined;
  return { ok: false, response: { error, output: answer || undefined, session: shown }, summary, usage, endsTurn };
}

function agentTimeoutError({ timeoutMs }: AgentDefinition): AppError {
  return new AppError('limit', `it was stopped after ${plural(timeoutMs / 60_000, 'minute')}`, {
    hint: 'Ask it for less at once.',
  });
}

/** Names of other programs' models mean nothing here. */
function isModelName(name: string): boolean {
  return Object.hasOwn(ALIASES, name) || /^(?:gemini|gemma)-[a-z0-9.-]+$/.test(name);
}

async function openAgentModel(
  { model, name }: AgentDefinition,
  { opened, openModel, host }: ParentRun,
): Promise<OpenedModel> {
  if (model === undefined || !isModelName(model)) return opened;
  try {
    return await openModel(model);
  } catch (thrown) {
    host.notify(`${name} asks ${opened.modelId}: ${AppError.from(thrown).message}`);
    return opened;
  }
}

interface AgentParts {
  readonly model: OpenedModel;
  readonly deadline: Deadline;
  readonly calls: BilledCall[];
  /** What a hook has thrown to end the run. */
  ending?: unknown;
}

async function toAgent({ agent, tools, parent }: AgentTask, parts: AgentParts): Promise<Agent> {
  const { model, deadline, calls } = parts;
  const { app, contextText, watch } = parent;
  const { redaction, hooks, approve, compaction } = parent.agent;
  const written = [createSubAgentPrompt(agent.prompt, app), ...(contextText ? [contextText] : [])].join('\n\n');
  const system = (await redaction?.redact(written)) ?? written;
  const { temperature } = agent;
  const counted: Model = {
    stream: (request, signal) =>
      model.model.stream(request, signal, {
        onRequest: watch?.onRequest,
        onCall(call) {
          calls.push(toBilledCall(call, model.billedTo, app.clock.now()));
          watch?.onCall?.(call);
        },
      }),
  };
  return {
    ...parent.agent,
    model: counted,
    request: {
      model: model.modelId,
      systemInstruction: { role: 'user', parts: [{ text: system }] },
      generationConfig: temperature === undefined ? model.generationConfig : { ...model.generationConfig, temperature },
    },
    origin: () => `${model.backend}:${model.account()}`,
    tools,
    withheld: [],
    approve: pauseWhileDecided(
      (tool, call, context) => approve(tool, call, { ...context, agent: agent.name }),
      deadline,
    ),
    maxTurns: Math.min(agent.maxTurns, parent.agent.maxTurns),
    compaction: compaction && { ...compaction },
    hooks: hooks && {
      ...hooks,
      beforeTool: (...call) =>
        hooks.beforeTool(...call).catch((thrown: unknown) => {
          parts.ending = thrown;
          throw thrown;
        }),
    },
  };
}

/** Time spent with a person does not count. */
function pauseWhileDecided(approve: Approve, { pause }: Deadline): Approve {
  return (...call) => approve(...call).finally(pause());
}

async function openAgentConversation(
  { name }: AgentDefinition,
  { askedName }: OpenedModel,
  { request: { systemInstruction } }: Agent,
  { host, openSession }: ParentRun,
) {
  const session = await openSession((message) => host.notify(`${name}: ${message}`));
  if (session === undefined) {
    return { conversation: createUnsavedConversation({ keepsReplies: true }), sessionId: () => undefined };
  }
  const [first] = systemInstruction?.parts ?? [];
  // Who opens the session later talks to the same agent.
  session.choose({ model: askedName, systemText: first !== undefined && 'text' in first ? first.text : undefined });
  const conversation = { history: session, close: () => session.close() };
  return { conversation, sessionId: () => (session.isSaved ? session.id : undefined) };
}

interface Work {
  readonly count: number;
  readonly calls: readonly BilledCall[];
  readonly session: string | undefined;
}

/** `3 calls · $0.0021 · session 1a2b3c4d` */
async function summarizeWork({ count, calls, session }: Work, app: App): Promise<string> {
  const cost = sumCosts(calls, readSetting((await app.settings()).document ?? {}, 'prices'));
  return [
    plural(count, 'call'),
    ...(cost === undefined ? [] : [formatDollars(cost)]),
    ...(session === undefined ? [] : [`session ${shortenId(session)}`]),
  ].join(' · ');
}
