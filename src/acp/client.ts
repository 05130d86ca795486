import { AppError, type Fault } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { errorFields } from '../render/json-parts.ts';
import type { AgentContext, ClientCapabilities, SessionUpdate } from './sdk.ts';

/** The editor, as one session talks to it. */
export interface Client {
  readonly capabilities: ClientCapabilities;
  readonly request: AgentContext['request'];
  readonly createTerminal: AgentContext['createTerminal'];
  readonly sessionId: string;
  /** Resolves when there is room for more. Rejects once the editor is gone. */
  update(update: SessionUpdate): Promise<void>;
}

export function createClient(
  context: AgentContext,
  { sessionId, capabilities }: Pick<Client, 'sessionId' | 'capabilities'>,
): Client {
  return {
    capabilities,
    sessionId,
    request: context.request.bind(context) as AgentContext['request'],
    createTerminal: context.createTerminal.bind(context),
    update: (update) => context.notify('session/update', { sessionId, update }),
  };
}

/**
 * Something beside the answer. Editors that know no notices show it where they show thoughts, so that the answer stays what the model
 * said.
 */
export async function notify(client: Client, message: string): Promise<void> {
  const text = message.trim();
  if (text === '') return;
  if (client.capabilities.session?.notices) {
    const [title = text, ...rest] = text.split('\n');
    const description = rest.length === 0 ? undefined : rest.join('\n');
    return client.update({ sessionUpdate: 'notice', severity: 'info', title, description });
  }
  return client.update({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: `gmn: ${text}\n` } });
}

const INTERNAL = -32603;
/** https://agentclientprotocol.com/protocol/v1/schema#errorcode */
const CODES: Readonly<Partial<Record<Fault, number>>> = { auth: -32000, usage: -32602, interrupted: -32800 };

/** What the protocol's error says. `data` is the error object of gmn's JSON formats. */
export function toErrorFields(thrown: unknown): { code: number; message: string; data: JsonObject } {
  const error = AppError.from(thrown);
  const isUnknown = error.fault === 'usage' && error.details.code === 'SESSION_NOT_FOUND';
  const code = isUnknown ? -32002 : (CODES[error.fault] ?? INTERNAL);
  const about = isUnknown ? { sessionId: error.details.sessionId } : {};
  return { code, message: describeFailure(error), data: { ...errorFields(error), ...about } };
}

/** Clients show the message alone. */
export function describeFailure({ message, hint }: AppError): string {
  return hint === undefined ? message : `${message.replace(/[.:]$/, '')}. ${hint}`;
}

export function sessionNotFoundError(sessionId: string): AppError {
  return new AppError('usage', 'there is no such session', {
    hint: 'session/list has those that there are.',
    code: 'SESSION_NOT_FOUND',
    sessionId,
  });
}
