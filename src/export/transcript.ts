import { beginsTurn, type MediaPart, type Part, UNNAMED_TOOL } from '../core/content.ts';
import { describeFile } from '../core/files.ts';
import { isObject, type JsonObject, toNonEmptyString } from '../core/json.ts';
import type { SavedRecord, SavedSession } from '../core/session.ts';
import { formatCount } from '../core/text/format.ts';
import { addUsage, NO_USAGE, type Usage } from '../core/usage.ts';

export interface Turn {
  readonly number: number;
  readonly at: number;
  readonly prompt: readonly Item[];
  readonly steps: readonly Item[];
  readonly model: string | undefined;
  readonly usage: Usage;
}

export type Item =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thought'; readonly text: string }
  /** What gmn asked by itself, as after a failed `--verify`. */
  | { readonly type: 'followUp'; readonly text: string }
  | (Media & { readonly type: 'media' })
  | (NamedCall & { readonly type: 'call'; readonly args: JsonObject; readonly answer: RecordedResult | undefined })
  /** Its call was not recorded. */
  | (NamedCall & { readonly type: 'answer'; readonly answer: RecordedResult })
  | { readonly type: 'code'; readonly language: string; readonly code: string }
  | { readonly type: 'output'; readonly ok: boolean; readonly outcome: string; readonly output: string }
  /** A remark of gmn about the item before it. */
  | { readonly type: 'note'; readonly text: string }
  | { readonly type: 'other'; readonly part: Part };

export type Media = MediaPart['inlineData'];

interface NamedCall {
  readonly id: string | undefined;
  readonly name: string;
}

export interface RecordedResult {
  readonly response: JsonObject;
  readonly media: readonly Media[];
}

/** Each tool call has its result. Takes linear time. */
export function* splitTurns(records: readonly SavedRecord[]): Generator<Turn, void> {
  let number = 0;
  let open: SavedRecord[] = [];
  for (const record of records) {
    if (isTurnStart(record) && open.length > 0) {
      number += 1;
      yield toTurn(number, open);
      open = [];
    }
    open.push(record);
  }
  if (open.length > 0) yield toTurn(number + 1, open);
}

function isTurnStart({ kind, content }: SavedRecord): boolean {
  return kind === 'prompt' && beginsTurn(content);
}

function toTurn(number: number, records: readonly SavedRecord[]): Turn {
  const [first] = records;
  const hasPrompt = first !== undefined && isTurnStart(first);
  const prompt = hasPrompt ? toItems(first.content.parts) : [];
  let usage = NO_USAGE;
  let model: string | undefined;
  for (const record of records) {
    if (record.kind !== 'call' && record.kind !== 'reply') continue;
    usage = addUsage(usage, record.usage);
    model = record.model;
  }
  const steps = toSteps(hasPrompt ? records.slice(1) : records);
  return { number, at: first?.at ?? 0, prompt, steps, model, usage };
}

function toSteps(records: readonly SavedRecord[]): readonly Item[] {
  const steps: Item[] = [];
  let pending: PendingCall[] = [];
  for (const record of records) {
    const { parts } = record.content;
    if (record.kind === 'answer') {
      addResults(parts, steps, pending);
      continue;
    }
    if (record.kind === 'prompt') {
      steps.push(
        ...toItems(parts).map((item) => (item.type === 'text' ? { ...item, type: 'followUp' as const } : item)),
      );
      continue;
    }
    const begin = steps.length;
    for (const part of parts) addItem(steps, toItem(part), begin);
    pending = steps
      .slice(begin)
      .flatMap((item, index) => (item.type === 'call' ? [{ id: item.id, index: begin + index }] : []));
    for (const { url, ok, status } of 'pages' in record ? (record.pages ?? []) : [])
      steps.push({ type: 'note', text: `The service read ${url}${ok ? '' : ` (${status.toLowerCase()})`}.` });
    const note = record.kind === 'reply' ? formatEnding(record.finishReason) : undefined;
    if (note !== undefined) steps.push({ type: 'note', text: note });
  }
  return steps;
}

interface PendingCall {
  readonly id: string | undefined;
  readonly index: number;
}

/** Adds each result to the call with its id, else to the first call without one; media belong to the result before them. */
function addResults(parts: readonly Part[], steps: Item[], pending: PendingCall[]): void {
  let place: number | undefined;
  for (const part of parts) {
    const item = toItem(part);
    if (item?.type === 'answer') {
      place = takePending(item, pending) ?? steps.length;
      const call = steps[place];
      steps[place] = call?.type === 'call' ? { ...call, answer: item.answer } : item;
      continue;
    }
    const last = place === undefined ? undefined : steps[place];
    if (item?.type === 'media' && place !== undefined && (last?.type === 'call' || last?.type === 'answer')) {
      const { response = {}, media = [] } = last.answer ?? {};
      steps[place] = { ...last, answer: { response, media: [...media, item] } };
    } else addItem(steps, item, steps.length);
  }
}

