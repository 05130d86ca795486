import type { Clock } from '../core/io.ts';
import type { JsonObject } from '../core/json.ts';
import { estimateTokens, MEDIA_TOKENS } from '../core/usage.ts';
import type { Answer, Chunk } from './answer.ts';
import { type DemoRequest, isMedia, joinPartTexts } from './request.ts';
import { isThirdFamily } from './rules.ts';
import { toUrlMetadata } from './service.ts';

interface ReplyContext {
  readonly request: DemoRequest;
  readonly modelVersion: string;
  readonly responseId: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly sign: (call: JsonObject) => string;
}

interface Counts {
  readonly prompt: number;
  readonly candidates: number;
  readonly thoughts: number;
}

export function countPromptTokens(request: DemoRequest): number {
  const parts = request.contents.flatMap((content) => content.parts);
  const counts = parts.map((part) => {
    if (isMedia(part)) return MEDIA_TOKENS;
    return estimateTokens(joinPartTexts([part]) || JSON.stringify(part.functionCall ?? part.functionResponse ?? ''));
  });
  return counts.reduce((sum, count) => sum + count, estimateTokens(request.systemText)) || 1;
}

export function checkLength(request: DemoRequest, window: number): string | undefined {
  const count = countPromptTokens(request) + estimateTokens(JSON.stringify([...request.tools]));
  if (count <= window) return undefined;
  return `The input token count (${count}) exceeds the maximum number of tokens allowed (${window}).`;
}

/** Counts grow from one response to the next; the last has the finish reason. */
export async function* streamResponses(answer: Answer, context: ReplyContext): AsyncGenerator<JsonObject, void> {
  const { generationConfig, model } = context.request;
  const limit = typeof generationConfig.maxOutputTokens === 'number' ? generationConfig.maxOutputTokens : Infinity;
  const prompt = answer.usage?.[0] ?? countPromptTokens(context.request);
  let counts: Counts = { prompt, candidates: 0, thoughts: 0 };
  let held: Chunk | undefined;
  let isOver = false;
  const isLimited = answer.isUnlimited !== true;
  for (const chunk of answer.chunks) {
    if (held !== undefined)
      yield createResponse({ chunk: held, context, counts: answer.isCountedLate ? undefined : counts });
    if (chunk.pauseMs !== undefined) await context.clock.sleep(chunk.pauseMs, context.signal);
    const cost = countChunk(chunk);
    isOver = isLimited && counts.candidates + cost.candidates > limit;
    held = isOver ? shortenChunk(chunk, limit - counts.candidates) : chunk;
    const candidates = isOver ? limit : counts.candidates + cost.candidates;
    counts = { prompt, candidates, thoughts: counts.thoughts + (isOver || answer.usage ? 0 : cost.thoughts) };
    if (isOver) break;
  }
  const fixed = answer.usage?.[1];
  if (fixed !== undefined && !isOver) counts = { ...counts, candidates: fixed };
  const last = held ?? { parts: [] };
  const hasText = last.parts.some((part) => typeof part.text === 'string');
  // Gemini 3 models sign their text with an empty part at the end.
  const parts = isThirdFamily(model) && hasText ? [...last.parts, signText(context)] : last.parts;
  yield createResponse({ chunk: { parts }, context, counts, finishReason: isOver ? 'MAX_TOKENS' : 'STOP' });
}

function signText({ sign, responseId }: ReplyContext): JsonObject {
  return { text: '', thoughtSignature: sign({ name: 'text', args: { responseId } }) };
}

const SEARCH_RESULT = {
  webSearchQueries: ['demo'],
  groundingChunks: [{ web: { uri: 'https://example.com/', title: 'example.com' } }],
};

function createResponse(given: {
  readonly chunk: Chunk;
  readonly context: ReplyContext;
  readonly counts: Counts | undefined;
  readonly finishReason?: string;
}): JsonObject {
  const { chunk, context, counts, finishReason } = given;
  const content = { parts: chunk.parts, role: 'model' };
  const ending = {
    content,
    finishReason,
    index: 0,
    groundingMetadata: context.request.hasSearch ? SEARCH_RESULT : undefined,
    urlContextMetadata: context.request.hasUrlContext ? toUrlMetadata(context.request) : undefined,
  };
  const candidate = finishReason === undefined ? { content, index: 0 } : ending;
  return {
    candidates: [candidate],
    usageMetadata: counts && toUsageMetadata(counts),
    modelVersion: context.modelVersion,
    responseId: context.responseId,
  };
}

function toUsageMetadata({ prompt, candidates, thoughts }: Counts): JsonObject {
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    totalTokenCount: prompt + candidates + thoughts,
    thoughtsTokenCount: thoughts || undefined,
  };
}

/** The API counts this many tokens for a picture that a model made. */
const PICTURE_TOKENS = 1290;

function countChunk(chunk: Chunk): Omit<Counts, 'prompt'> {
  let candidates = 0;
  let thoughts = 0;
  for (const part of chunk.parts) {
    if (isMedia(part)) {
      candidates += PICTURE_TOKENS;
      continue;
    }
    const text = typeof part.text === 'string' ? part.text : JSON.stringify(part.functionCall ?? '');
    if (part.thought === true) thoughts += estimateTokens(text);
    else candidates += estimateTokens(text);
  }
  return { candidates, thoughts };
}

function shortenChunk(chunk: Chunk, tokens: number): Chunk {
  const parts = chunk.parts.map((part) => {
    if (typeof part.text !== 'string') return part;
    let text = '';
    for (const character of part.text) {
      if (estimateTokens(text + character) > tokens) break;
      text += character;
    }
    return { ...part, text };
  });
  return { parts };
}
