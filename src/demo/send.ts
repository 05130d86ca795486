import { waitForAbort } from '../core/async.ts';
import type { Clock } from '../core/io.ts';
import { isObject, type JsonObject, toJsonObject } from '../core/json.ts';
import type { RequestHead, ServedReply } from '../platform/http/server.ts';
import { type DemoFault, type FaultBook, type FaultName, findAmount } from './fault.ts';
import type { ErrorResponse } from './google-error.ts';

const SSE_HEADERS = { 'content-type': 'text/event-stream' };
const JSON_HEADERS = { 'content-type': 'application/json; charset=UTF-8' };
const GARBAGE = '{"candidates": [{"content": {"parts": [{"text": ';

export type StreamFormat = 'sse' | 'array' | 'object';

export function toStreamFormat({ path, query }: RequestHead): StreamFormat {
  if (!path.endsWith(':streamGenerateContent')) return 'object';
  return query.get('alt') === 'sse' ? 'sse' : 'array';
}

/** Indented, as Google's servers do it. */
export function sendJson(reply: ServedReply, body: JsonObject): void {
  reply.send(200, JSON_HEADERS, `${JSON.stringify(body, undefined, 2)}\n`);
}

/** A stream in array form wraps the error in an array. */
export function sendError(reply: ServedReply, error: ErrorResponse, format: StreamFormat = 'object'): void {
  const body = format === 'array' ? [error.body] : error.body;
  reply.send(error.status, { ...JSON_HEADERS, ...error.headers }, `${JSON.stringify(body, undefined, 2)}\n`);
}

interface OutgoingReply {
  readonly frames: AsyncIterable<Frame>;
  readonly format: StreamFormat;
  readonly wrap: (response: JsonObject) => JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function sendReply(reply: ServedReply, outgoing: OutgoingReply): Promise<void> {
  if (outgoing.format === 'object') return sendObject(reply, outgoing);
  const isSse = outgoing.format === 'sse';
  reply.begin(200, { ...(isSse ? SSE_HEADERS : JSON_HEADERS), ...outgoing.headers });
  const formatPrefix = (index: number) => (isSse ? 'data: ' : index === 0 ? '[' : ',\r\n');
  const after = isSse ? '\r\n\r\n' : '';
  let index = 0;
  for await (const frame of outgoing.frames) {
    if (frame.kind === 'hang') return waitForAbort(reply.signal);
    const text = frame.kind === 'garbage' ? GARBAGE : JSON.stringify(outgoing.wrap(frame.value));
    if (frame.kind === 'cut') {
      await reply.write(formatPrefix(index) + text.slice(0, text.length / 2));
      return reply.cut();
    }
    await reply.write(formatPrefix(index) + text + after);
    index += 1;
  }
  if (!isSse) await reply.write(index === 0 ? '[]' : ']');
  reply.end();
}

async function sendObject(reply: ServedReply, { frames, wrap, headers }: OutgoingReply): Promise<void> {
  const events: JsonObject[] = [];
  let fault: Frame['kind'] | undefined;
  for await (const frame of frames) {
    if (frame.kind === 'hang') return waitForAbort(reply.signal);
    if (frame.kind !== 'event') fault = frame.kind;
    if (frame.kind === 'event' || frame.kind === 'cut') events.push(frame.value);
  }
  const body = `${JSON.stringify(wrap(joinEvents(events)), undefined, 2)}\n`;
  if (fault === 'garbage') return reply.send(200, JSON_HEADERS, GARBAGE);
  if (fault === undefined) return reply.send(200, { ...JSON_HEADERS, ...headers }, body);
  reply.begin(200, JSON_HEADERS);
  await reply.write(body.slice(0, body.length / 2));
  reply.cut();
}

/** `cut` is half an event and a disconnect; `hang` is endless silence. */
type Frame =
  | { readonly kind: 'event'; readonly value: JsonObject }
  | { readonly kind: 'garbage' }
  | { readonly kind: 'cut'; readonly value: JsonObject }
  | { readonly kind: 'hang' };

const STREAM_FAULTS: readonly FaultName[] = [
  'empty',
  'safety',
  'blocked',
  'malformed-call',
  'image-safety',
  'no-image',
  'max-tokens',
  'no-finish',
  'checkpoint',
  'continuation',
  'slow',
  'garbage',
  'cut-after',
  'hang-after',
];

export function takeStreamFaults(book: FaultBook): readonly DemoFault[] {
  return STREAM_FAULTS.flatMap((name) => book.take([name]) ?? []);
}

interface Timing {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export async function* applyFaults(
  events: AsyncIterable<JsonObject>,
  faults: readonly DemoFault[],
  timing: Timing,
): AsyncGenerator<Frame, void> {
  if (faults.length === 0) {
    // Sends each event at once, without waiting to see whether it is the last.
    for await (const value of events) yield { kind: 'event', value };
    return;
  }
  const cutAfter = findAmount(faults, 'cut-after');
  const hangAfter = findAmount(faults, 'hang-after');
  const slowMs = findAmount(faults, 'slow');
  const isGarbled = faults.some(({ name }) => name === 'garbage');
  let sent = 0;
  for await (const { value, isLast } of markLast(replaceEvents(events, faults))) {
    if (sent === hangAfter) yield { kind: 'hang' };
    if (slowMs !== undefined) await timing.clock.sleep(slowMs, timing.signal);
    // A shorter answer is cut in its last event, or the fault would have no effect.
    if (cutAfter !== undefined && (sent === cutAfter || isLast)) {
      yield { kind: 'cut', value };
      return;
    }
    // Never after the last event: a client may stop reading there.
    if (isGarbled && (sent === 1 || (sent === 0 && isLast))) yield { kind: 'garbage' };
    yield { kind: 'event', value };
    sent += 1;
  }
  if (sent === hangAfter) yield { kind: 'hang' };
}

export async function* markLast<T>(
  items: AsyncIterable<T>,
): AsyncGenerator<{ readonly value: T; readonly isLast: boolean }> {
  let held: { readonly value: T } | undefined;
  for await (const value of items) {
    if (held !== undefined) yield { ...held, isLast: false };
    held = { value };
  }
  if (held !== undefined) yield { ...held, isLast: true };
}

async function* replaceEvents(
  events: AsyncIterable<JsonObject>,
  faults: readonly DemoFault[],
): AsyncGenerator<JsonObject> {
  const names = new Set(faults.map(({ name }) => name));
  const fault = REPLACEMENTS.find((name) => names.has(name));
  for await (const event of events) {
    if (fault !== undefined) {
      yield replacementEvent(event, fault);
      return;
    }
    if (names.has('max-tokens') && hasText(event)) {
      yield setFinishReason(event, 'MAX_TOKENS');
      return;
    }
    yield names.has('no-finish') ? setFinishReason(event, undefined) : event;
  }
}

const REPLACEMENTS = ['empty', 'safety', 'blocked', 'malformed-call', 'image-safety', 'no-image'] as const;

type Replacement = (typeof REPLACEMENTS)[number];

function replacementEvent(event: JsonObject, fault: Replacement): JsonObject {
  const { candidates: _candidates, usageMetadata, ...rest } = event;
  const prompt = toJsonObject(usageMetadata).promptTokenCount ?? 0;
  const counted = { ...rest, usageMetadata: { promptTokenCount: prompt, totalTokenCount: prompt } };
  const rating = { category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'HIGH', blocked: true };
  switch (fault) {
    case 'empty':
      return { candidates: [{ content: { role: 'model' }, finishReason: 'STOP', index: 0 }], ...counted };
    case 'safety':
      return { candidates: [{ finishReason: 'SAFETY', index: 0, safetyRatings: [rating] }], ...counted };
    case 'blocked':
      return { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, ...counted };
    case 'image-safety': {
      const finishMessage = 'The picture was filtered out.';
      return { candidates: [{ finishReason: 'IMAGE_SAFETY', finishMessage, index: 0 }], ...counted };
    }
    case 'no-image':
      return { candidates: [{ finishReason: 'NO_IMAGE', index: 0 }], ...counted };
    case 'malformed-call': {
      const finishMessage = 'Malformed function call: print(default_api.demo(';
      return { candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage, index: 0 }], ...counted };
    }
  }
}

