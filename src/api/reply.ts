import type { CallPart, Content, MediaPart, Part } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { AnswerFile, PageStep, ServiceStep } from '../core/event.ts';
import { isCount, isObject, type JsonObject, toNonEmptyString } from '../core/json.ts';
import type { CountedCall, Reply, ReplyEvent } from '../core/model.ts';
import {
  addUsage,
  countUnnamed,
  DETAIL_KEYS,
  NO_USAGE,
  USAGE_KEYS,
  type Usage,
  type UsageDetails,
} from '../core/usage.ts';
import type { Chunk } from './chunk.ts';
import type { CallIds } from './reply-calls.ts';
import type { SeenReply } from './reply-failure.ts';

export interface ReplyReader {
  /** The events of this chunk, added to `events`; stops at the part that exceeds a limit. */
  take(chunk: Chunk, events?: ReplyEvent[]): readonly ReplyEvent[];
  throwIfOver(): void;
  isFinished(): boolean;
  /** Whether the server has ended its part of the reply on this connection, and the rest must be requested. */
  isToBeContinued(): boolean;
  /** Called before the chunks of another connection of the same reply. Token counts of both are added. */
  resume(): void;
  /** What the server has counted on this connection; undefined if nothing. */
  counted(): CountedCall | undefined;
  /** After the last chunk. Throws AppError `api` if it is not a valid answer. */
  finish(): Promise<{ readonly events: readonly ReplyEvent[]; readonly reply: Reply }>;
}

export interface ReplyOptions {
  /** Given if tools were declared, so that a reply of calls alone is valid. */
  readonly ids?: CallIds;
  /** Given if the full content of the reply is needed. */
  readonly keeper?: ContentCollector;
  readonly secrets?: ReadonlySet<string>;
  readonly limits?: ReplyLimits;
}

