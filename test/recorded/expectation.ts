import { isObject } from '../../src/core/json.ts';
import { USAGE_KEYS } from '../../src/core/usage.ts';
import type { Recording } from './recording.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What a user must get of a recorded answer. Read from the recording alone: nothing of gmn's own reading is used here. */
export interface Answer {
  readonly text: string;
  readonly usage: Fields;
  readonly finishReason: string;
  /** What must be sent back in the next turn: thoughts are left out, neighbouring plain texts are one. */
  readonly parts: readonly Fields[];
  readonly hasCalls: boolean;
  /** In base64: a picture or sound of the answer. */
  readonly files: readonly string[];
}

export interface Failure {
  readonly exits: readonly number[];
  /** Google's own words, which must be shown. */
  readonly words: readonly string[];
  /** The text that had come, which is shown as well. */
  readonly text: string;
}

export type Expectation = { readonly answer: Answer } | { readonly failure: Failure };

/** How much of a message must be shown: gmn cuts longer ones. */
const QUOTED = 150;

export function expectReply(recording: Recording): Expectation {
  if (isRefused(recording)) return { failure: expectRefusal(recording) };
  const chunks = readChunks(recording.body);
  const text = chunks.flatMap(listParts).map(readText).join('');
  const fail = (words: readonly unknown[], exits = [3]): Expectation => ({
    failure: { exits, words: words.flatMap(toWords), text },
  });
  const error = chunks.find(({ error: found }) => isObject(found))?.error;
  if (isObject(error)) return fail([error.message], error.code === 401 || error.code === 403 ? [2, 3] : [3]);
  const feedback = chunks.map(({ promptFeedback }) => promptFeedback).find(isObject);
  const { blockReason: block, blockReasonMessage } = feedback ?? {};
  const blockReason = toName(block, ['SAFETY', 'OTHER', 'BLOCKLIST', 'PROHIBITED_CONTENT']);
  if (blockReason !== undefined || blockReasonMessage !== undefined) return fail([blockReason, blockReasonMessage]);
  const candidates = chunks.map(findCandidate).filter((candidate) => candidate !== undefined);
  const last = (key: string): unknown => candidates.findLast((candidate) => candidate[key] !== undefined)?.[key];
  const finishReason = toName(last('finishReason'), ['STOP', 'MAX_TOKENS', 'SAFETY', 'RECITATION', 'OTHER']);
  if (finishReason !== 'STOP' && finishReason !== 'MAX_TOKENS') return fail([finishReason, last('finishMessage')]);
  const parts = joinPlainTexts(chunks.flatMap(listParts)).filter(isSentBack);
  const isAnswer = text !== '' || parts.some((part) => Object.keys(part).some((key) => CONTENT.includes(key)));
  if (!isAnswer) return fail([]);
  const hasCalls = parts.some((part) => isObject(part.functionCall));
  const files = parts.flatMap(({ inlineData }) => (isObject(inlineData) ? [String(inlineData.data)] : []));
  return { answer: { text, usage: readUsage(chunks), finishReason, parts, hasCalls, files } };
}

/** Clients that ask for numbers in place of names get them, from 1 on. */
function toName(value: unknown, names: readonly string[]): unknown {
  return typeof value === 'number' ? names[value - 1] : value;
}

const CONTENT = ['functionCall', 'inlineData', 'executableCode', 'codeExecutionResult'];

export function isRefused({ status }: Pick<Recording, 'status'>): boolean {
  return status < 200 || status > 299;
}

export function expectRefusal({ status, body }: Pick<Recording, 'status' | 'body'>): Failure {
  const [first] = readChunks(body);
  const error = isObject(first?.error) ? first.error : {};
  const isKey = status === 400 && /"API_KEY_/.test(body);
  const exits = status === 401 || isKey ? [2] : status === 403 ? [2, 3] : [3];
  return { exits, words: toWords(error.message), text: '' };
}

