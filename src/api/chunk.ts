import type { Part } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import { isObject, type JsonObject, stringOf } from '../core/json.ts';
import { USAGE_KEYS, type Usage } from '../core/usage.ts';

/** What one streamed GenerateContentResponse says, of the first candidate only. */
export interface Chunk {
  /** As they came: the same objects, with every field we do not know. */
  readonly parts: readonly Part[];
  readonly finishReason?: string | undefined;
  readonly finishMessage?: string | undefined;
  readonly usage?: Usage | undefined;
  readonly modelVersion?: string | undefined;
  /** Why the prompt was refused. */
  readonly blockReason?: string | undefined;
  /** An error the server reported inside the stream: the body of a failed call. */
  readonly error?: unknown;
  readonly otherCandidates: number;
  /** Where the model searched, what it found. */
  readonly grounding?: JsonObject | undefined;
}

const NO_PARTS: readonly Part[] = [];

/**
 * Reads one event's JSON. Fields that cannot be read and do not carry the answer are left out.
 * Throws AppError `api` if the shape hides text or calls.
 */
export function parseChunk(value: unknown): Chunk {
  if (!isObject(value)) throw malformed('not an object');
  if (value.error !== undefined && value.error !== null) {
    return { parts: NO_PARTS, otherCandidates: 0, error: value };
  }
  const { candidate, others } = parseCandidates(value.candidates);
  const feedback = isObject(value.promptFeedback) ? value.promptFeedback.blockReason : undefined;
  return {
    parts: parseParts(candidate?.content),
    otherCandidates: others,
    finishReason: stringOf(candidate?.finishReason),
    finishMessage: stringOf(candidate?.finishMessage),
    modelVersion: stringOf(value.modelVersion),
    blockReason: stringOf(feedback),
    usage: isObject(value.usageMetadata) ? parseUsage(value.usageMetadata) : undefined,
    grounding: parseGrounding(candidate?.groundingMetadata),
  };
}

function parseCandidates(value: unknown): {
  readonly candidate: Readonly<Record<string, unknown>> | undefined;
  readonly others: number;
} {
  if (value === undefined || value === null) return { candidate: undefined, others: 0 };
  if (!Array.isArray(value)) throw malformed('candidates is not a list');
  if (!value.every(isObject)) throw malformed('a candidate is not an object');
  // A chunk may carry another candidate alone; its text must not be mixed into the first one's.
  const candidate = value.find((entry) => (entry.index ?? 0) === 0);
  return { candidate, others: value.length - (candidate === undefined ? 0 : 1) };
}

function parseParts(content: unknown): readonly Part[] {
  if (content === undefined || content === null) return NO_PARTS;
  if (!isObject(content)) throw malformed('content is not an object');
  const parts: unknown = content.parts;
  if (parts === undefined || parts === null) return NO_PARTS;
  if (!Array.isArray(parts)) throw malformed('parts is not a list');
  for (const part of parts) checkPart(part);
  return parts as readonly Part[];
}

function checkPart(part: unknown): void {
  if (!isObject(part)) throw malformed('a part is not an object');
  const { text, functionCall } = part;
  if (text !== undefined && text !== null && typeof text !== 'string') throw malformed('a text is not a string');
  if (functionCall !== undefined && functionCall !== null && !isObject(functionCall)) {
    throw malformed('a function call is not an object');
  }
}

function parseGrounding(value: unknown): JsonObject | undefined {
  // Everything here was made by JSON.parse.
  return isObject(value) ? (value as JsonObject) : undefined;
}

function parseUsage(value: Readonly<Record<string, unknown>>): Usage {
  const usage: { -readonly [Key in keyof Usage]: Usage[Key] } = {};
  for (const key of USAGE_KEYS) {
    const count = value[key];
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) usage[key] = count;
  }
  return usage;
}

function malformed(what: string): AppError {
  return new AppError('api', `the answer was cut short: malformed event from the server (${what})`, {
    hint: 'Send the prompt again. If it stays, the server does not speak the Gemini API.',
    retry: {},
  });
}