export function findFirstCandidate(event: JsonObject): JsonObject {
  return Array.isArray(event.candidates) ? toJsonObject(event.candidates[0]) : {};
}

function listEventParts(event: JsonObject): readonly JsonObject[] {
  const { parts } = toJsonObject(findFirstCandidate(event).content);
  return Array.isArray(parts) ? parts.map(toJsonObject) : [];
}

function hasText(event: JsonObject): boolean {
  return listEventParts(event).some((part) => typeof part.text === 'string' && part.thought !== true);
}

function setFinishReason(event: JsonObject, finishReason: string | undefined): JsonObject {
  const { finishReason: _dropped, ...rest } = findFirstCandidate(event);
  return { ...event, candidates: [finishReason === undefined ? rest : { ...rest, finishReason }] };
}

/** One response with the parts of all events, as `generateContent` gives it. */
export function joinEvents(events: readonly JsonObject[]): JsonObject {
  const last = events.at(-1) ?? {};
  const parts: JsonObject[] = [];
  for (const part of events.flatMap(listEventParts)) {
    const before = parts.at(-1);
    const joins =
      isUnsignedText(part) && before !== undefined && isUnsignedText(before) && part.thought === before.thought;
    if (joins) parts[parts.length - 1] = { ...before, text: `${String(before.text)}${String(part.text)}` };
    else parts.push(part);
  }
  const end = findFirstCandidate(last);
  if (parts.length === 0 || !isObject(end.content)) return last;
  return { ...last, candidates: [{ ...end, content: { parts, role: 'model' } }] };
}

function isUnsignedText(part: JsonObject): boolean {
  return typeof part.text === 'string' && part.thoughtSignature === undefined;
}
