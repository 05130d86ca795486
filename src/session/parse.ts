import { basename } from 'node:path';
import type { Part, StoredContent } from '../core/content.ts';
import type { PageStep } from '../core/event.ts';
import type { ConversationSummary } from '../core/history.ts';
import {
  filterObjects,
  isCount,
  isObject,
  omitUndefined,
  toNonEmptyString,
  toTimestamp,
  tryParseJson,
} from '../core/json.ts';
import type { KeptSetup, SessionSource, SessionStart } from '../core/session.ts';
import { USAGE_KEYS, type Usage } from '../core/usage.ts';
import {
  type BlobReferences,
  type CompactRecord,
  type FileRecord,
  type Header,
  type RecordBody,
  type ShortenedReference,
  VERSION,
} from './record.ts';

/** Accepts headers of every version; undefined if the line is not a header. */
export function tryParseHeader(text: string): Header | undefined {
  const value = tryParseJson(text);
  if (!isObject(value) || value.type !== 'session' || !Number.isInteger(value.v)) return undefined;
  const { id, cwd } = value;
  const at = toTimestamp(value.t);
  if (typeof id !== 'string' || typeof cwd !== 'string' || at === undefined) return undefined;
  const name = toNonEmptyString(value.name);
  const parent = isObject(value.parent) ? toNonEmptyString(value.parent.id) : undefined;
  return {
    v: Number(value.v),
    id,
    at,
    cwd,
    by: tryParseSource(value.by) ?? 'prompt',
    gmn: toNonEmptyString(value.gmn) ?? '',
    title: toNonEmptyString(value.title) ?? '',
    name,
    parent: parent === undefined ? undefined : { id: parent },
  };
}

/** Large media are not in its contents; `blobs` says which to fetch. */
export interface ReadRecord extends FileRecord {
  readonly blobs: BlobReferences;
}

export function tryParseRecord(text: string): ReadRecord | undefined {
  const value = tryParseJson(text);
  if (!isObject(value)) return undefined;
  const { seq, turn } = value;
  const at = toTimestamp(value.t);
  const entry = tryParseRecordBody(value);
  if (!isCount(seq) || !isCount(turn) || at === undefined || entry === undefined) return undefined;
  return {
    seq,
    at,
    body: entry,
    state: {
      turn,
      name: toNonEmptyString(value.name),
      model: toNonEmptyString(value.model),
      by: tryParseSource(value.by),
      unanswered: value.unanswered === true ? true : undefined,
    },
    blobs: toBlobReferences(value.blobs),
  };
}

function tryParseSource(value: unknown): SessionSource | undefined {
  return (['chat', 'prompt', 'mcp', 'agent'] as const).find((source) => source === value);
}

function tryParseRecordBody(value: Readonly<Record<string, unknown>>): RecordBody | undefined {
  const { type } = value;
  if (type === 'name') return { kind: type };
  if (type === 'setup') return isObject(value.chosen) ? { kind: type, chosen: toSetup(value.chosen) } : undefined;
  if (type === 'partial') return typeof value.text === 'string' ? { kind: type, text: value.text } : undefined;
  if (type === 'rewind') return isCount(value.turns) ? { kind: type, turns: value.turns } : undefined;
  if (type === 'replace') {
    const contents = Array.isArray(value.contents) ? value.contents.map(tryParseStoredContent) : undefined;
    return contents?.every(isDefined) ? { kind: type, contents } : undefined;
  }
  if (type === 'compact') return tryParseCompaction(value);
  const content = tryParseStoredContent(value.content);
  if (content === undefined) return undefined;
  if (type === 'prompt' || type === 'answer') return { kind: type, content };
  const reply = {
    content,
    usage: toStoredUsage(value.usage),
    model: toNonEmptyString(value.model) ?? '',
    pages: toStoredPages(value.pages),
  };
  if (type === 'call') return { kind: type, ...reply };
  if (type !== 'reply') return undefined;
  return { kind: type, ...reply, finishReason: toNonEmptyString(value.finishReason) };
}

function tryParseCompaction({
  length,
  summary,
  outputs,
}: Readonly<Record<string, unknown>>): CompactRecord | undefined {
  const found = Array.isArray(outputs) ? outputs.map(tryParseShortened) : undefined;
  const text = tryParseSummary(summary);
  if (!isCount(length) || !found?.every(isDefined) || (text === undefined && summary !== undefined)) return undefined;
  // Contents after `length` did not exist then; a record that replaces them is damaged.
  if ((text?.end ?? 0) > length || found.some(([content]) => content >= length)) return undefined;
  return { kind: 'compact', length, summary: text, outputs: found };
}

