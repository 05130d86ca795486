import { basename } from 'node:path';
import type { KeptContent, Part } from '../core/content.ts';
import { isObject, parseJson, stringOf } from '../core/json.ts';
import type { SessionSetup, SessionSource } from '../core/session.ts';
import { USAGE_KEYS, type Usage } from '../core/usage.ts';
import { type Apart, type Entry, type Header, type Line, VERSION } from './record.ts';

/** Accepts headers of every version; undefined if the line is not a header. */
export function parseHeader(text: string): Header | undefined {
  const value = parseJson(text);
  if (!isObject(value) || value.type !== 'session' || !Number.isInteger(value.v)) return undefined;
  const { id, cwd } = value;
  const at = timeOf(value.t);
  if (typeof id !== 'string' || typeof cwd !== 'string' || at === undefined) return undefined;
  const name = stringOf(value.name);
  const parent = isObject(value.parent) ? stringOf(value.parent.id) : undefined;
  return {
    v: Number(value.v),
    id,
    at,
    cwd,
    by: parseSource(value.by) ?? 'prompt',
    gmn: stringOf(value.gmn) ?? '',
    title: stringOf(value.title) ?? '',
    ...(name === undefined ? {} : { name }),
    ...(parent === undefined ? {} : { parent: { id: parent } }),
  };
}

/** Large media are not in its contents; `apart` says which blobs to fetch. */
export interface ReadLine extends Line {
  readonly apart: Apart;
}

/** Undefined if the line is damaged or of an unknown kind. */
export function parseLine(text: string): ReadLine | undefined {
  const value = parseJson(text);
  if (!isObject(value)) return undefined;
  const { seq, turn } = value;
  const at = timeOf(value.t);
  const entry = parseEntry(value);
  if (!isCount(seq) || !isCount(turn) || at === undefined || entry === undefined) return undefined;
  return {
    seq,
    at,
    entry,
    standing: {
      turn,
      name: stringOf(value.name),
      model: stringOf(value.model),
      by: parseSource(value.by),
      unanswered: value.unanswered === true ? true : undefined,
    },
    apart: parseApart(value.blobs),
  };
}

function parseSource(value: unknown): SessionSource | undefined {
  return value === 'chat' || value === 'prompt' || value === 'mcp' ? value : undefined;
}

function parseEntry(value: Readonly<Record<string, unknown>>): Entry | undefined {
  const { type } = value;
  if (type === 'name') return { kind: type };
  if (type === 'setup') return isObject(value.chosen) ? { kind: type, chosen: parseSetup(value.chosen) } : undefined;
  if (type === 'partial') return typeof value.text === 'string' ? { kind: type, text: value.text } : undefined;
  if (type === 'rewind') return isCount(value.turns) ? { kind: type, turns: value.turns } : undefined;
  if (type === 'replace') {
    const contents = Array.isArray(value.contents) ? value.contents.map(parseContent) : undefined;
    return contents?.every(isGiven) ? { kind: type, contents } : undefined;
  }
  const content = parseContent(value.content);
  if (content === undefined) return undefined;
  if (type === 'prompt' || type === 'answer') return { kind: type, content };
  const said = { content, usage: parseUsage(value.usage), model: stringOf(value.model) ?? '' };
  if (type === 'call') return { kind: type, ...said };
  if (type !== 'reply') return undefined;
  const finishReason = stringOf(value.finishReason);
  return { kind: type, ...said, ...(finishReason === undefined ? {} : { finishReason }) };
}

function parseSetup(value: Readonly<Record<string, unknown>>): SessionSetup {
  const model = stringOf(value.model);
  const system = stringOf(value.system);
  return { ...(model === undefined ? {} : { model }), ...(system === undefined ? {} : { system }) };
}

/** Keeps unknown fields. Undefined if the value is not a content. */
function parseContent(value: unknown): KeptContent | undefined {
  if (!isObject(value) || !Array.isArray(value.parts) || !value.parts.every(isObject)) return undefined;
  if (value.role !== 'user' && value.role !== 'model') return undefined;
  return { ...value, role: value.role, parts: parseParts(value.parts) };
}

function parseParts(parts: readonly unknown[]): readonly Part[] {
  return parts as readonly Part[];
}

function parseUsage(value: unknown): Usage {
  if (!isObject(value)) return {};
  const counts = USAGE_KEYS.flatMap((key) => (typeof value[key] === 'number' ? [[key, value[key]] as const] : []));
  return Object.fromEntries(counts);
}

function parseApart(value: unknown): Apart {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown) => {
    if (!Array.isArray(item)) return [];
    const [content, part, print] = item as readonly unknown[];
    return isCount(content) && isCount(part) && typeof print === 'string' ? [[content, part, print] as const] : [];
  });
}

function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

function isGiven<Value>(value: Value | undefined): value is Value {
  return value !== undefined;
}

const NAME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-(\w[\w-]{0,63})\.jsonl$/;

/** The id in a session's file name; undefined if it is not such a name. */
export function idIn(file: string): string | undefined {
  return NAME.exec(basename(file))?.[7];
}

export interface FoundHeader extends Header {
  /** True if the line could not be parsed, or its id differs from the one in the file name. */
  readonly isDamaged: boolean;
}

/**
 * The header of a session file, with the id of the file name. If the line is damaged, recovers what it can from it and
 * from the file name. Undefined if the file name is not that of a session.
 */
export function headerOf(file: string, first: string): FoundHeader | undefined {
  const id = idIn(file);
  if (id === undefined) return undefined;
  const header = parseHeader(first);
  if (header !== undefined) return { ...header, id, isDamaged: header.id !== id };
  const cwd = salvaged(first, 'cwd') ?? '';
  const title = salvaged(first, 'title') ?? '';
  return { v: VERSION, id, at: timeIn(file), cwd, by: 'chat', gmn: '', title, isDamaged: true };
}

function salvaged(line: string, key: string): string | undefined {
  const [, value] = new RegExp(`"${key}":("(?:[^"\\\\]|\\\\.)*")`).exec(line) ?? [];
  return value === undefined ? undefined : stringOf(parseJson(value));
}

function timeIn(file: string): number {
  const time = Date.parse(basename(file).replace(NAME, '$1-$2-$3T$4:$5:$6Z'));
  return Number.isNaN(time) ? 0 : time;
}