/** The objects of a body: events, bare objects between them, a list, or one object. Throws nothing: a page has none. */
export function readChunks(body: string): readonly Fields[] {
  const whole = parse(body);
  if (whole !== undefined) return [whole].flat().filter(isObject);
  const texts: string[] = [];
  let bare = '';
  for (const block of body.split(/(?:\r\n|\n|\r){2}/)) {
    const data: string[] = [];
    for (const line of block.split(/\r\n|\n|\r/)) {
      if (line.startsWith('data:')) data.push(line.slice(5));
      else if (!/^(?:event|id|retry)?:/.test(line)) bare += `${line}\n`;
    }
    // Mostly a line is an object; one that is written over several lines is one event.
    texts.push(...(data.every((line) => parse(line) !== undefined) ? data : [data.join('\n')]));
  }
  return [...texts, bare].flatMap((text) => [parse(text)].flat()).filter(isObject);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function findCandidate({ candidates }: Fields): Fields | undefined {
  const list = Array.isArray(candidates) ? candidates.filter(isObject) : [];
  return list.find(({ index }) => (index ?? 0) === 0);
}

function listParts(chunk: Fields): readonly Fields[] {
  const content = findCandidate(chunk)?.content;
  return isObject(content) && Array.isArray(content.parts) ? content.parts.filter(isObject) : [];
}

function readText({ text, thought }: Fields): string {
  return typeof text === 'string' && thought !== true ? text : '';
}

function isSentBack(part: Fields): boolean {
  if (isObject(part.functionCall)) return true;
  if (part.thought === true || 'functionResponse' in part) return false;
  if (part.text === '') return part.thoughtSignature !== undefined;
  return Object.keys(part).some((key) => key !== 'thought' && key !== 'thoughtSignature');
}

function joinPlainTexts(parts: readonly Fields[]): readonly Fields[] {
  const joined: Fields[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (isPlain(part) && last !== undefined && isPlain(last) && last.thought === part.thought) {
      joined[joined.length - 1] = { ...last, text: `${last.text}${part.text}` };
    } else joined.push(part);
  }
  return joined;
}

function isPlain(part: Fields): boolean {
  return typeof part.text === 'string' && Object.keys(part).every((key) => key === 'text' || key === 'thought');
}

/** The counts of the last chunk that has a prompt and a total are the totals; what it leaves out is none, if the rest makes up the total. */
function readUsage(chunks: readonly Fields[]): Fields {
  const all = chunks.map(({ usageMetadata }) => usageMetadata).filter(isObject);
  const isTotal = ({ promptTokenCount: prompt, totalTokenCount: sum, ...others }: Fields): boolean => {
    const {
      candidatesTokenCount: text = 0,
      thoughtsTokenCount: thoughts = 0,
      toolUsePromptTokenCount: tools = 0,
    } = others;
    return (
      prompt !== undefined &&
      sum !== undefined &&
      Number(prompt) + Number(text) + Number(thoughts) + Number(tools) >= Number(sum)
    );
  };
  const total = all.findLastIndex(isTotal);
  const merged: Fields = Object.assign({}, ...all.slice(Math.max(0, total)));
  return Object.fromEntries(USAGE_KEYS.flatMap((key) => (merged[key] === undefined ? [] : [[key, merged[key]]])));
}

/** On one line, as an error message is; not as far as gmn would cut it, and without keys, which gmn redacts. */
function toWords(message: unknown): readonly string[] {
  if (typeof message !== 'string' || message === '') return [];
  const inner = parse(message);
  // Some servers pass on the body of another as their message.
  if (isObject(inner) && isObject(inner.error)) return toWords(inner.error.message);
  const words = message.replace(/\s+/g, ' ').trim().slice(0, QUOTED);
  return words
    .split(/AIza[\w-]+'?/)
    .map((piece) => piece.trim())
    .filter((piece) => piece !== '');
}
