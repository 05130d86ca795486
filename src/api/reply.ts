import type { CallPart, Part } from '../core/content.ts';
import type { JsonObject } from '../core/json.ts';
import type { Reply, ReplyEvent } from '../core/model.ts';
import { NO_USAGE, type Usage } from '../core/usage.ts';
import type { Chunk } from './chunk.ts';
import type { CallIds } from './reply-calls.ts';
import type { ContentKeeper } from './reply-content.ts';
import type { SeenReply } from './reply-failure.ts';

/** Reads the chunks of one answer. */
export interface ReplyReader {
  /** What of this chunk is to be told. */
  take(chunk: Chunk): readonly ReplyEvent[];
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
}

/** A reader for one answer of the model `asked`. Deltas are well-formed text, whatever the chunks split. */
export function replyReader(asked: string, { ids, keeper, secrets }: ReplyOptions = {}): ReplyReader {
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
      if (chunk.grounding) grounding = { ...grounding, ...chunk.grounding };
      for (const part of chunk.parts) takePart(part, events);
      return events;
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
