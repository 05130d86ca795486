import type { CallPart, Content, Part } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import { isCount, isObject, type JsonObject, toNonEmptyString } from '../core/json.ts';
import type { Reply, ReplyEvent } from '../core/model.ts';
import { addUsage, NO_USAGE, USAGE_KEYS, type Usage } from '../core/usage.ts';
import type { CallIds } from './reply-calls.ts';
import type { SeenReply } from './reply-failure.ts';

export interface ReplyReader {
  /** The events of this chunk, added to `events`; stops at the part that exceeds a limit. */
  take(chunk: Chunk, events?: ReplyEvent[]): readonly ReplyEvent[];
  throwIfOver(): void;
  isFinished(): boolean;
  /** Whether the server ended this connection's part of the reply, and wants to be asked for the rest. */
  isToBeContinued(): boolean;
  /** Called before the chunks of another connection: they belong to the same reply, and its counts are added. */
  resume(): void;
  /**
   * Called after the last chunk: the remaining events, and the reply. Throws AppError `api` if it is not a valid
   * answer.
   */
  finish(): Promise<{ readonly events: readonly ReplyEvent[]; readonly reply: Reply }>;
}

export interface ReplyOptions {
  /** Given if tools were declared, so that a reply of calls alone is valid. */
  readonly ids?: CallIds | undefined;
  /** Given if the full content of the reply is needed. */
  readonly keeper?: ContentCollector | undefined;
  readonly secrets?: ReadonlySet<string>;
  readonly limits?: ReplyLimits;
}

/**
 * A reader for one reply; `asked` is the requested model. Deltas are well-formed text even if a chunk splits a
 * character.
 */
export function replyReader(asked: string, { ids, keeper, secrets, limits }: ReplyOptions = {}): ReplyReader {
  const meter = replyMeter(limits);
  let excess: AppError | undefined;
  const text = createJoiner();
  const thought = createJoiner();
  const seen: SeenReply = { text: false, thought: false, calls: [], otherKinds: new Map() };
  const calls: CallPart[] = [];
  let grounding: JsonObject | undefined;
  /** Of earlier connections, and of this one. */
  let before: Usage = NO_USAGE;
  let promptTokens: number | undefined;
  let usage: MutableUsage = {};
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
    take(chunk, events = []) {
      if (chunk.usageMetadata) updateUsage(usage, chunk.usageMetadata);
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
    isToBeContinued: () => seen.finishReason === 'CONTINUATION',
    resume() {
      promptTokens ??= usage.promptTokenCount;
      before = addUsage(before, usage);
      usage = {};
      delete seen.finishReason;
      delete seen.finishMessage;
    },
    async finish() {
      const { finishReason } = seen;
      const isAnswer = seen.calls.length > 0 ? ids !== undefined : seen.text;
      if (!isAnswer || (finishReason !== 'STOP' && finishReason !== 'MAX_TOKENS')) {
        throw (await import('./reply-failure.ts')).replyError(seen, secrets);
      }
      const halves = [
        { type: 'thought', delta: thought.flush() },
        { type: 'text', delta: text.flush() },
      ] as const;
      const events = [...halves.filter(({ delta }) => delta !== ''), ...(await createReplyNotices(seen))];
      const content = keeper?.content();
      const reply = {
        finishReason,
        usage: addUsage(before, usage),
        ...(promptTokens === undefined ? {} : { promptTokens }),
        model,
        ...(content ? { content } : {}),
        ...(ids && calls.length > 0 ? { calls: (await import('./reply-calls.ts')).toReplyCalls(calls, ids) } : {}),
        ...(grounding ? { grounding } : {}),
      };
      return { events, reply };
    },
  };
}

async function createReplyNotices(seen: SeenReply): Promise<readonly ReplyEvent[]> {
  const messages: string[] = [];
  if (seen.finishReason === 'MAX_TOKENS') {
    messages.push('the answer was cut at the token limit; raise --max-output-tokens');
  }
  if (seen.otherKinds.size > 0) messages.push((await import('./reply-failure.ts')).otherPartsNotice(seen));
  return messages.map((message) => ({ type: 'notice', message }));
}

/** Fields that describe a part, and are not its content. */
const ABOUT = /^thought|Metadata$|^media(?:Resolution|Processing)$/;

function countKinds(part: Part, kinds: Map<string, number>): void {
  for (const key of Object.keys(part)) if (!ABOUT.test(key)) kinds.set(key, (kinds.get(key) ?? 0) + 1);
}

interface TextJoiner {
  push(text: string): string;
  flush(): string;
}

