import { canonicalJson, type JsonObject, toJsonObject } from '../core/json.ts';
import { hashHex } from './embed.ts';
import { type DemoFault, findAmount } from './fault.ts';
import type { Parsed } from './request.ts';
import { findFirstCandidate, markLast } from './send.ts';

interface Continuation {
  readonly from: number;
  readonly createToken: (index: number) => string;
}

/** A token is valid only with the request that it was issued for. */
export function parseContinuation(body: JsonObject): Parsed<Continuation> {
  const { continuationToken: token, ...request } = body;
  const digest = hashHex(canonicalJson(request));
  const createToken = (index: number): string => Buffer.from(`${index}.${digest}`).toString('base64');
  if (token === undefined) return { ok: true, value: { from: 0, createToken } };
  const from = Number.parseInt(Buffer.from(String(token), 'base64').toString(), 10);
  if (from > 0 && token === createToken(from)) return { ok: true, value: { from, createToken } };
  return { ok: false, message: 'The continuation token is not valid for this request.' };
}

/** `checkpoint` puts a token in every n-th event; `continuation` stops at the n-th. Tokens are counted for each connection. */
export async function* continueEvents(
  events: AsyncIterable<JsonObject>,
  { from, createToken }: Continuation,
  faults: readonly DemoFault[],
): AsyncGenerator<JsonObject> {
  const checkpoint = findAmount(faults, 'checkpoint');
  const continuation = findAmount(faults, 'continuation');
  let index = 0;
  let earlier: JsonObject = {};
  for await (const { value, isLast } of markLast(events)) {
    index += 1;
    if (index <= from) {
      earlier = toJsonObject(value.usageMetadata);
      continue;
    }
    const event = from === 0 ? value : subtractUsage(value, earlier);
    const isBreak = continuation !== undefined && index - from >= Math.max(continuation, 1) && !isLast;
    const hasToken = isBreak || (checkpoint !== undefined && index % Math.max(checkpoint, 1) === 0 && !isLast);
    yield hasToken ? addToken(event, createToken(index), isBreak ? { finishReason: 'CONTINUATION' } : {}) : event;
    if (isBreak) return;
  }
}

function addToken(event: JsonObject, continuationToken: string, ending: JsonObject): JsonObject {
  return { ...event, candidates: [{ ...findFirstCandidate(event), ...ending, continuationToken }] };
}

function subtractUsage(event: JsonObject, earlier: JsonObject): JsonObject {
  const { candidatesTokenCount, totalTokenCount, ...rest } = toJsonObject(event.usageMetadata);
  if (typeof candidatesTokenCount !== 'number' || typeof totalTokenCount !== 'number') return event;
  const before = Number(earlier.candidatesTokenCount ?? 0);
  const counts = { candidatesTokenCount: candidatesTokenCount - before, totalTokenCount: totalTokenCount - before };
  return { ...event, usageMetadata: { ...rest, ...counts } };
}
