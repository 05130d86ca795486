import type { Part } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import type { PageStep } from '../core/event.ts';
import { filterObjects, isObject, type JsonObject, toJsonObject, toNonEmptyString } from '../core/json.ts';

/** One streamed GenerateContentResponse, first candidate only. */
export interface Chunk {
  /** The original objects, unknown fields included. */
  readonly parts: readonly Part[];
  readonly finishReason?: string;
  readonly finishMessage?: string;
  /** Its counts are not checked. */
  readonly usageMetadata?: Readonly<Record<string, unknown>>;
  readonly modelVersion?: string;
  /** Why the prompt was refused: the reason, the service's own words and the categories that it found unsafe. */
  readonly block?: string;
  readonly error?: unknown;
  readonly otherCandidates: number;
  /** The same request with this token continues after this chunk. */
  readonly continuationToken?: string;
  readonly grounding?: JsonObject;
  /** Published texts that the answer repeats. */
  readonly citations?: readonly JsonObject[];
  readonly pages?: readonly PageStep[];
}

const NO_PARTS: readonly Part[] = [];

/** Skips unreadable fields that do not carry the answer. Throws AppError `api` if text or calls may be hidden there. */
export function parseChunk(value: unknown): Chunk {
  if (!isObject(value)) throw malformedReplyError('not an object');
  if (value.error !== undefined && value.error !== null) {
    return { parts: NO_PARTS, otherCandidates: 0, error: value };
  }
  const { candidate, others } = parseCandidates(value.candidates);
  return {
    parts: parseParts(candidate.content),
    otherCandidates: others,
    finishReason: toReason(candidate.finishReason, FINISH_REASONS),
    finishMessage: findFinishMessage(candidate),
    modelVersion: toNonEmptyString(value.modelVersion),
    block: isObject(value.promptFeedback) ? findBlock(value.promptFeedback) : undefined,
    usageMetadata: isObject(value.usageMetadata) ? value.usageMetadata : undefined,
    continuationToken: tryParseToken(candidate.continuationToken),
    grounding: isObject(candidate.groundingMetadata) ? toJsonObject(candidate.groundingMetadata) : undefined,
    citations: isObject(candidate.citationMetadata) ? parseCitations(candidate.citationMetadata) : undefined,
    pages: isObject(candidate.urlContextMetadata) ? parsePages(candidate.urlContextMetadata.urlMetadata) : undefined,
  };
}

/** In the order of their numbers, as far as Gemini API and Vertex AI agree on them. */
const FINISH_REASONS: readonly string[] = ['', 'STOP', 'MAX_TOKENS', 'SAFETY', 'RECITATION', 'OTHER'];
const BLOCK_REASONS: readonly string[] = ['', 'SAFETY', 'OTHER', 'BLOCKLIST', 'PROHIBITED_CONTENT'];

/** Some gateways write `FINISH_REASON_UNSPECIFIED` into every chunk but the last; others ask for numbers. */
function toReason(value: unknown, names: readonly string[]): string | undefined {
  const reason = toNonEmptyString(typeof value === 'number' ? (names[value] ?? `reason ${value}`) : value);
  return reason?.endsWith('_UNSPECIFIED') ? undefined : reason;
}

type Fields = Readonly<Record<string, unknown>>;

function findBlock({ blockReason, blockReasonMessage, safetyRatings }: Fields): string | undefined {
  const why = joinTexts(toReason(blockReason, BLOCK_REASONS), toNonEmptyString(blockReasonMessage));
  return why && joinTexts(why, formatUnsafe(safetyRatings));
}

/** Ratings come with every chunk; they matter only in the one that says why the answer was stopped. */
function findFinishMessage({ finishMessage, finishReason, safetyRatings }: Fields): string | undefined {
  const message = toNonEmptyString(finishMessage);
  const reason = toReason(finishReason, FINISH_REASONS);
  return reason === undefined || reason === 'STOP' ? message : joinTexts(message, formatUnsafe(safetyRatings));
}

function joinTexts(...texts: readonly (string | undefined)[]): string | undefined {
  return texts.filter(Boolean).join(': ') || undefined;
}

/** All categories that were rated unsafe; empty if there are none. */
function formatUnsafe(ratings: unknown): string {
  return filterObjects(ratings)
    .filter(({ blocked, probability }) => blocked === true || probability === 'HIGH' || probability === 'MEDIUM')
    .map(({ category, probability }) => `${category} ${probability ?? ''}`.trimEnd())
    .join(', ');
}

/** The first candidate, without any fields if there is none, and how many others there are. */
function parseCandidates(value: unknown): { readonly candidate: Fields; readonly others: number } {
  if (value === undefined || value === null) return { candidate: {}, others: 0 };
  if (!Array.isArray(value)) throw malformedReplyError('candidates is not a list');
  let first: Fields | undefined;
  for (const entry of value) {
    if (!isObject(entry)) throw malformedReplyError('a candidate is not an object');
    // A chunk may hold only another candidate, whose text must not be mixed with the first one's.
    if ((entry.index ?? 0) === 0) first ??= entry;
  }
  return { candidate: first ?? {}, others: value.length - (first === undefined ? 0 : 1) };
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

/** The Gemini API and Vertex AI name the list differently. */
function parseCitations({ citationSources, citations }: Fields): readonly JsonObject[] {
  // The values come from JSON.parse.
  return filterObjects(citationSources ?? citations) as readonly JsonObject[];
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
