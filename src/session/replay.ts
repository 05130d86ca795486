import { beginsTurn, isResponse, type Part, type ResponsePart, type StoredContent } from '../core/content.ts';
import type { TurnEvent } from '../core/event.ts';
import type { Session } from '../core/session.ts';
import type { ToolCall } from '../core/tool.ts';

/** A prompt, or what came after it: the same events as then, as far as a session keeps them. */
export type ReplayedEvent =
  | { readonly type: 'prompt'; readonly content: StoredContent }
  | Extract<TurnEvent, { type: 'text' | 'thought' | 'file' | 'call' | 'answer' }>;

/** What was said, from the beginning. Calls get ids of their own: a model may have given one twice. */
export function* replayEvents({
  contents,
  unanswered,
}: Pick<Session, 'contents' | 'unanswered'>): Generator<ReplayedEvent> {
  const calls: ToolCall[] = [];
  for (const [index, content] of contents.entries()) {
    if (beginsTurn(content)) yield { type: 'prompt', content };
    else yield* replayContent(content, index, calls);
  }
  if (unanswered !== undefined) yield { type: 'prompt', content: unanswered };
}

function* replayContent(content: StoredContent, index: number, calls: ToolCall[]): Generator<ReplayedEvent> {
  for (const [place, part] of content.parts.entries()) {
    if ('functionCall' in part) {
      const { name, args = {} } = part.functionCall;
      const call = { id: `${index}.${place}`, name, args };
      calls.push(call);
      yield { type: 'call', ...call };
    } else if (isResponse(part)) yield* replayAnswer(part, calls.shift());
    else if (content.role === 'model') yield* replayPart(part);
  }
}

/** Results come in the order of their calls. */
function* replayAnswer(part: ResponsePart, call: ToolCall | undefined): Generator<ReplayedEvent> {
  const { response } = part.functionResponse;
  if (call === undefined) return;
  yield { type: 'answer', ...call, outcome: { ok: response.error === undefined, response } };
}

function* replayPart(part: Part): Generator<ReplayedEvent> {
  if ('text' in part) yield { type: part.thought ? 'thought' : 'text', delta: part.text };
  if ('inlineData' in part) yield { type: 'file', file: part.inlineData };
}
