import type { CallPart, Part } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import type { Reply, ReplyEvent } from '../core/model.ts';
import { NO_USAGE, type Usage } from '../core/usage.ts';
import type { Chunk } from './chunk.ts';
import type { CallIds } from './reply-calls.ts';
import type { ContentKeeper } from './reply-content.ts';
import type { SeenReply } from './reply-failure.ts';

/** Reads the chunks of one answer. */
export interface ReplyReader {
  /** What of this chunk is to be told; no more of it once the answer is over its limits. */
  take(chunk: Chunk): readonly ReplyEvent[];
  /** Throws AppError `limit` if the answer has become larger than an answer may be. */
  throwIfOver(): void;
  /** Whether a finish reason has come. */
  isFinished(): boolean;
  /** After the last chunk: what remains to be told, and the reply. Throws AppError `api` if it is not an answer. */
  finish(): Promise<{ readonly events: readonly ReplyEvent[]; readonly reply: Reply }>;
}

export interface ReplyOptions {
  /** Given if calls are answers: tools were declared. */
  readonly ids?: CallIds | undefined;
  /** Given if the reply is wanted whole. */
  readonly keeper?: ContentKeeper | undefined;
  /** The caller's own, which are not quoted. */
  readonly secrets?: ReadonlySet<string>;
  /** How much the answer may hold; what requirements and documentation say unless given. */
  readonly limits?: ReplyLimits;
}

/** A reader for one answer of the model `asked`. Deltas are well-formed text, whatever the chunks split. */
export function replyReader(asked: string, { ids, keeper, secrets, limits }: ReplyOptions = {}): ReplyReader {
  const meter = replyMeter(limits);
  let excess: AppError | undefined;
  const text = wellFormed();
  const thought = wellFormed();
  const seen: SeenReply = { text: false, thought: false, calls: [], otherKinds: new Map() };
  const calls: CallPart[] = [];
  let grounding: JsonObject | undefined;
  let usage: Usage = NO_USAGE;
  let model = asked;

  function takePart(part: Part, events: ReplyEvent[]): void {
    keeper?.add(part);
    if ('text' in part && typeof part.text === 'string') {
      const isThought = part.thought === true;
      const delta = (isThought ? thought : text).push(part.text);
      if (part.text !== '') seen[isThought ? 'thought' : 'text'] = true;
      if (delta !== '') events.push({ type: isThought ? 'thought' : 'text', delta });
    } else if ('functionCall' in part && part.functionCall) {
      seen.calls.push(String(part.functionCall.name));
      if (ids) calls.push(part);
    } else {
      countKinds(part, seen.otherKinds);
    }
  }

  return {
    take(chunk) {
      const events: ReplyEvent[] = [];
      if (chunk.usage) usage = { ...usage, ...chunk.usage };
      if (chunk.modelVersion) model = chunk.modelVersion;
      if (chunk.finishReason) seen.finishReason = chunk.finishReason;
      if (chunk.finishMessage) seen.finishMessage = chunk.finishMessage;
      if (chunk.grounding) {
        excess ??= meter.value(chunk.grounding);
        if (excess === undefined) grounding = { ...grounding, ...chunk.grounding };
      }
      for (const part of chunk.parts) {
        excess ??= meter.part(part);
        if (excess !== undefined) break;
        takePart(part, events);
      }
      return events;
    },
    throwIfOver() {
      if (excess !== undefined) throw excess;
    },
    isFinished: () => seen.finishReason !== undefined,
    async finish() {
      const { finishReason } = seen;
      const isAnswer = seen.calls.length > 0 ? ids !== undefined : seen.text;
      if (!isAnswer || (finishReason !== 'STOP' && finishReason !== 'MAX_TOKENS')) {
        throw (await import('./reply-failure.ts')).replyFailure(seen, secrets);
      }
      const halves = [
        { type: 'thought', delta: thought.flush() },
        { type: 'text', delta: text.flush() },
      ] as const;
      const events = [...halves.filter(({ delta }) => delta !== ''), ...(await noticesOf(seen))];
      const content = keeper?.content();
      const reply = {
        finishReason,
        usage,
        model,
        ...(content ? { content } : {}),
        ...(ids && calls.length > 0 ? { calls: (await import('./reply-calls.ts')).replyCalls(calls, ids) } : {}),
        ...(grounding ? { grounding } : {}),
      };
      return { events, reply };
    },
  };
}

