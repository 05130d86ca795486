import type { AppError } from '../core/error.ts';
import { type AnswerFile, assertNever, type ServiceStep, type TurnEvent } from '../core/event.ts';
import { sanitize } from '../core/text/terminal.ts';
import type { FileTexts, Todo } from '../core/tool.ts';
import type { Renderer } from '../render/renderer.ts';
import { formatVerifyLine } from '../render/tool-line.ts';
import { type Client, notify } from './client.ts';
import type { ContentBlock, PlanEntry, ToolCallContent, ToolKind } from './sdk.ts';
import { type FindTool, toDiff, toMediaBlock, toResultContent, toTextContent, toToolCall } from './tool-call.ts';

export interface TurnEnding {
  readonly finishReason?: string;
  readonly error?: AppError;
}

/** Shows one turn in the editor. Knows which call runs: what it writes and where its command runs is shown with it. */
export interface TurnUpdates {
  readonly render: Renderer;
  readonly ending: TurnEnding;
  /** The protocol's id of a call. The model chooses those of its calls, and may choose one again in another turn. */
  toCallId(id: string): string;
  /** Whether it was shown, and its result will be. */
  isShown(id: string | undefined): boolean;
  addContent(id: string, content: readonly ToolCallContent[]): void;
  /** The call that runs now has changed a file. */
  addChange(texts: FileTexts): void;
  /** The command of the call that runs now is in this terminal of the editor. */
  addTerminal(terminalId: string): Promise<void>;
}

interface UpdatesContext {
  readonly client: Client;
  readonly cwd: string;
  /** Different in every turn of the session. */
  readonly turn: string;
  readonly findTool: FindTool;
}

export function createTurnUpdates({ client, cwd, turn, findTool }: UpdatesContext): TurnUpdates {
  /** What is shown with each call that has no result yet. */
  const calls = new Map<string, ToolCallContent[]>();
  /** The call that runs, if it is alone, as all are that write or run commands. */
  let current = '';
  let ending: TurnEnding = {};
  const toCallId = (id: string): string => `${turn}.${id}`;
  const showStep = createStepShower(client, toCallId);

  const say = (sessionUpdate: 'agent_message_chunk' | 'agent_thought_chunk', content: ContentBlock): Promise<void> =>
    client.update({ sessionUpdate, content });

  async function showStart(started: readonly string[] = []): Promise<void> {
    const known = started.filter((id) => calls.has(id));
    current = known.length === 1 ? (known[0] ?? '') : '';
    for (const id of known) {
      await client.update({ sessionUpdate: 'tool_call_update', toolCallId: toCallId(id), status: 'in_progress' });
    }
  }

  async function showAnswer({ id, outcome }: Extract<TurnEvent, { type: 'answer' }>): Promise<void> {
    if (outcome.todos !== undefined) return showPlan(client, outcome.todos);
    const shown = calls.get(id);
    if (shown === undefined) return undefined;
    calls.delete(id);
    const isGood = outcome.ok && (outcome.exit === undefined || outcome.exit.code === 0);
    await client.update({
      ...{ sessionUpdate: 'tool_call_update', toolCallId: toCallId(id), status: isGood ? 'completed' : 'failed' },
      // A diff or a terminal says what happened.
      content: outcome.ok && shown.length > 0 ? shown : [...shown, ...toResultContent(outcome)],
      rawOutput: outcome.response,
    });
  }

  async function render(event: TurnEvent): Promise<void> {
    switch (event.type) {
      case 'wait':
        return showStart(event.calls);
      case 'begin':
        return;
      case 'text':
        return say('agent_message_chunk', { type: 'text', text: event.delta });
      case 'thought':
        return say('agent_thought_chunk', { type: 'text', text: event.delta });
      case 'call': {
        const tool = findTool(event.name);
        if (tool?.isPlan) return;
        calls.set(event.id, []);
        const facts = { ...event, id: toCallId(event.id), tool, cwd };
        return client.update({ sessionUpdate: 'tool_call', ...toToolCall(facts) });
      }
      case 'answer':
        return showAnswer(event);
      case 'verify': {
        const { text, isGood } = formatVerifyLine(event);
        return showStep(text, 'execute', event.output, isGood);
      }
      case 'service':
        return showService(event.step, showStep);
      case 'file':
        return say('agent_message_chunk', toFileBlock(event.file));
      case 'notice':
        return notify(client, event.message);
      case 'end':
        ending = { finishReason: event.finishReason };
        return notify(client, (event.notices ?? []).join('\n'));
      case 'failure':
        ending = { error: event.error };
        return;
      default:
        return assertNever(event);
    }
  }

  return {
    render,
    get ending() {
      return ending;
    },
    toCallId,
    isShown: (id = '') => calls.has(id),
    addContent: (id, content) => void calls.get(id)?.push(...content),
    addChange: (texts) => void calls.get(current)?.push(toDiff(texts)),
    async addTerminal(terminalId) {
      const content = calls.get(current);
      content?.push({ type: 'terminal', terminalId });
      await client.update({ sessionUpdate: 'tool_call_update', toolCallId: toCallId(current), content });
    },
  };
}

/** The protocol has no steps that were dropped. */
function showPlan(client: Client, todos: readonly Todo[]): Promise<void> {
  const entries = todos.flatMap(({ description: content, status }): PlanEntry[] =>
    status === 'cancelled' ? [] : [{ content, status, priority: 'medium' }],
  );
  return client.update({ sessionUpdate: 'plan', entries });
}

type ShowStep = (title: string, kind: ToolKind, text: string, isGood?: boolean) => Promise<void>;

/** For what was done, but not by a tool of gmn. */
function createStepShower(client: Client, toCallId: (id: string) => string): ShowStep {
  let count = 0;
  return (title, kind, text, isGood = true) => {
    count += 1;
    return client.update({
      ...{ sessionUpdate: 'tool_call', toolCallId: toCallId(`step-${count}`), title: sanitize(title), kind },
      ...{ status: isGood ? 'completed' : 'failed', content: [toTextContent(text)] },
    });
  };
}

function showService(step: ServiceStep, show: ShowStep): Promise<void> {
  switch (step.kind) {
    case 'code':
      return show(`${step.language}, run by the service`, 'execute', step.code);
    case 'result':
      return show('What it printed', 'execute', step.output, step.ok);
    case 'page':
      return show(step.url, 'fetch', step.status, step.ok);
  }
}

function toFileBlock({ saved, ...file }: AnswerFile): ContentBlock {
  return toMediaBlock(file, saved === undefined ? file.mimeType : `${saved.name}: ${saved.path}`);
}
