import type { Part } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { PageStep } from '../core/event.ts';
import { filterObjects, isObject, type JsonObject, toNonEmptyString } from '../core/json.ts';

/** One streamed GenerateContentResponse, first candidate only. */
export interface Chunk {
  /** The original objects, unknown fields included. */
  readonly parts: readonly Part[];
  readonly finishReason?: string | undefined;
  readonly finishMessage?: string | undefined;
  /** Its counts are not checked. */
  readonly usageMetadata?: Readonly<Record<string, unknown>> | undefined;
  readonly modelVersion?: string | undefined;
  readonly blockReason?: string | undefined;
  readonly error?: unknown;
  readonly otherCandidates: number;
  /** The same request with this token continues after this chunk. */
  readonly continuationToken?: string | undefined;
  readonly grounding?: JsonObject | undefined;
  readonly pages?: readonly PageStep[] | undefined;
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
    continuationToken: tryParseToken(candidate?.continuationToken),
    grounding: tryParseGrounding(candidate?.groundingMetadata),
    pages: isObject(candidate?.urlContextMetadata) ? parsePages(candidate.urlContextMetadata.urlMetadata) : undefined,
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
function tryParseToken(value: unknown): string | undefined {
  const token = toNonEmptyString(value);
  return token !== undefined && token.length <= MAX_TOKEN_LENGTH ? token : undefined;
}

function tryParseGrounding(value: unknown): JsonObject | undefined {
  // The value comes from JSON.parse.
  return isObject(value) ? (value as JsonObject) : undefined;
}

function parsePages(value: unknown): readonly PageStep[] {
  return filterObjects(value).flatMap(({ retrievedUrl, urlRetrievalStatus }) => {
    const url = toNonEmptyString(retrievedUrl);
    const status = (toNonEmptyString(urlRetrievalStatus) ?? '').replace(/^URL_RETRIEVAL_STATUS_/, '');
    return url === undefined ? [] : [{ kind: 'page', url, ok: status === 'SUCCESS', status }];
  });
}

function malformedReplyError(what: string): AppError {
  return new AppError('api', `the answer was cut short: malformed event from the server (${what})`, {
    hint: 'Send the prompt again. If this keeps happening, the server does not speak the Gemini API.',
    retry: {},
  });
}
