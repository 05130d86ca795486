import { AppError, type ErrorOptions } from '../core/error.ts';
import { redactKnown } from '../core/text/secrets.ts';
import { toOneLine } from './google-error.ts';

export interface SeenReply {
  text: boolean;
  thought: boolean;
  readonly calls: string[];
  readonly otherKinds: Map<string, number>;
  finishReason?: string;
  finishMessage?: string;
}

const NO_SECRETS: ReadonlySet<string> = new Set();

/** Why a reply is not an answer, with `secrets` redacted. */
export function replyError(seen: SeenReply, secrets: ReadonlySet<string> = NO_SECRETS): AppError {
  const { finishReason, calls } = seen;
  if (finishReason === undefined) return unfinishedError(seen);
  if (finishReason === 'CONTINUATION') {
    return new AppError('api', 'the answer was cut short: the server gave no way to continue it', {
      hint: 'Send the prompt again.',
    });
  }
  if (finishReason !== 'STOP' && finishReason !== 'MAX_TOKENS') {
    return stoppedError(finishReason, redactKnown(seen.finishMessage ?? '', secrets));
  }
  if (calls.length > 0) return unexpectedCallError(calls);
  if (finishReason === 'STOP') return emptyError(seen);
  return new AppError('api', 'empty response: the token limit was spent before the answer began (MAX_TOKENS)', {
    hint: 'Raise --max-output-tokens, or lower --thinking-level or --thinking-budget.',
  });
}

function unfinishedError(seen: SeenReply): AppError {
  if (!seen.text && !seen.thought && seen.calls.length === 0) return emptyError(seen);
  return new AppError('api', 'the answer was cut short: the stream ended without a finish reason', {
    hint: 'Send the prompt again.',
    retry: {},
  });
}

export function cutShortError(failure: AppError): AppError {
  const cut = 'the answer was cut short';
  if (failure.message.startsWith(cut)) return failure;
  return failure.with({ message: `${cut}: ${failure.message}`, hint: 'Send the prompt again.' });
}

export function stalledError(options: Pick<ErrorOptions<'api'>, 'retry'> = {}): AppError {
  return new AppError('api', 'the answer was cut short: the server never finished it', {
    hint: 'Send the prompt again.',
    ...options,
  });
}

function emptyError({ thought, otherKinds }: SeenReply): AppError {
  if (otherKinds.size > 0) {
    return new AppError(
      'api',
      `the answer contains no text, only ${toOneLine([...otherKinds.keys()].join(', '), 100)}`,
      {
        hint: 'Choose a model that answers in text, with -m.',
      },
    );
  }
  return thought
    ? new AppError('api', 'empty response: the model thought but did not answer', { hint: AGAIN, retry: { atMost: 1 } })
    : new AppError('api', 'empty response from the model', { hint: AGAIN, retry: {} });
}

export function otherPartsNotice({ otherKinds }: Pick<SeenReply, 'otherKinds'>): string {
  const kinds = [...otherKinds].map(([kind, count]) => `${count} ${kind}`).join(', ');
  return `the answer also contains content that gmn cannot show: ${toOneLine(kinds, 200)}`;
}

const AGAIN = 'Try again, rephrase the prompt, or choose another model with -m.';

export function blockedPromptError(reason: string, secrets: ReadonlySet<string>): AppError {
  return new AppError('api', `prompt blocked: ${toOneLine(redactKnown(reason, secrets), 300)}`, {
    hint: 'Rephrase the prompt, or leave out what the filter may object to.',
    isBlocked: true,
  });
}

const PICTURE_HINT = 'Describe the picture in other words.';

const STOP_HINTS: ReadonlyMap<string, string> = new Map([
  ['RECITATION', 'The answer was too close to a published text. Ask for a summary, or for other words.'],
  ['LANGUAGE', 'The model does not answer in this language. Ask in another one, or choose another model with -m.'],
  ['SPII', 'The answer would have held personal data. Leave such data out of the prompt.'],
  ['TOO_MANY_TOOL_CALLS', 'Ask for fewer steps at once.'],
  ['MISSING_THOUGHT_SIGNATURE', 'Begin a new session: the model misses its own signatures in this one.'],
  ['IMAGE_SAFETY', PICTURE_HINT],
  ['IMAGE_PROHIBITED_CONTENT', PICTURE_HINT],
  ['IMAGE_RECITATION', PICTURE_HINT],
  ['IMAGE_OTHER', PICTURE_HINT],
  ['NO_IMAGE', 'Say in the prompt that you want a picture.'],
]);

/** Mistakes of the model that a retry may not repeat. */
const SLIPS = ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'MALFORMED_RESPONSE'];

/** Reasons of a filter, for texts and for pictures. */
const BLOCKS = /SAFETY|BLOCKLIST|PROHIBITED_CONTENT|RECITATION|SPII/;

function stoppedError(reason: string, message: string): AppError {
  const detail = message === '' ? '' : `: ${toOneLine(message, 300)}`;
  const what = `the model stopped without finishing its answer: ${toOneLine(reason, 100)}${detail}`;
  if (SLIPS.includes(reason)) return new AppError('api', what, { hint: AGAIN, retry: { atMost: 2 } });
  const hint = STOP_HINTS.get(reason) ?? 'Rephrase the prompt, or choose another model with -m.';
  const objection = reason === 'MISSING_THOUGHT_SIGNATURE' ? 'signature' : undefined;
  return new AppError('api', what, { hint, objection, isBlocked: BLOCKS.test(reason) || undefined });
}

function unexpectedCallError(names: readonly string[]): AppError {
  return new AppError('api', `the model called ${toOneLine(names.join(', '), 100)}, but no tools were offered to it`, {
    hint: 'Say in the prompt that it should answer in text, or offer tools with --tools.',
    retry: { atMost: 2 },
    objection: 'tools',
  });
}
