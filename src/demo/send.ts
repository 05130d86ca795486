import type { JsonObject } from '../core/json.ts';
import type { ServedReply } from '../platform/http/server.ts';
import type { Outcome, Refusal } from './google-error.ts';
import { type Frame, joined } from './shape.ts';

const JSON_HEADERS = { 'content-type': 'application/json; charset=UTF-8' };
const GARBAGE = '{"candidates": [{"content": {"parts": [{"text": ';

/** How an answer goes out: server-sent events, a JSON array as it grows, or one object. */
export type Carrier = 'sse' | 'array' | 'object';

/** Sends a JSON document, indented as Google's servers do. */
export function sendJson(reply: ServedReply, body: JsonObject): void {
  reply.send(200, JSON_HEADERS, `${JSON.stringify(body, undefined, 2)}\n`);
}

/** Sends a refusal; a stream of an array wraps it in one. */
export function sendRefusal(reply: ServedReply, refusal: Refusal, carrier: Carrier = 'object'): void {
  const body = carrier === 'array' ? [refusal.body] : refusal.body;
  reply.send(refusal.status, { ...JSON_HEADERS, ...refusal.headers }, `${JSON.stringify(body, undefined, 2)}\n`);
}

/** Sends a document or a refusal. */
export function sendOutcome(reply: ServedReply, outcome: Outcome): void {
  if (outcome.ok) sendJson(reply, outcome.body);
  else sendRefusal(reply, outcome.refusal);
}

/** Resolves when the client has gone, never before. */
export function untilGone(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

export interface Shipment {
  readonly frames: AsyncIterable<Frame>;
  readonly carrier: Carrier;
  /** Puts a response in the envelope of its service. */
  readonly wrap: (response: JsonObject) => JsonObject;
}

/** Sends an answer, waiting for the client to read. Rejects with the reply's abort reason if the client leaves. */
export async function ship(reply: ServedReply, shipment: Shipment): Promise<void> {
  if (shipment.carrier === 'object') return shipObject(reply, shipment);
  const isSse = shipment.carrier === 'sse';
  reply.begin(200, isSse ? { 'content-type': 'text/event-stream' } : JSON_HEADERS);
  const before = (index: number) => (isSse ? 'data: ' : index === 0 ? '[' : ',\r\n');
  const after = isSse ? '\r\n\r\n' : '';
  let index = 0;
  for await (const frame of shipment.frames) {
    if (frame.kind === 'hang') return untilGone(reply.signal);
    const text = frame.kind === 'garbage' ? GARBAGE : JSON.stringify(shipment.wrap(frame.value));
    if (frame.kind === 'cut') {
      await reply.write(before(index) + text.slice(0, text.length / 2));
      return reply.cut();
    }
    await reply.write(before(index) + text + after);
    index += 1;
  }
  if (!isSse) await reply.write(index === 0 ? '[]' : ']');
  reply.end();
}

async function shipObject(reply: ServedReply, { frames, wrap }: Shipment): Promise<void> {
  const events: JsonObject[] = [];
  let fault: Frame['kind'] | undefined;
  for await (const frame of frames) {
    if (frame.kind === 'hang') return untilGone(reply.signal);
    if (frame.kind !== 'event') fault = frame.kind;
    if (frame.kind === 'event' || frame.kind === 'cut') events.push(frame.value);
  }
  const body = `${JSON.stringify(wrap(joined(events)), undefined, 2)}\n`;
  if (fault === 'garbage') return reply.send(200, JSON_HEADERS, GARBAGE);
  if (fault === undefined) return reply.send(200, JSON_HEADERS, body);
  reply.begin(200, JSON_HEADERS);
  await reply.write(body.slice(0, body.length / 2));
  reply.cut();
}