function tryParseShortened(value: unknown): ShortenedReference | undefined {
  if (!Array.isArray(value)) return undefined;
  const [content, part, head, tail, print] = value as readonly unknown[];
  if (!isCount(content) || !isCount(part) || !isCount(head) || !isCount(tail)) return undefined;
  return typeof print === 'string' && PRINT.test(print)
    ? [content, part, head, tail, print]
    : [content, part, head, tail];
}

/** Checked because it becomes part of a path. */
const PRINT = /^[0-9a-f]{64}$/;

function tryParseSummary(value: unknown): ConversationSummary | undefined {
  if (!isObject(value) || !isCount(value.end)) return undefined;
  const { end, prompt, promptLimit } = value;
  const text = toNonEmptyString(value.text);
  if (text === undefined) return undefined;
  return {
    text,
    end,
    prompt: isCount(prompt) ? prompt : undefined,
    promptLimit: isCount(promptLimit) ? promptLimit : undefined,
  };
}

function toSetup(value: Readonly<Record<string, unknown>>): KeptSetup {
  const model = toNonEmptyString(value.model);
  const system = toNonEmptyString(value.system);
  const isPath = system?.startsWith('@');
  const systemText = toNonEmptyString(value.systemText) ?? (isPath ? undefined : system);
  const appendText = toNonEmptyString(value.appendText);
  const start = tryParseStart(value.start);
  // Absent fields leave a chat that switches to this session as it is.
  return omitUndefined({ model, system: isPath ? system : undefined, systemText, appendText, start });
}

function tryParseStart(value: unknown): SessionStart | undefined {
  if (!isObject(value)) return undefined;
  const date = toNonEmptyString(value.date);
  const branch = toNonEmptyString(value.branch);
  return date === undefined ? undefined : { date, branch };
}

/** Keeps unknown fields. Undefined if the value is not a content. */
function tryParseStoredContent(value: unknown): StoredContent | undefined {
  if (!isObject(value) || !Array.isArray(value.parts) || !value.parts.every(isObject)) return undefined;
  if (value.role !== 'user' && value.role !== 'model') return undefined;
  return { ...value, role: value.role, parts: value.parts as readonly Part[] };
}

function toStoredUsage(value: unknown): Usage {
  if (!isObject(value)) return {};
  const counts = USAGE_KEYS.flatMap((key) => (typeof value[key] === 'number' ? [[key, value[key]] as const] : []));
  return Object.fromEntries(counts);
}

function toStoredPages(value: unknown): readonly PageStep[] | undefined {
  const pages = filterObjects(value).flatMap(({ url, ok, status }): readonly PageStep[] => {
    if (typeof url !== 'string') return [];
    return [{ kind: 'page', url, ok: ok === true, status: typeof status === 'string' ? status : '' }];
  });
  return pages.length === 0 ? undefined : pages;
}

function toBlobReferences(value: unknown): BlobReferences {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown) => {
    if (!Array.isArray(item)) return [];
    const [content, part, print] = item as readonly unknown[];
    return isCount(content) && isCount(part) && typeof print === 'string' ? [[content, part, print] as const] : [];
  });
}

function isDefined<Value>(value: Value | undefined): value is Value {
  return value !== undefined;
}

const NAME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-(\w[\w-]{0,63})\.jsonl$/;

/** The id in the name of a session's file, without a directory; undefined if it is not such a name. */
export function findSessionId(name: string): string | undefined {
  return NAME.exec(name)?.[7];
}

export interface RecoveredHeader extends Header {
  /** True if the line could not be parsed, or its id differs from the one in the file name. */
  readonly isDamaged: boolean;
}

/** With the id of the file name, from which a damaged line is recovered, too. Undefined if that is no session's. */
export function recoverHeader(file: string, first: string): RecoveredHeader | undefined {
  const id = findSessionId(basename(file));
  if (id === undefined) return undefined;
  const header = tryParseHeader(first);
  if (header !== undefined) return { ...header, id, isDamaged: header.id !== id };
  const cwd = findStringField(first, 'cwd') ?? '';
  const title = findStringField(first, 'title') ?? '';
  return { v: VERSION, id, at: toFileTime(file), cwd, by: 'chat', gmn: '', title, isDamaged: true };
}

function findStringField(line: string, key: string): string | undefined {
  const value = new RegExp(`"${key}":("(?:[^"\\\\]|\\\\.)*")`).exec(line)?.[1];
  return value && toNonEmptyString(tryParseJson(value));
}

function toFileTime(file: string): number {
  const time = Date.parse(basename(file).replace(NAME, '$1-$2-$3T$4:$5:$6Z'));
  return Number.isNaN(time) ? 0 : time;
}