/** `asked` is the requested model. Deltas are well-formed text even if a chunk splits a character. */
export function replyReader(asked: string, { ids, keeper, secrets, limits }: ReplyOptions = {}): ReplyReader {
  const meter = replyMeter(limits);
  let excess: AppError | undefined;
  const text = createJoiner();
  const thought = createJoiner();
  const seen: SeenReply = { text: false, thought: false, calls: [], otherKinds: new Map() };
  const calls: CallPart[] = [];
  const extras = createExtraParts();
  let grounding: JsonObject | undefined;
  const citations: JsonObject[] = [];
  const counter = createUsageCounter();
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
      calls.push(part);
    } else if (!extras.take(part, events)) {
      countKinds(part, seen.otherKinds);
    }
  }

  return {
    take(chunk, events = []) {
      if (chunk.usageMetadata) counter.take(chunk.usageMetadata);
      if (chunk.modelVersion) model = chunk.modelVersion;
      if (chunk.finishReason) seen.finishReason = chunk.finishReason;
      if (chunk.finishMessage) seen.finishMessage = chunk.finishMessage;
      if (chunk.grounding) {
        excess ??= meter.value(chunk.grounding);
        grounding = { ...grounding, ...chunk.grounding };
      }
      if (chunk.citations) {
        excess ??= meter.value(chunk.citations);
        for (const citation of chunk.citations) citations.push(citation);
      }
      if (chunk.pages) {
        excess ??= meter.value(chunk.pages);
        extras.addPages(chunk.pages);
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
      counter.resume();
      delete seen.finishReason;
      delete seen.finishMessage;
    },
    counted() {
      const latest = counter.latest();
      return latest && { ...latest, model };
    },
    async finish() {
      const { finishReason } = seen;
      const isAnswer = seen.calls.length > 0 ? ids !== undefined : seen.text || extras.isAnswer();
      if (!isAnswer || (finishReason !== 'STOP' && finishReason !== 'MAX_TOKENS')) {
        throw (await import('./reply-failure.ts')).replyError(seen, secrets);
      }
      const halves = [
        { type: 'thought', delta: thought.flush() },
        { type: 'text', delta: text.flush() },
      ] as const;
      const shown = halves.filter(({ delta }) => delta !== '');
      const events = [...shown, ...extras.pageEvents(), ...(await createReplyNotices(seen))];
      const reply = {
        finishReason,
        ...counter.fields(),
        model,
        content: keeper?.content(),
        calls: ids && calls.length > 0 ? (await import('./reply-calls.ts')).toReplyCalls(calls, ids) : undefined,
        grounding,
        citations: citations.length > 0 ? citations : undefined,
        ...extras.fields(),
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

function createExtraParts() {
  const files: AnswerFile[] = [];
  const pages = new Map<string, PageStep>();
  let hasSteps = false;
  return {
    /** A file, or a step of the service's own tools; false if the part is neither. */
    take(part: Part, events: ReplyEvent[]): boolean {
      if ('inlineData' in part && isInlineData(part.inlineData)) {
        const { mimeType, data } = part.inlineData;
        // Drafts of a picture come as thoughts.
        if (part.thought !== true) files.push({ mimeType, data });
        return true;
      }
      const step = toServiceStep(part);
      if (step === undefined) return false;
      hasSteps = true;
      events.push({ type: 'service', step });
      return true;
    },
    addPages(list: readonly PageStep[]) {
      // Later chunks may repeat the list.
      for (const page of list) pages.set(page.url, page);
    },
    isAnswer: () => files.length > 0 || hasSteps,
    pageEvents: (): readonly ReplyEvent[] => [...pages.values()].map((step) => ({ type: 'service', step })),
    fields: () => ({
      files: files.length > 0 ? joinSamples(files) : undefined,
      pages: pages.size > 0 ? [...pages.values()] : undefined,
    }),
  };
}

/** Speech streams as samples in many parts, which are one sound. */
function joinSamples(files: readonly AnswerFile[]): readonly AnswerFile[] {
  const groups: { readonly first: AnswerFile; readonly more: AnswerFile[] }[] = [];
  for (const file of files) {
    const last = groups.at(-1);
    if (last?.first.mimeType === file.mimeType && /^audio\/(?:l16|pcm)\b/i.test(file.mimeType)) last.more.push(file);
    else groups.push({ first: file, more: [] });
  }
  return groups.map(({ first, more }) => {
    if (more.length === 0) return first;
    const samples = [first, ...more].map(({ data }) => Buffer.from(data, 'base64'));
    return { ...first, data: Buffer.concat(samples).toString('base64') };
  });
}

/** Two digits are the least that a byte needs. */
const BASE64 = /^[\w+/-]{2}/;

function isInlineData(value: unknown): value is MediaPart['inlineData'] {
  return (
    isObject(value) && typeof value.mimeType === 'string' && typeof value.data === 'string' && BASE64.test(value.data)
  );
}

function toServiceStep(part: Part): ServiceStep | undefined {
  if ('executableCode' in part && isObject(part.executableCode)) {
    const { language, code } = part.executableCode;
    return { kind: 'code', language: toNonEmptyString(language) ?? '', code: toNonEmptyString(code) ?? '' };
  }
  if ('codeExecutionResult' in part && isObject(part.codeExecutionResult)) {
    const outcome = toNonEmptyString(part.codeExecutionResult.outcome) ?? '';
    const output = toNonEmptyString(part.codeExecutionResult.output) ?? '';
    return { kind: 'result', ok: outcome === 'OUTCOME_OK', outcome, output };
  }
  return undefined;
}

/** Fields that describe a part but are not its content, and those that are only sent back. */
const ABOUT = /^thought|Metadata$|^media(?:Resolution|Processing)$|^tool(?:Call|Response)$/;

function countKinds(part: Part, kinds: Map<string, number>): void {
  for (const [key, value] of Object.entries(part)) {
    if (value !== null && !ABOUT.test(key)) kinds.set(key, (kinds.get(key) ?? 0) + 1);
  }
}

/** Holds back a lone surrogate until its other half arrives; one that stays alone becomes U+FFFD. */
function createJoiner() {
  let held = '';
  return {
    push(text: string): string {
      const joined = held + text;
      const last = joined.charCodeAt(joined.length - 1);
      held = last >= 0xd800 && last <= 0xdbff ? joined.slice(-1) : '';
      return joined.slice(0, joined.length - held.length).toWellFormed();
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

export function replyMeter(limits: ReplyLimits = LIMITS) {
  let text = 0;
  let other = 0;
  const value = (added: unknown): AppError | undefined => {
    const { size, isDeep } = measureValue(added, limits);
    other += size;
    if (isDeep) return limitError(`the answer contains values nested more than ${limits.nesting} deep`);
    return other > limits.other
      ? limitError(`the answer contains more than ${formatMegabytes(limits.other)} besides its text`)
      : undefined;
  };
  return {
    /** The AppError `limit` if it exceeds a limit. */
    part(part: Part): AppError | undefined {
      if (!('text' in part) || typeof part.text !== 'string') return value(part);
      text += Buffer.byteLength(part.text);
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
function measureValue(value: unknown, limits: ReplyLimits): { readonly size: number; readonly isDeep: boolean } {
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
  content(): Content | undefined;
}

/**
 * Collects every part unchanged and in order. Joins neighbouring texts only if nothing is lost: neither has a key
 * besides `text` and `thought`, and `thought` is the same. Drops the whole reply once it exceeds `limit` characters.
 */
export function createContentCollector(limit: number, { dropsThoughts = false } = {}): ContentCollector {
  let parts: Part[] | undefined = [];
  let length = 0;
  return {
    add(part) {
      if (dropsThoughts && 'text' in part && part.thought === true) return;
      length += measurePart(part);
      if (length > limit) parts = undefined;
      if (parts === undefined) return;
      const last = parts.at(-1);
      if (last && isPlainText(last) && isPlainText(part) && last.thought === part.thought) {
        parts.splice(-1, 1, { ...last, text: last.text + part.text });
      } else parts.push(part);
    },
    content: () => parts && { role: 'model', parts },
  };
}

type PlainPart = Extract<Part, { text: string }>;

/** Without media and signatures, which may be longer than any answer: `ReplyLimits.other` applies to them. */
function measurePart(part: Part): number {
  if ('text' in part && typeof part.text === 'string') return part.text.length;
  const { thoughtSignature: _, ...unsigned } = part as { readonly thoughtSignature?: string };
  if (!('inlineData' in part) || !isInlineData(part.inlineData)) return JSON.stringify(unsigned).length;
  const { inlineData: __, ...rest } = unsigned as Partial<MediaPart>;
  return JSON.stringify(rest).length;
}

function isPlainText(part: Part): part is PlainPart {
  return 'text' in part && typeof part.text === 'string' && !hasMoreThanText(part);
}

function hasMoreThanText(part: Part): boolean {
  for (const key in part) if (key !== 'text' && key !== 'thought') return true;
  return false;
}

function createUsageCounter() {
  let before: Usage = NO_USAGE;
  let promptTokens: number | undefined;
  let usage: MutableUsage = {};
  let detailsBefore: UsageDetails = {};
  let details: MutableDetails = {};
  let serviceTier: string | undefined;
  return {
    /** Within a connection, the latest counts are the totals. What is left out beside a total is zero if the others make it up. */
    take(metadata: Readonly<Record<string, unknown>>) {
      if (isCount(metadata.promptTokenCount) && isCount(metadata.totalTokenCount) && countUnnamed(metadata) === 0) {
        usage = {};
        details = {};
      }
      // The service may have continued by itself: `promptTokenCount` then counts what had come before as well.
      if (isCount(metadata.initialPromptTokenCount)) promptTokens ??= metadata.initialPromptTokenCount;
      updateUsage(usage, metadata);
      updateDetails(details, metadata);
      serviceTier = parseServedTier(metadata.serviceTier ?? metadata.trafficType) ?? serviceTier;
    },
    /** The reply continues on another connection, whose counts are added. */
    resume() {
      promptTokens ??= usage.promptTokenCount;
      before = addUsage(before, usage);
      usage = {};
      detailsBefore = joinDetails(detailsBefore, details);
      details = {};
    },
    fields: () => ({
      usage: addUsage(before, usage),
      promptTokens,
      details: findOtherModalities(joinDetails(detailsBefore, details)),
      serviceTier,
    }),
    /** The counts of this connection alone; undefined if there are none. */
    latest: () =>
      Object.keys(usage).length === 0
        ? undefined
        : { usage: { ...usage }, details: findOtherModalities(details), serviceTier },
  };
}

type MutableUsage = { -readonly [Key in keyof Usage]: Usage[Key] };

function updateUsage(usage: MutableUsage, metadata: Readonly<Record<string, unknown>>): void {
  for (const key of USAGE_KEYS) {
    const count = metadata[key];
    if (isCount(count)) usage[key] = count;
  }
}

type MutableDetails = { -readonly [Key in keyof UsageDetails]: UsageDetails[Key] };

function updateDetails(details: MutableDetails, metadata: Readonly<Record<string, unknown>>): void {
  for (const key of DETAIL_KEYS) {
    const counts = metadata[key];
    if (Array.isArray(counts)) details[key] = counts;
  }
}

function joinDetails(left: UsageDetails, right: UsageDetails): UsageDetails {
  const joined: MutableDetails = { ...left };
  for (const key of DETAIL_KEYS) {
    const counts = right[key];
    if (counts !== undefined) joined[key] = [...(left[key] ?? []), ...counts];
  }
  return joined;
}

/**
 * The tier that the service names in a header or beside the counts: `standard`, `SERVICE_TIER_STANDARD`, or on Vertex AI
 * `ON_DEMAND`; `ON_DEMAND_FLEX` is `flex`. Provisioned throughput has no price per token. The server chooses the text, so
 * only what looks like a tier is quoted.
 */
export function parseServedTier(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const tier = value
    .toLowerCase()
    .replace(/^on_demand$/, 'standard')
    .replace(/^(?:service_tier|on_demand|traffic_type)_/, '');
  if (tier === '' || tier === 'unspecified') return undefined;
  return /^[a-z_-]{1,30}$/.test(tier) ? tier : 'unknown';
}

/** Most replies are text alone, which needs no details. */
function findOtherModalities(details: UsageDetails): UsageDetails | undefined {
  const isOther = (count: unknown): boolean => isObject(count) && count.modality !== 'TEXT';
  return DETAIL_KEYS.some((key) => details[key]?.some(isOther)) ? details : undefined;
}
