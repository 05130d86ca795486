import { type JsonObject, toJsonObject } from '../core/json.ts';
import type { Answer, Chunk } from './answer.ts';
import { findPictureAnswer } from './picture.ts';
import {
  asksSomething,
  type DemoPart,
  type DemoRequest,
  describeParts,
  isFunctionCall,
  isFunctionResponse,
  isMedia,
  joinPartTexts,
  listCallableTools,
  parseBody,
} from './request.ts';
import { SAMPLE_TASKS, SAMPLES, type Sample, type SampleTask } from './samples.ts';
import { createMinimalInstance } from './schema.ts';
import { findServiceAnswer } from './service.ts';

export function createAnswer(request: DemoRequest, sign: (call: JsonObject) => string): Answer {
  const answer =
    (mustCall(request) ? undefined : (findPictureAnswer(request, sign) ?? findBuiltinAnswer(request, sign))) ??
    findCalledAnswer(request, sign) ??
    findForcedAnswer(request, sign) ??
    findStructuredAnswer(request) ??
    findServiceAnswer(request) ??
    chunkedAnswer(echoRequest(request));
  const { includeThoughts } = toJsonObject(request.generationConfig.thinkingConfig);
  return { ...answer, chunks: addThoughts(answer, includeThoughts === true) };
}

const THOUGHT = '**Reading the prompt**\n\nThe demo model looks it up.';
const THINKING_PAUSE_MS = 1500;

/** The thoughts of an answer take their time whether they are asked for or not. */
function* addThoughts({ thoughts, chunks }: Answer, areShown: boolean): Generator<Chunk> {
  const show = (text: string): Chunk => ({ parts: areShown ? [{ text, thought: true }] : [] });
  if (thoughts === undefined && areShown) yield show(THOUGHT);
  for (const [subject, rest] of thoughts ?? []) {
    yield show(`**${subject}**`);
    yield show(`\n\n${rest}\n\n`);
    yield { parts: [], pauseMs: THINKING_PAUSE_MS };
  }
  yield* chunks;
}

function findStructuredAnswer(request: DemoRequest): Answer | undefined {
  const { responseSchema, responseJsonSchema, responseMimeType } = request.generationConfig;
  const schema = responseJsonSchema ?? responseSchema;
  if (schema !== undefined && schema !== null) {
    const instance = createMinimalInstance(schema);
    return chunkedAnswer(responseMimeType === 'text/x.enum' ? String(instance) : JSON.stringify(instance));
  }
  return responseMimeType === 'application/json'
    ? chunkedAnswer(JSON.stringify({ answer: echoRequest(request) }))
    : undefined;
}

function echoRequest(request: DemoRequest): string {
  const parts = findTurn(request)[0]?.parts ?? [];
  const line = findFirstLine(parts);
  if (!parts.some(isMedia)) return `demo: ${line}`;
  return line === '' ? `demo: I see ${describeParts(parts)}` : `demo: I see ${describeParts(parts)}: ${line}`;
}

function findTurn({ contents }: DemoRequest): DemoRequest['contents'] {
  return contents.slice(Math.max(contents.findLastIndex(asksSomething), 0));
}

function findFirstLine(parts: readonly DemoPart[]): string {
  const text = parts.findLast((part) => typeof part.text === 'string')?.text;
  return typeof text === 'string' ? (text.trim().split(/\r?\n/)[0] ?? '').trim() : '';
}

function findBuiltinAnswer(request: DemoRequest, sign: (call: JsonObject) => string): Answer | undefined {
  const last = request.contents.at(-1);
  const prompt = request.contents.findLast(asksSomething);
  if (last === undefined || prompt === undefined) return undefined;
  const task = SAMPLE_TASKS.find(({ ask }) => joinPartTexts(prompt.parts).includes(ask));
  if (task !== undefined) return findTaskAnswer(task, request, sign);
  if (last !== prompt) return undefined;
  const question = takeLastLine(joinPartTexts(last.parts.slice(-1)));
  const sample = SAMPLES.get(question);
  const schema = request.generationConfig.responseJsonSchema ?? request.generationConfig.responseSchema;
  if (question === '3 colors') return answerColors(toJsonObject(schema));
  if (schema !== undefined) return undefined;
  if (sample !== undefined) return createSampleAnswer(sample);
  if (question === 'and the second best?' && hasMention(request, 'Kyoto')) return textAnswer(['April.'], [21, 2]);
  if (question === 'write a very long story') return { chunks: storyChunks(), isCountedLate: true };
  if (question.startsWith('think about ')) return { ...chunkedAnswer(echoRequest(request)), thoughts: THOUGHTS };
  const count = /^count to (\d{1,7})$/.exec(question)?.[1];
  return count === undefined ? undefined : { chunks: numberChunks(Number(count)), isUnlimited: true };
}

function takeLastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim().toLowerCase() ?? '';
}

function hasMention(request: DemoRequest, word: string): boolean {
  return request.contents.some(({ parts }) => joinPartTexts(parts).includes(word));
}

function answerColors(schema: JsonObject): Answer | undefined {
  if (Object.keys(schema).length === 0) return textAnswer(['red, green', ', blue'], [6, 5]);
  if (String(schema.type).toLowerCase() !== 'array') return undefined;
  return textAnswer(['["red",', '"green",', '"blue"]'], [6, 9]);
}

function findTaskAnswer(task: SampleTask, request: DemoRequest, sign: Sign): Answer | undefined {
  const loop = findTurn(request);
  const answered = loop.slice(1).at(-1)?.parts.find(isFunctionResponse);
  const { response } = toJsonObject(answered?.functionResponse);
  if (toJsonObject(response).error !== undefined) return createSampleAnswer(task.failed);
  const made = loop.filter(({ role, parts }) => role === 'model' && parts.some(isFunctionCall)).length;
  const next = task.calls[made];
  if (next === undefined) return createSampleAnswer(task.done);
  const callable = listCallableTools(request);
  // The official CLI has an editing tool of another name, which wants a reason.
  const isOfficial = next.name === 'edit_file' && !callable.includes(next.name) && callable.includes('replace');
  const { id, args } = next;
  const call = isOfficial ? { name: 'replace', args: { ...args, instruction: task.ask } } : { name: next.name, args };
  if (!callable.includes(call.name)) return undefined;
  const parts = [{ functionCall: { id, ...call }, thoughtSignature: sign(call) }];
  return { chunks: [{ parts }], usage: task.usage };
}

function createSampleAnswer({ texts, usage }: Sample): Answer {
  return textAnswer(texts, usage);
}

const THOUGHTS = [
  ['Reading the question', 'The demo model reads it twice.'],
  ['Looking at it from the other side', 'There is not much there.'],
  ['Choosing the words', 'They are those of the question.'],
] as const;

const STORY_PAUSE_MS = 400;

function* storyChunks(): Generator<Chunk> {
  yield { parts: [{ text: 'Once upon a time, in a harbour town' }] };
  yield { parts: [{ text: ', a clockmaker took in a parcel that ticked.' }], pauseMs: 2000 };
  const visitors = ['a sailor', 'the baker', 'two sisters', 'the postman', 'a stray cat'];
  const wishes = ['to know the time in another port', 'to buy an hour', 'to hear it strike', 'to be told a secret'];
  for (let day = 1; day <= 60; day += 1) {
    const text = ` On day ${day} came ${visitors[day % 5]}, who wanted ${wishes[day % 4]}.`;
    yield { parts: [{ text }], pauseMs: STORY_PAUSE_MS };
  }
  yield { parts: [{ text: ' On the last day it stopped, and the whole town was on time.' }] };
}

const NUMBERS_PER_CHUNK = 250;

function* numberChunks(last: number): Generator<Chunk> {
  for (let first = 1; first <= last; first += NUMBERS_PER_CHUNK) {
    const size = Math.min(NUMBERS_PER_CHUNK, last - first + 1);
    const lines = Array.from({ length: size }, (_line, index) => first + index).join('\n');
    yield { parts: [{ text: first + size > last ? lines : `${lines}\n` }] };
  }
}

type Sign = (call: JsonObject) => string;

const CALL = /^(?:then\s+)?call\s+([\w.:-]+)(?:\s+(\{.*\}))?(?:\s+x(\d{1,4}))?$/;

