import { AppError, type ErrorOptions } from '../core/error.ts';
import { concealed } from '../core/text/secrets.ts';
import { oneLine } from './google-error.ts';

export interface SeenReply {
  text: boolean;
  thought: boolean;
  readonly calls: string[];
  /** How many parts there were of each kind that is neither text nor a call. */
  readonly otherKinds: Map<string, number>;
  finishReason?: string;
  finishMessage?: string;
}

const NO_SECRETS: ReadonlySet<string> = new Set();

/**
 * The AppError `api` that says why a reply is not an answer, with `secrets` redacted; with `retry` where another
 * attempt may succeed.
 */
export function replyFailure(seen: SeenReply, secrets: ReadonlySet<string> = NO_SECRETS): AppError {
  const { finishReason, calls } = seen;
  if (finishReason === undefined) return unfinished(seen);
  if (finishReason !== 'STOP' && finishReason !== 'MAX_TOKENS') {
    return stopped(finishReason, concealed(seen.finishMessage ?? '', secrets));
  }
  if (calls.length > 0) return uncalled(calls);
  if (finishReason === 'STOP') return empty(seen);
  return api('empty response: the token limit was spent before the answer began (MAX_TOKENS)', {
    hint: 'Raise --max-output-tokens, or lower --thinking-level or --thinking-budget.',
  });
}

function unfinished(seen: SeenReply): AppError {
  if (!seen.text && !seen.thought && seen.calls.length === 0) return empty(seen);
  return api('the answer was cut short: the stream ended without a finish reason', {
    hint: 'Send the prompt again.',
    retry: {},
  });
}

function empty({ thought, otherKinds }: SeenReply): AppError {
  if (otherKinds.size > 0) {
    return api(`the answer holds no text, only ${oneLine([...otherKinds.keys()].join(', '), 100)}`, {
      hint: 'Choose a model that answers in text, with -m.',
    });
  }
  return thought
    ? api('empty response: the model thought but did not answer', { hint: AGAIN, retry: { atMost: 1 } })
    : api('empty response from the model', { hint: AGAIN, retry: {} });
}

/** The notice for a text answer that also holds other parts: kinds and counts. */
export function otherPartsNotice({ otherKinds }: Pick<SeenReply, 'otherKinds'>): string {
  const kinds = [...otherKinds].map(([kind, count]) => `${count} ${kind}`).join(', ');
  return `the answer also holds what gmn cannot show: ${oneLine(kinds, 200)}`;
}

const AGAIN = 'Try again, rephrase the prompt, or choose another model with -m.';

/** The AppError `api` for a prompt that the server blocked. */
export function blockedPrompt(reason: string, secrets: ReadonlySet<string>): AppError {
  return api(`prompt blocked: ${oneLine(concealed(reason, secrets), 100)}`, {
    hint: 'Rephrase the prompt, or leave out what the filter may object to.',
  });
}

const TOOL_FAULTS = ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL'];

function stopped(reason: string, message: string): AppError {
  const words = message === '' ? '' : `: ${oneLine(message, 200)}`;
  const what = `the model stopped without finishing its answer: ${oneLine(reason, 100)}${words}`;
  return TOOL_FAULTS.includes(reason)
    ? api(what, { hint: AGAIN, retry: { atMost: 2 } })
    : api(what, { hint: 'Rephrase the prompt, or choose another model with -m.' });
}

function uncalled(names: readonly string[]): AppError {
  return api(`the model called ${oneLine(names.join(', '), 100)}, but no tools were offered to it`, {
    hint: 'Say in the prompt that it should answer in text, or offer tools with --tools.',
    retry: { atMost: 2 },
    objection: 'tools',
  });
}

function api(message: string, options: ErrorOptions): AppError {
  return new AppError('api', message, options);
}