/** Holds back a lone surrogate until its other half arrives; one that stays alone becomes U+FFFD. */
function createJoiner(): TextJoiner {
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

interface ReplyLimits {
  /** Bytes of text, thoughts included. */
  readonly text: number;
  /** Approximate bytes of everything else: signatures, calls, media, search results. */
  readonly other: number;
  /** Maximum nesting depth: code that saves, compares or shows a value recurses that deep. */
  readonly nesting: number;
}

const MB = 1024 * 1024;
const LIMITS: ReplyLimits = { text: 256 * MB, other: 64 * MB, nesting: 100 };

interface ReplyMeter {
  /** Counts the part; the AppError `limit` if it exceeds a limit. */
  part(part: Part): AppError | undefined;
  value(value: unknown): AppError | undefined;
}

export function replyMeter(limits: ReplyLimits = LIMITS): ReplyMeter {
  let text = 0;
  let other = 0;
  const value = (added: unknown): AppError | undefined => {
    const { size, isDeep } = measure(added, limits);
    other += size;
    if (isDeep) return limitError(`the answer contains values nested more than ${limits.nesting} deep`);
    return other > limits.other
      ? limitError(`the answer contains more than ${formatMegabytes(limits.other)} besides its text`)
      : undefined;
  };
  return {
    part(part) {
      if (!('text' in part) || typeof part.text !== 'string') return value(part);
      // Counting bytes takes as long as all other checks of a part. No text of a third of the limit exceeds it, so up to there
      // its characters are counted: the limit may come late, never early.
      const { length } = part.text;
      text += 3 * (text + length) > limits.text ? Buffer.byteLength(part.text) : length;
      if (text > limits.text) return limitError(`the answer is longer than ${formatMegabytes(limits.text)}`);
      if (!hasMoreThanText(part)) return undefined;
      const { text: _, thought: __, ...rest } = part;
      return value(rest);
    },
    value,
  };
}

/** Approximate memory of a value besides its characters. */
const VALUE_SIZE = 16;

/** Iterative, because nesting is limited only by the length of the input and recursion could overflow the stack. */
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

function formatMegabytes(bytes: number): string {
  return `${Math.round(bytes / MB)} MB`;
}

function limitError(message: string): AppError {
  return new AppError('limit', message, {
    hint: 'Ask for less at once, or choose another model with -m.',
  });
}

interface ContentCollector {
  add(part: Part): void;
  /** Undefined if the reply exceeded the limit. */
  content(): Content | undefined;
}

/**
 * Collects every part unchanged and in order. Joins neighbouring texts only if nothing is lost: neither has a key
 * besides `text` and `thought`, and `thought` is the same. Drops the whole reply once it exceeds `limit` characters.
 */
export function collectContent(limit: number): ContentCollector {
  let parts: Part[] = [];
  let length = 0;
  // Plain texts that will become one part, joined in blocks: a string built piece by piece takes several times its
  // length.
  let plain: { readonly first: PlainPart; readonly whole: string[]; open: string[]; openLength: number } | undefined;
  const close = (): void => {
    if (plain !== undefined) parts.push({ ...plain.first, text: [...plain.whole, ...plain.open].join('') });
    plain = undefined;
  };
  return {
    add(part) {
      if (length > limit) return;
      length += measurePart(part);
      if (length > limit) {
        parts = [];
        plain = undefined;
      } else if (!isPlainText(part)) {
        close();
        parts.push(part);
      } else if (plain !== undefined && plain.first.thought === part.thought) {
        plain.open.push(part.text);
        plain.openLength += part.text.length + 1;
        if (plain.openLength > MAX_OPEN) {
          plain.whole.push(plain.open.join(''));
          plain.open = [];
          plain.openLength = 0;
        }
      } else {
        close();
        plain = { first: part, whole: [part.text], open: [], openLength: 0 };
      }
    },
    content() {
      close();
      return length > limit ? undefined : { role: 'model', parts };
    },
  };
}

const MAX_OPEN = 65_536;

type PlainPart = Extract<Part, { text: string }>;

function measurePart(part: Part): number {
  return 'text' in part && typeof part.text === 'string' ? part.text.length : JSON.stringify(part).length;
}

function isPlainText(part: Part): part is PlainPart {
  return 'text' in part && typeof part.text === 'string' && !hasMoreThanText(part);
}

function hasMoreThanText(part: Part): boolean {
  for (const key in part) if (key !== 'text' && key !== 'thought') return true;
  return false;
}

/** One streamed GenerateContentResponse, first candidate only. */
export interface Chunk {
  /** The original objects, unknown fields included. */
  readonly parts: readonly Part[];
  readonly finishReason?: string | undefined;
  readonly finishMessage?: string | undefined;
  /** As it came: its counts are not checked. */
  readonly usageMetadata?: Readonly<Record<string, unknown>> | undefined;
  readonly modelVersion?: string | undefined;
  readonly blockReason?: string | undefined;
  /** An error reported inside the stream, in the form of an error body. */
  readonly error?: unknown;
  readonly otherCandidates: number;
  /** With it the same request gets what comes after this chunk. */
  readonly continuationToken?: string | undefined;
  readonly grounding?: JsonObject | undefined;
}

const NO_PARTS: readonly Part[] = [];

/**
 * Parses one event. Skips unreadable fields that do not carry the answer. Throws AppError `api` if text or calls may
 * be hidden in the malformed part.
 */
export function parseChunk(value: unknown): Chunk {
  if (!isObject(value)) throw malformedReplyError('not an object');
  if (value.error !== undefined && value.error !== null) {
    return { parts: NO_PARTS, otherCandidates: 0, error: value };
  }
  const { candidate, others } = parseCandidates(value.candidates);
  const feedback = isObject(value.promptFeedback) ? value.promptFeedback.blockReason : undefined;
  return {
    parts: parseParts(candidate?.content),
    otherCandidates: others,
    finishReason: toReason(candidate?.finishReason),
    finishMessage: toNonEmptyString(candidate?.finishMessage),
    modelVersion: toNonEmptyString(value.modelVersion),
    blockReason: toReason(feedback),
    usageMetadata: isObject(value.usageMetadata) ? value.usageMetadata : undefined,
    continuationToken: parseToken(candidate?.continuationToken),
    grounding: parseGrounding(candidate?.groundingMetadata),
  };
}

/** Gateways that write out every field have `FINISH_REASON_UNSPECIFIED` in every chunk but the last. */
function toReason(value: unknown): string | undefined {
  const reason = toNonEmptyString(value);
  return reason?.endsWith('_UNSPECIFIED') ? undefined : reason;
}

function parseCandidates(value: unknown): {
  readonly candidate: Readonly<Record<string, unknown>> | undefined;
  readonly others: number;
} {
  if (value === undefined || value === null) return { candidate: undefined, others: 0 };
  if (!Array.isArray(value)) throw malformedReplyError('candidates is not a list');
  let candidate: Readonly<Record<string, unknown>> | undefined;
  for (const entry of value) {
    if (!isObject(entry)) throw malformedReplyError('a candidate is not an object');
    // A chunk may hold only another candidate, whose text must not be mixed with the first one's.
    if ((entry.index ?? 0) === 0) candidate ??= entry;
  }
  return { candidate, others: value.length - (candidate === undefined ? 0 : 1) };
}

function parseParts(content: unknown): readonly Part[] {
  if (content === undefined || content === null) return NO_PARTS;
  if (!isObject(content)) throw malformedReplyError('content is not an object');
  const parts: unknown = content.parts;
  if (parts === undefined || parts === null) return NO_PARTS;
  if (!Array.isArray(parts)) throw malformedReplyError('parts is not a list');
  for (const part of parts) checkPart(part);
  return parts as readonly Part[];
}

function checkPart(part: unknown): void {
  if (!isObject(part)) throw malformedReplyError('a part is not an object');
  const { text, functionCall } = part;
  if (text !== undefined && text !== null && typeof text !== 'string')
    throw malformedReplyError('a text is not a string');
  if (functionCall !== undefined && functionCall !== null && !isObject(functionCall)) {
    throw malformedReplyError('a function call is not an object');
  }
}

const MAX_TOKEN_LENGTH = 1_000_000;

/** Ignores a token too long to be sent back with every request. */
function parseToken(value: unknown): string | undefined {
  const token = toNonEmptyString(value);
  return token !== undefined && token.length <= MAX_TOKEN_LENGTH ? token : undefined;
}

function parseGrounding(value: unknown): JsonObject | undefined {
  // The value comes from JSON.parse.
  return isObject(value) ? (value as JsonObject) : undefined;
}

type MutableUsage = { -readonly [Key in keyof Usage]: Usage[Key] };

function updateUsage(usage: MutableUsage, metadata: Readonly<Record<string, unknown>>): void {
  for (const key of USAGE_KEYS) {
    const count = metadata[key];
    if (isCount(count)) usage[key] = count;
  }
}

function malformedReplyError(what: string): AppError {
  return new AppError('api', `the answer was cut short: malformed event from the server (${what})`, {
    hint: 'Send the prompt again. If this keeps happening, the server does not speak the Gemini API.',
    retry: {},
  });
}