/** What a person should know of an answer that is one. */
async function noticesOf(seen: SeenReply): Promise<readonly ReplyEvent[]> {
  const messages: string[] = [];
  if (seen.finishReason === 'MAX_TOKENS') {
    messages.push('the answer was cut at the token limit; raise --max-output-tokens');
  }
  if (seen.otherKinds.size > 0) messages.push((await import('./reply-failure.ts')).otherPartsNotice(seen));
  return messages.map((message) => ({ type: 'notice', message }));
}

/** A part's fields besides its thought and its signature are its kinds. */
function countKinds(part: Part, kinds: Map<string, number>): void {
  for (const key of Object.keys(part)) if (!key.startsWith('thought')) kinds.set(key, (kinds.get(key) ?? 0) + 1);
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

/** How much one answer may hold. */
export interface ReplyLimits {
  /** Bytes of text, thoughts included. */
  readonly text: number;
  /** About as many bytes of everything else: signatures, calls, media, what the model found on the web. */
  readonly other: number;
  /** How deep a value may be nested: whoever saves, compares or shows it goes down as far. */
  readonly nesting: number;
}

const MB = 1024 * 1024;
const LIMITS: ReplyLimits = { text: 256 * MB, other: 64 * MB, nesting: 100 };

/** Watches what an answer adds up to. */
export interface ReplyMeter {
  /** The AppError `limit` if this part is one too many. */
  part(part: Part): AppError | undefined;
  /** The same for a value that is no part. */
  value(value: unknown): AppError | undefined;
}

/** A meter for one answer. */
export function replyMeter(limits: ReplyLimits = LIMITS): ReplyMeter {
  let text = 0;
  let other = 0;
  const value = (added: unknown): AppError | undefined => {
    const { size, isDeep } = measure(added, limits);
    other += size;
    if (isDeep) return over(`the answer holds values nested more than ${limits.nesting} deep`);
    return other > limits.other
      ? over(`the answer holds more than ${sizeText(limits.other)} besides its text`)
      : undefined;
  };
  return {
    part(part) {
      if (!('text' in part) || typeof part.text !== 'string') return value(part);
      text += Buffer.byteLength(part.text);
      if (text > limits.text) return over(`the answer is longer than ${sizeText(limits.text)}`);
      const { text: _, thought: __, ...rest } = part;
      for (const _key in rest) return value(rest);
      return undefined;
    },
    value,
  };
}

/** What a value costs in memory beside its characters, about. */
const VALUE_SIZE = 16;

/** The size of a value, as far as it matters. Not by recursion: a value can be nested as deep as it is long. */
function measure(value: unknown, limits: ReplyLimits): { readonly size: number; readonly isDeep: boolean } {
  let size = 0;
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const item of level) {
      size += VALUE_SIZE;
      if (typeof item === 'string') size += item.length;
      if (typeof item !== 'object' || item === null) continue;
      for (const [key, inner] of Object.entries(item)) {
        size += key.length;
        next.push(inner);
      }
    }
    if (depth > limits.nesting) return { size, isDeep: true };
    level = next;
  }
  return { size, isDeep: false };
}

function sizeText(bytes: number): string {
  return `${Math.round(bytes / MB)} MB`;
}

function over(message: string): AppError {
  return new AppError('limit', message, {
    hint: 'What had come is kept. Ask for less at once, or choose another model with -m.',
  });
}
