import { isPlainForm } from '../approval/elicitation.ts';
import type { Elicit } from '../core/elicitation.ts';
import type { Client } from './client.ts';
import type { CreateElicitationRequest, ElicitationAcceptAction } from './sdk.ts';

/** Passes the questions of MCP servers on to an editor that shows forms; undefined if it does not, so that servers ask nothing. */
export function createEditorElicit(client: Client): Elicit | undefined {
  if (!client.capabilities.elicitation?.form) return undefined;
  return async (question, signal) => {
    // To open an address is something that an editor may do by itself; nobody would have been asked.
    if (question.kind === 'url' || !isPlainForm(question.schema)) return { action: 'cancel' };
    const { server, message, schema } = question;
    const form: CreateElicitationRequest = {
      ...{ mode: 'form', sessionId: client.sessionId, message: `MCP server ${server} asks: ${message}` },
      requestedSchema: schema as Extract<CreateElicitationRequest, { mode: 'form' }>['requestedSchema'],
    };
    const waiting = { cancellationSignal: signal, stopWaitingOnCancel: true };
    const answer = await client.request('elicitation/create', form, waiting);
    signal.throwIfAborted();
    if (answer.action === 'accept')
      return { action: 'accept', content: (answer as ElicitationAcceptAction).content ?? {} };
    return { action: answer.action === 'decline' ? 'decline' : 'cancel' };
  };
}
