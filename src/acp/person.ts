import { listAnswers, type NamedAnswer } from '../approval/answers.ts';
import { isPlainForm } from '../approval/elicitation.ts';
import type { Answer, QuestionItem } from '../approval/keys.ts';
import type { Person, WithPerson } from '../approval/person.ts';
import { escapeText, escapeValue } from '../approval/view.ts';
import type { Elicit } from '../core/elicitation.ts';
import { filterStrings } from '../core/json.ts';
import { sanitize } from '../core/text/terminal.ts';
import { yieldToEvents } from '../platform/runtime/clock.ts';
import type { Client } from './client.ts';
import type {
  CreateElicitationRequest,
  ElicitationAcceptAction,
  PermissionOptionKind,
  RequestPermissionRequest,
  RequestPermissionResponse,
  ToolCallUpdate,
} from './sdk.ts';
import { type FindTool, toQuestionContent, toToolCall } from './tool-call.ts';
import type { TurnUpdates } from './updates.ts';

interface PersonContext {
  readonly client: Client;
  readonly cwd: string;
  readonly findTool: FindTool;
  /** Of the turn that runs. */
  readonly findUpdates: () => Pick<TurnUpdates, 'toCallId' | 'isShown'> | undefined;
  /** What was allowed may have changed the mode. */
  readonly onAnswered: () => Promise<void>;
}

const KINDS: Readonly<Partial<Record<Answer['kind'], PermissionOptionKind>>> = {
  yes: 'allow_once',
  grant: 'allow_always',
};

/** The only answer to what is not shown whole. */
const TOO_LONG: NamedAnswer = {
  id: 'no',
  name: 'Reject: too long to be shown whole',
  answer: { kind: 'reply', text: 'This is too long to be shown whole. Do it in smaller steps.' },
};

/** The person at the editor, who is asked with `session/request_permission`. Several changes are asked about one by one. */
export function createEditorPerson(context: PersonContext): WithPerson {
  const { client, findUpdates, onAnswered } = context;
  return (work) => {
    /** Why a question comes again. */
    let note: string | undefined;
    const person: Person = {
      async ask(question, signal) {
        const [item] = question.items;
        if (item === undefined || question.items.length > 1) return { kind: 'single' };
        const { toolCall, isWhole } = await toPermissionCall(item, { ...context, note, signal });
        const answers = isWhole ? listAnswers(question) : [TOO_LONG];
        const asked: RequestPermissionRequest = {
          sessionId: client.sessionId,
          toolCall,
          options: answers.map(({ id, name, answer }) => ({
            optionId: id,
            name,
            kind: KINDS[answer.kind] ?? 'reject_once',
          })),
        };
        note = undefined;
        const waiting = { cancellationSignal: signal, stopWaitingOnCancel: true };
        const response = await client.request('session/request_permission', asked, waiting);
        signal.throwIfAborted();
        const answer = toEditorAnswer(response, answers);
        if (!findUpdates()?.isShown(item.call?.id)) await showAnswered(asked.toolCall.toolCallId, answer, client);
        return answer;
      },
      async say(text) {
        note = text;
      },
      edit: async () => undefined,
    };
    return work(person).finally(onAnswered);
  };
}

/** Nothing else is told about a call that the turn does not show, such as one of a sub-agent: it would wait for ever. */
function showAnswered(toolCallId: string, { kind }: Answer, { update }: Client): Promise<void> {
  const status = kind in KINDS ? 'completed' : 'failed';
  return update({ sessionUpdate: 'tool_call_update', toolCallId, status });
}

/** An option that was not offered allows nothing. */
function toEditorAnswer({ outcome }: RequestPermissionResponse, answers: readonly NamedAnswer[]): Answer {
  if (outcome.outcome !== 'selected') return { kind: 'stop' };
  return answers.find(({ id }) => id === outcome.optionId)?.answer ?? { kind: 'no' };
}

async function toPermissionCall(
  { name, preview, call = { id: name, name, args: {} } }: QuestionItem,
  {
    cwd,
    findTool,
    findUpdates,
    note,
    signal,
  }: PersonContext & { readonly note?: string; readonly signal: AbortSignal },
): Promise<{ readonly toolCall: ToolCallUpdate; readonly isWhole: boolean }> {
  const id = findUpdates()?.toCallId(call.id) ?? call.id;
  const { guarded } = call;
  const warning = guarded && `Asked about in every mode: ${sanitize(guarded)}`;
  const notes = filterStrings([note, warning]);
  const pause = (): Promise<void> => yieldToEvents(signal);
  const { content, isWhole } = await toQuestionContent(name, preview, { notes, pause });
  return { toolCall: { ...toToolCall({ ...call, id, tool: findTool(name), cwd }), content }, isWhole };
}

/** Passes the questions of MCP servers on to an editor that shows forms; undefined if it does not, so that servers ask nothing. */
export function createEditorElicit(client: Client): Elicit | undefined {
  if (!client.capabilities.elicitation?.form) return undefined;
  return async (question, signal) => {
    // To open an address is something that an editor may do by itself; nobody would have been asked.
    if (question.kind === 'url' || !isPlainForm(question.schema)) return { action: 'cancel' };
    const { server, message, schema } = question;
    const form: CreateElicitationRequest = {
      ...{ mode: 'form', sessionId: client.sessionId },
      message: `MCP server ${sanitize(server)} asks: ${escapeText(message)}`,
      requestedSchema: escapeValue(schema) as Extract<CreateElicitationRequest, { mode: 'form' }>['requestedSchema'],
    };
    const waiting = { cancellationSignal: signal, stopWaitingOnCancel: true };
    const answer = await client.request('elicitation/create', form, waiting);
    signal.throwIfAborted();
    if (answer.action === 'accept')
      return { action: 'accept', content: (answer as ElicitationAcceptAction).content ?? {} };
    return { action: answer.action === 'decline' ? 'decline' : 'cancel' };
  };
}
