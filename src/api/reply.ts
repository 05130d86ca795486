import type { Part } from '../core/content.ts';
import { AppError, type ErrorOptions } from '../core/error.ts';
import type { Reply, ReplyEvent } from '../core/model.ts';
import { NO_USAGE, type Usage } from '../core/usage.ts';
import type { Chunk } from './chunk.ts';
import { oneLine } from './server-text.ts';

/** Reads the chunks of one answer. */
export interface ReplyReader {
  /** What of this chunk is to be told. Throws AppError `api` if the prompt was blocked. */
  take(chunk: Chunk): readonly ReplyEvent[];
  /** Whether a finish reason has come. */
  isFinished(): boolean;
  /** After the last chunk: what remains to be told, and the reply. Throws AppError `api` if it is not an answer. */
  finish(): { readonly events: readonly ReplyEvent[]; readonly reply: Reply };
}

interface Seen {
  text: boolean;
  thought: boolean;
  /** The names of the calls. */
  readonly calls: string[];
  /** Keys of parts that are neither text nor call. */
  readonly otherKinds: Set<string>;
  finishReason?: string;
  finishMessage?: string;
}

/** A reader for one answer of the model `asked`. Deltas are well-formed text, whatever the chunks split. */
export function replyReader(asked: string): ReplyReader {
  const text = wellFormed();
  const thought = wellFormed();
  const seen: Seen = { text: false, thought: false, calls: [], otherKinds: new Set() };
  let usage: Usage = NO_USAGE;
  let model = asked;

  function takePart(part: Part, events: ReplyEvent[]): void {
    if ('text' in part && typeof part.text === 'string') {
      const isThought = part.thought === true;
      const delta = (isThought ? thought : text).push(part.text);
      if (part.text !== '') seen[isThought ? 'thought' : 'text'] = true;
      if (delta !== '') events.push({ type: isThought ? 'thought' : 'text', delta });
    } else if ('functionCall' in part && part.functionCall) {
      seen.calls.push(String(part.functionCall.name));
    } else {
      for (const key of Object.keys(part)) if (!key.startsWith('thought')) seen.otherKinds.add(key);
    }
  }

  return {
    take(chunk) {
      const events: ReplyEvent[] = [];
      if (chunk.usage) usage = { ...usage, ...chunk.usage };
      if (chunk.modelVersion) model = chunk.modelVersion;
      if (chunk.blockReason) throw blocked(chunk.blockReason);
      if (chunk.finishReason) seen.finishReason = chunk.finishReason;
      if (chunk.finishMessage) seen.finishMessage = chunk.finishMessage;
      for (const part of chunk.parts) takePart(part, events);
      return events;
    },
    isFinished: () => seen.finishReason !== undefined,
    finish() {
      const finishReason = checkEnd(seen);
      const events: ReplyEvent[] = [];
      const rest = text.flush();
      if (rest !== '') events.push({ type: 'text', delta: rest });
      if (finishReason === 'MAX_TOKENS') {
        events.push({ type: 'notice', message: 'the answer was cut at the token limit; raise --max-output-tokens' });
      }
      return { events, reply: { finishReason, usage, model } };
    },
  };
}

/** The finish reason, if it is that of an answer. */
function checkEnd(seen: Seen): string {
  const { finishReason } = seen;
  if (finishReason === undefined) throw unfinished(seen);
  if (finishReason !== 'STOP' && finishReason !== 'MAX_TOKENS') throw stopped(finishReason, seen.finishMessage);
  if (seen.calls.length > 0) throw uncalled(seen.calls);
  if (seen.text) return finishReason;
  if (finishReason === 'MAX_TOKENS') {
    throw api('empty response: the token limit was spent before the answer began (MAX_TOKENS)', {
      hint: 'Raise --max-output-tokens, or lower --thinking-level or --thinking-budget.',
    });
  }
  throw empty(seen);
}

function unfinished(seen: Seen): AppError {
  if (!seen.text && !seen.thought && seen.calls.length === 0) return empty(seen);
  return api('the answer was cut short: the stream ended without a finish reason', {
    hint: 'Send the prompt again.',
    retry: {},
  });
}

function empty({ thought, otherKinds }: Seen): AppError {
  if (otherKinds.size > 0) {
    return api(`the answer holds no text, only ${oneLine([...otherKinds].join(', '), 100)}`, {
      hint: 'Choose a model that answers in text, with -m.',
    });
  }
  return thought
    ? api('empty response: the model thought but did not answer', { hint: AGAIN, retry: { atMost: 1 } })
    : api('empty response from the model', { hint: AGAIN, retry: {} });
}

const AGAIN = 'Try again, rephrase the prompt, or choose another model with -m.';

function blocked(reason: string): AppError {
  return api(`prompt blocked: ${oneLine(reason, 100)}`, {
    hint: 'Rephrase the prompt, or leave out what the filter may object to.',
  });
}

const TOOL_FAULTS = ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL'];

function stopped(reason: string, message: string | undefined): AppError {
  const words = message === undefined ? '' : `: ${oneLine(message, 200)}`;
  const what = `the model stopped without finishing its answer: ${oneLine(reason, 100)}${words}`;
  return TOOL_FAULTS.includes(reason)
    ? api(what, { hint: AGAIN, retry: { atMost: 2 } })
    : api(what, { hint: 'Rephrase the prompt, or choose another model with -m.' });
}

function uncalled(names: readonly string[]): AppError {
  return api(`the model called ${oneLine(names.join(', '), 100)}, but no tools were offered to it`, {
    hint: 'Say in the prompt that it should answer in text, or offer tools with --tools.',
    retry: { atMost: 2 },
  });
}

function api(message: string, options: ErrorOptions): AppError {
  return new AppError('api', message, options);
}

interface Joiner {
  push(text: string): string;
  flush(): string;
}

/** Holds back half a character until its other half comes; a half that stays alone becomes U+FFFD. */
function wellFormed(): Joiner {
  let held = '';
  return {
    push(text) {
      if (text === '') return '';
      const joined = held === '' ? text : held + text;
      const last = joined.charCodeAt(joined.length - 1);
      held = last >= 0xd800 && last <= 0xdbff ? joined.slice(-1) : '';
      return (held === '' ? joined : joined.slice(0, -1)).toWellFormed();
    },
    flush: () => held.toWellFormed(),
  };
}