/**
 * Carries out `call <tool> {json}`: every such line at the start of the prompt is a call, all of them in one reply;
 * `then` before a line makes it wait for the results, `x<n>` at its end repeats it n times, one reply each. Undefined
 * if the prompt does not begin so, or names a tool that is not declared or must not be called.
 */
function findCalledAnswer(request: DemoRequest, sign: Sign): Answer | undefined {
  const loop = findTurn(request);
  const plan = parsePlan(joinPartTexts(loop[0]?.parts.slice(-1) ?? []));
  const callable = listCallableTools(request);
  if (plan.length === 0 || plan.flat().some(({ name }) => !callable.includes(name))) return undefined;
  const done = loop.filter(({ role, parts }) => role === 'model' && parts.some(isFunctionCall)).length;
  const next = plan[done];
  if (next !== undefined) return createCallAnswer(request, next, sign);
  return mustCall(request) ? undefined : chunkedAnswer(summarizeResults(loop.at(-1)?.parts ?? []));
}

/** Mode ANY requires a call: the first allowed function, with the smallest arguments its schema accepts. */
function findForcedAnswer(request: DemoRequest, sign: Sign): Answer | undefined {
  const [name] = listCallableTools(request);
  if (!mustCall(request) || name === undefined) return undefined;
  const schema = request.tools.get(name);
  // A function without parameters may be declared without a schema.
  const args = schema === undefined || schema === null ? {} : toJsonObject(createMinimalInstance(schema));
  return createCallAnswer(request, [{ name, args }], sign);
}

function mustCall({ calling }: DemoRequest): boolean {
  return calling.mode === 'ANY';
}

function createCallAnswer(request: DemoRequest, calls: readonly PlannedCall[], sign: Sign): Answer {
  const parts = calls.map((call, index) => {
    const functionCall = { id: `demo-${request.contents.length}-${index}`, ...call };
    // Only the first of several calls carries a signature.
    return index === 0 ? { functionCall, thoughtSignature: sign({ ...call }) } : { functionCall };
  });
  return { chunks: [{ parts }] };
}

interface PlannedCall {
  readonly name: string;
  readonly args: JsonObject;
}

function parsePlan(prompt: string): readonly (readonly PlannedCall[])[] {
  const steps: PlannedCall[][] = [];
  for (const line of prompt.trim().split('\n')) {
    const match = CALL.exec(line.trim());
    const args = match === null ? undefined : parseBody(match[2] ?? '{}');
    const name = match?.[1];
    if (name === undefined || args?.ok !== true) break;
    const call = { name, args: args.value };
    const times = Number(match?.[3] ?? 1);
    const isLater = line.trim().startsWith('then') || times > 1;
    if (isLater || steps.length === 0) {
      for (let round = 0; round < times; round += 1) steps.push([call]);
    } else {
      steps.at(-1)?.push(call);
    }
  }
  return steps;
}

function summarizeResults(parts: readonly JsonObject[]): string {
  const lines = parts.filter(isFunctionResponse).map((part) => {
    const { name, response } = toJsonObject(part.functionResponse);
    const { output, error } = toJsonObject(response);
    const result = error ?? output ?? response;
    const text = typeof result === 'string' ? result : JSON.stringify(result ?? null);
    return `demo: ${String(name)} ${error === undefined ? 'answered' : 'failed'}: ${text.trim().split('\n')[0] ?? ''}`;
  });
  return lines.join('\n');
}

function textAnswer(texts: readonly string[], usage?: Answer['usage']): Answer {
  const chunks = texts.map((text) => ({ parts: [{ text }] }));
  return usage === undefined ? { chunks } : { chunks, usage };
}

function chunkedAnswer(text: string): Answer {
  return textAnswer([...cutIntoDeltas(text.toWellFormed())]);
}

function* cutIntoDeltas(text: string): Generator<string> {
  let piece = '';
  let size = 0;
  let wanted = 8;
  for (const character of text) {
    piece += character;
    size += 1;
    if (size < wanted) continue;
    yield piece;
    piece = '';
    size = 0;
    wanted = Math.min(wanted * 2, 4096);
  }
  if (piece !== '') yield piece;
}