function takePending({ id }: { readonly id: string | undefined }, pending: PendingCall[]): number | undefined {
  const sameId = pending.findIndex((call) => call.id !== undefined && call.id === id);
  const found = sameId === -1 ? pending.findIndex((call) => call.id === undefined) : sameId;
  return found === -1 ? undefined : pending.splice(found, 1)[0]?.index;
}

/** Not joined: gmn itself made each part of a prompt, for a note, a file or the text. */
function toItems(parts: readonly Part[]): readonly Item[] {
  return parts.flatMap((part) => toItem(part) ?? []);
}

/** Joins adjacent texts of one kind, because the API splits them arbitrarily. Never joins to items before `begin`. */
function addItem(items: Item[], item: Item | undefined, begin: number): void {
  if (item === undefined) return;
  const last = items.length > begin ? items.at(-1) : undefined;
  if ((item.type === 'text' || item.type === 'thought') && last?.type === item.type) {
    items[items.length - 1] = { ...item, text: last.text + item.text };
  } else items.push(item);
}

function toItem(part: Part): Item | undefined {
  if ('functionCall' in part) {
    const { id, name, args = {} } = part.functionCall;
    return { type: 'call', id, name: name || UNNAMED_TOOL, args, answer: undefined };
  }
  if ('functionResponse' in part) {
    const { id, name, response = {} } = part.functionResponse;
    return { type: 'answer', id, name: name || UNNAMED_TOOL, answer: { response, media: [] } };
  }
  if ('inlineData' in part) return { type: 'media', ...part.inlineData };
  if ('fileData' in part) return { type: 'note', text: `Attached: ${describeFile(part)}. The file is not kept here.` };
  if ('executableCode' in part && isObject(part.executableCode)) {
    const { code, language } = part.executableCode;
    return { type: 'code', code: toText(code), language: toText(language).toLowerCase() };
  }
  if ('codeExecutionResult' in part && isObject(part.codeExecutionResult)) {
    const outcome = toText(part.codeExecutionResult.outcome);
    return { type: 'output', output: toText(part.codeExecutionResult.output), outcome, ok: outcome === 'OUTCOME_OK' };
  }
  if (!('text' in part) || typeof part.text !== 'string') return { type: 'other', part };
  return part.text === '' ? undefined : { type: part.thought ? 'thought' : 'text', text: part.text };
}

function toText(value: unknown): string {
  return toNonEmptyString(value) ?? '';
}

function formatEnding(finishReason: string | undefined): string | undefined {
  if (finishReason === 'STOP') return undefined;
  return finishReason === undefined ? 'The answer was cut off here.' : `The answer ended with ${finishReason}.`;
}

/** Untrusted text. */
export function listFacts({ summary, records }: SavedSession): readonly (readonly [name: string, value: string])[] {
  const { id, name, model, cwd, createdAt, updatedAt, turns } = summary;
  const tokens = formatTokens(sumUsage(records));
  return [
    ['Session', name === undefined ? id : `${name} (${id})`],
    ...(model === undefined ? [] : [['Model', model] as const]),
    ['Directory', cwd],
    ['Begun', formatTime(createdAt)],
    ['Last used', formatTime(updatedAt)],
    ['Turns', formatCount(turns)],
    ...(tokens === '' ? [] : [['Tokens', tokens] as const]),
  ];
}

export function sumUsage(records: SavedSession['records']): Usage {
  let total = NO_USAGE;
  for (const record of records) if ('usage' in record) total = addUsage(total, record.usage);
  return total;
}

export function formatTokens({ promptTokenCount, candidatesTokenCount, thoughtsTokenCount }: Usage): string {
  const out =
    candidatesTokenCount === undefined && thoughtsTokenCount === undefined
      ? undefined
      : (candidatesTokenCount ?? 0) + (thoughtsTokenCount ?? 0);
  return [
    ...(promptTokenCount === undefined ? [] : [`${formatCount(promptTokenCount)} in`]),
    ...(out === undefined ? [] : [`${formatCount(out)} out`]),
  ].join(' · ');
}

/** `2026-01-31 09:05 UTC` */
export function formatTime(at: number): string {
  return `${toIsoTime(at).slice(0, 16).replace('T', ' ')} UTC`;
}

/** ISO 8601. An invalid time becomes 1970 instead of throwing, so that one bad record does not prevent the export. */
export function toIsoTime(at: number): string {
  const time = new Date(at);
  return (Number.isNaN(time.getTime()) ? new Date(0) : time).toISOString();
}

/** Undefined if the response has more than `{ output }` or `{ error }`. */
export function findPlainResult(response: JsonObject) {
  const [entry, ...rest] = Object.entries(response).filter(([, value]) => value !== undefined);
  if (entry === undefined || rest.length > 0) return undefined;
  const [name, value] = entry;
  if (typeof value !== 'string' || (name !== 'output' && name !== 'error')) return undefined;
  return { text: value, isError: name === 'error' };
}
