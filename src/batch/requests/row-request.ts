import type { Content, Part } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import { estimatePartTokens } from '../../core/media-tokens.ts';
import type { BilledCall } from '../../core/usage.ts';
import { createUnsavedConversation } from '../../engine/session/conversation.ts';
import type { AttemptAnswer } from '../rows/row-engine.ts';
import type { RowRequest, SetupContext } from './batch-setup.ts';

export async function askRow(
  { run, agent, contents }: RowRequest,
  { costs, onNotice }: SetupContext,
  signal: AbortSignal,
): Promise<AttemptAnswer> {
  const calls: BilledCall[] = [];
  const text: string[] = [];
  const turn = run.turn(contents.at(-1) as Content, {
    conversation: createUnsavedConversation({ earlier: contents.slice(0, -1) }),
    request: agent.request,
    signal,
    onCall(call) {
      calls.push(call);
      costs.add(call);
    },
  });
  for await (const event of turn) {
    if (event.type === 'text') text.push(event.delta);
    else if (event.type === 'notice') onNotice(event.message);
    else if (event.type === 'failure') throw event.error;
    else if (event.type === 'end') {
      const { model, usage, finishReason } = event;
      const answer = text.join('');
      const isText = run.facts.schema === undefined;
      return {
        response: isText ? answer : undefined,
        json: isText ? undefined : JSON.parse(answer),
        model,
        usage,
        cost: costs.sum(calls),
        finishReason: finishReason === 'STOP' ? undefined : finishReason,
      };
    }
  }
  throw new AppError('internal', 'the turn ended without an end');
}

export function emptyRowError(): AppError {
  return new AppError('usage', 'the row has nothing to ask: neither "prompt" nor "contents" nor "files"', {
    hint: 'Add one, or say what to ask with --template or -p.',
  });
}

/** Bytes of UTF-8. About right for words of Latin letters, and for Japanese characters. */
const BYTES_PER_TOKEN = 4;

export function guessTokens({ agent, contents }: RowRequest): number {
  const { systemInstruction } = agent.request;
  const all = systemInstruction === undefined ? contents : [systemInstruction, ...contents];
  return guessPartTokens(all.flatMap(({ parts }) => parts));
}

/** Rough, but cheap; the engine learns how far it is off. */
export function guessPartTokens(parts: readonly Part[]): number {
  let bytes = 0;
  let media = 0;
  for (const part of parts) {
    if ('text' in part) bytes += Buffer.byteLength(part.text);
    else media += estimatePartTokens(part);
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN) + media;
}
