import type { JsonObject } from '../core/json.ts';
import { builtinAnswer } from './builtin.ts';
import { calledAnswer, forcedAnswer, mustCall } from './call.ts';
import { type Answer, sayAll } from './chunk.ts';
import { describeMedia, isMedia } from './media.ts';
import { activeLoop, type DemoPart, type DemoRequest, parseObject } from './request.ts';
import { minimalInstance } from './schema.ts';

/** What the demo model answers: the sample runs, calls on request, an instance of the schema, or an echo. Never random. */
export function answerTo(request: DemoRequest, sign: (call: JsonObject) => string): Answer {
  const answer =
    (mustCall(request) ? undefined : builtinAnswer(request, sign)) ??
    calledAnswer(request, sign) ??
    forcedAnswer(request, sign) ??
    structuredAnswer(request) ??
    sayAll(echo(request));
  const { includeThoughts } = parseObject(request.generationConfig.thinkingConfig);
  if (includeThoughts !== true) return answer;
  const thought = { parts: [{ text: '**Reading the prompt**\n\nThe demo model looks it up.', thought: true }] };
  return { ...answer, chunks: withFirst(thought, answer.chunks) };
}

function* withFirst<T>(first: T, rest: Iterable<T>): Generator<T> {
  yield first;
  yield* rest;
}

function structuredAnswer(request: DemoRequest): Answer | undefined {
  const { responseSchema, responseJsonSchema, responseMimeType } = request.generationConfig;
  const schema = responseJsonSchema ?? responseSchema;
  if (schema !== undefined && schema !== null) {
    const instance = minimalInstance(schema);
    return sayAll(responseMimeType === 'text/x.enum' ? String(instance) : JSON.stringify(instance));
  }
  return responseMimeType === 'application/json' ? sayAll(JSON.stringify({ answer: echo(request) })) : undefined;
}

function echo(request: DemoRequest): string {
  const parts = activeLoop(request.contents)[0]?.parts ?? [];
  const line = firstLine(parts);
  if (!parts.some(isMedia)) return `demo: ${line}`;
  return line === '' ? `demo: I see ${describeMedia(parts)}` : `demo: I see ${describeMedia(parts)}: ${line}`;
}

function firstLine(parts: readonly DemoPart[]): string {
  const text = parts.findLast((part) => typeof part.text === 'string')?.text;
  return typeof text === 'string' ? (text.trim().split(/\r?\n/)[0] ?? '').trim() : '';
}
