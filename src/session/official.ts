import type { Part, StoredContent } from '../core/content.ts';
import type { TurnRecord } from '../core/history.ts';
import { filterObjects, isObject, toJsonObject, toNonEmptyString, tryParseJson } from '../core/json.ts';
import type { SavedRecord } from '../core/session.ts';
import type { Usage } from '../core/usage.ts';
import { deriveTitle } from './record.ts';

export interface OfficialSession {
  readonly id: string;
  /** SHA-256 of the project directory, in hex. */
  readonly projectHash?: string;
  readonly startedAt: number;
  readonly title: string;
  /** A record without a time of its own has that of the one before. */
  readonly records: readonly SavedRecord[];
}

type Fields = Readonly<Record<string, unknown>>;

/** One record per line, later ones win; or the older format. Undefined without a prompt, or for a sub-agent's. */
export function tryParseOfficial(text: string): OfficialSession | undefined {
  const whole = tryParseJson(text);
  const { meta, messages } =
    isObject(whole) && Array.isArray(whole.messages)
      ? { meta: whole, messages: filterObjects(whole.messages) }
      : replayLines(text);
  const id = toNonEmptyString(meta.sessionId);
  const startedAt = Date.parse(String(meta.startTime));
  if (id === undefined || Number.isNaN(startedAt) || meta.kind === 'subagent') return undefined;
  const records = toRecords(messages, startedAt);
  const first = records.find(({ kind }) => kind === 'prompt');
  if (first === undefined) return undefined;
  const projectHash = toNonEmptyString(meta.projectHash);
  const title = deriveTitle(first.content);
  return { id, startedAt, title, records, projectHash };
}

function replayLines(text: string): { readonly meta: Fields; readonly messages: readonly Fields[] } {
  let meta: Fields = {};
  let messages = new Map<string, Fields>();
  for (const value of text.split('\n').map(tryParseJson)) {
    if (!isObject(value)) continue;
    const { $set: changes, $rewindTo: target, id } = value;
    if (isObject(changes)) {
      meta = { ...meta, ...changes };
      if (Array.isArray(changes.messages)) messages = indexById(filterObjects(changes.messages));
    } else if (target !== undefined) messages = rewindTo(messages, String(target));
    else if (typeof id === 'string') messages.set(id, value);
    else if (typeof value.sessionId === 'string') meta = { ...meta, ...value };
  }
  return { meta, messages: [...messages.values()] };
}

function indexById(messages: readonly Fields[]): Map<string, Fields> {
  return new Map(messages.map((message, index) => [toNonEmptyString(message.id) ?? String(index), message]));
}

function rewindTo(messages: ReadonlyMap<string, Fields>, id: string): Map<string, Fields> {
  const ids = [...messages.keys()];
  return new Map([...messages].slice(0, Math.max(0, ids.indexOf(id))));
}

function toRecords(messages: readonly Fields[], startedAt: number): readonly SavedRecord[] {
  /** Ids of calls that have a result; the file holds each result twice. */
  const answered = new Set<string>();
  let at = startedAt;
  return messages.flatMap((message): readonly SavedRecord[] => {
    const time = Date.parse(String(message.timestamp));
    if (!Number.isNaN(time)) at = time;
    return toTurnRecords(message, answered).map((record) => ({ ...record, at }));
  });
}

function toTurnRecords(message: Fields, answered: Set<string>): readonly TurnRecord[] {
  if (message.type === 'user') return toUserRecords(message, answered);
  return message.type === 'gemini' ? toModelRecords(message, answered) : [];
}

/** Commands to the CLI, and context that the CLI itself put before a prompt. */
const NOT_FROM_USER = /^(?:[/?]|<session_context>|<hook_context>)/;

function toUserRecords({ content }: Fields, answered: Set<string>): readonly TurnRecord[] {
  const parts = readParts(content).filter((part) => !isRepeated(part, answered));
  const [first] = parts;
  if (first === undefined || ('text' in first && NOT_FROM_USER.test(first.text.trimStart()))) return [];
  if (parts.every((part) => 'text' in part && part.text.trim() === '')) return [];
  const kind = parts.some((part) => 'functionResponse' in part) ? 'answer' : 'prompt';
  return [{ kind, content: { role: 'user', parts } }];
}

function isRepeated(part: Part, answered: Set<string>): boolean {
  if (!('functionResponse' in part)) return false;
  const { id } = part.functionResponse;
  if (id === undefined) return false;
  const isKnown = answered.has(id);
  answered.add(id);
  return isKnown;
}

function toModelRecords(message: Fields, answered: Set<string>): readonly TurnRecord[] {
  const calls = filterObjects(message.toolCalls);
  const parts: readonly Part[] = [
    ...filterObjects(message.thoughts).map((thought) => ({ text: formatThought(thought), thought: true })),
    ...readParts(message.content),
    ...calls.flatMap(({ id, name, args }) => toParts({ functionCall: { id, name, args: toJsonObject(args) } })),
  ];
  if (parts.length === 0) return [];
  const content: StoredContent = { role: 'model', parts };
  const reply = { content, usage: toUsage(message.tokens), model: toNonEmptyString(message.model) ?? '' };
  if (!parts.some((part) => 'functionCall' in part)) return [{ kind: 'reply', ...reply, finishReason: 'STOP' }];
  const answers = calls.flatMap((call): readonly TurnRecord[] => {
    const answer = toResultParts(call).filter((part) => !isRepeated(part, answered));
    return answer.length === 0 ? [] : [{ kind: 'answer', content: { role: 'user', parts: answer } }];
  });
  return [{ kind: 'call', ...reply }, ...answers];
}

function formatThought({ subject, description }: Fields): string {
  return [subject, description].filter((text) => typeof text === 'string' && text !== '').join('\n');
}

function toResultParts({ id, name, result }: Fields): readonly Part[] {
  if (result === null || result === undefined) return [];
  const parts = readParts(result);
  if (parts.some((part) => 'functionResponse' in part)) return parts;
  const output = typeof result === 'string' ? result : JSON.stringify(result);
  return toParts({ functionResponse: { id, name, response: { output } } });
}

function readParts(value: unknown): readonly Part[] {
  if (typeof value === 'string') return value === '' ? [] : [{ text: value }];
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.flatMap((item) => (typeof item === 'string' ? [{ text: item }] : toParts(item)));
}

function toParts(value: unknown): readonly Part[] {
  if (!isObject(value)) return [];
  const part: object = value;
  const { text, functionCall, functionResponse, inlineData } = value;
  const isPart =
    (text === undefined || typeof text === 'string') &&
    (functionCall === undefined || hasCallName(functionCall)) &&
    (functionResponse === undefined || hasCallName(functionResponse)) &&
    (inlineData === undefined || (isObject(inlineData) && typeof inlineData.data === 'string'));
  return isPart ? [part as Part] : [];
}

function hasCallName(value: unknown): boolean {
  return isObject(value) && typeof value.name === 'string' && ['string', 'undefined'].includes(typeof value.id);
}

function toUsage(tokens: unknown): Usage {
  if (!isObject(tokens)) return {};
  const counts = {
    promptTokenCount: tokens.input,
    candidatesTokenCount: tokens.output,
    totalTokenCount: tokens.total,
    cachedContentTokenCount: tokens.cached,
    thoughtsTokenCount: tokens.thoughts,
    toolUsePromptTokenCount: tokens.tool,
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => typeof count === 'number'));
}
