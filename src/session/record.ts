import type { MediaPart, Part, StoredContent } from '../core/content.ts';
import type { ConversationSummary, TurnRecord } from '../core/history.ts';
import type { KeptSetup, SessionSource } from '../core/session.ts';
import type { BlobStore } from '../platform/files/blobs.ts';
import { toPosixCode } from '../platform/files/path.ts';
import { errorReason } from '../platform/runtime/system.ts';

/** See docs/sessions.md. */
export const VERSION = 1;

export interface Header {
  readonly v: number;
  readonly id: string;
  readonly at: number;
  readonly cwd: string;
  readonly by: SessionSource;
  readonly gmn: string;
  readonly title: string;
  readonly name?: string;
  readonly parent?: { readonly id: string };
}

/** State repeated in every record, so that a list needs to read only the last one. */
export interface SessionState {
  readonly turn: number;
  readonly name?: string;
  readonly model?: string;
  readonly by?: SessionSource;
  readonly unanswered?: true;
}

export type RecordBody =
  | TurnRecord
  /** Text of a reply in progress, since the last partial record. */
  | { readonly kind: 'partial'; readonly text: string }
  | { readonly kind: 'setup'; readonly chosen: KeptSetup }
  /** Changes the name to that of this record's state, which may be none. */
  | { readonly kind: 'name' }
  | { readonly kind: 'rewind'; readonly turns: number }
  | { readonly kind: 'replace'; readonly contents: readonly StoredContent[] }
  | CompactRecord;

/** A compaction. `outputs` is the last key of its line, so that the files it needs are found without parsing it. */
export interface CompactRecord {
  readonly kind: 'compact';
  /** How many contents there were. If the number differs when it is read, a record is lost and the indices are wrong. */
  readonly length: number;
  readonly summary?: ConversationSummary;
  readonly outputs: readonly ShortenedReference[];
}

/** A shortened output; `print` is the fingerprint of the blob that has all of it. */
export type ShortenedReference = readonly [content: number, part: number, head: number, tail: number, print?: string];

/** Media stored as blobs: index of the content, index of the part, fingerprint of the blob. */
export type BlobReferences = readonly (readonly [content: number, part: number, print: string])[];

export interface FileRecord {
  readonly seq: number;
  readonly at: number;
  readonly state: SessionState;
  readonly body: RecordBody;
}

export function listContents(entry: RecordBody): readonly StoredContent[] {
  if ('content' in entry) return [entry.content];
  return entry.kind === 'replace' ? entry.contents : [];
}

export function formatHeader({ v, id, at, ...rest }: Header): string {
  return `${JSON.stringify({ v, type: 'session', id, t: formatIsoTime(at), ...rest })}\n`;
}

/** Ends with a newline. `references` lists the media that were moved into blobs. */
export function encodeRecord({ seq, at, state, body }: FileRecord, references: BlobReferences = []): string {
  const { kind, ...fields } = body;
  const { turn, name, model, by, unanswered } = state;
  const blobs = references.length === 0 ? undefined : references;
  return `${JSON.stringify({ seq, t: formatIsoTime(at), type: kind, turn, name, model, by, unanswered, ...fields, blobs })}\n`;
}

const TITLE_LENGTH = 100;

const MAX_TYPED_LENGTH = TITLE_LENGTH * 10;

/** The prompt as one short line. Untrusted text. */
export function deriveTitle({ parts, question }: StoredContent): string {
  const texts = parts.flatMap((part) => ('text' in part && typeof part.text === 'string' ? [part.text] : []));
  const line = (typeof question === 'string' ? question : findTypedText(texts))
    .slice(0, MAX_TYPED_LENGTH)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH - 1).toWellFormed()}…` : line;
}

/** The user's text comes last: after command output and media names, and in the same text after files and stdin. */
function findTypedText(texts: readonly string[]): string {
  const last = texts.findLast((text) => text.trim() !== '' && !/^=== .* ===$/.test(text));
  if (last === undefined) return texts.join(' ');
  if (last.length <= MAX_TYPED_LENGTH && !last.startsWith('=== ')) return last;
  const end = last.trimEnd();
  return end.slice(end.lastIndexOf('\n\n') + 1);
}

export function formatFileName(at: number, id: string): string {
  return `${formatIsoTime(at).replace(/[-:]|\.\d+/g, '')}-${id}.jsonl`;
}

/** 64 KiB as base64, which is a third longer than the bytes. */
const MAX_INLINE_LENGTH = Math.ceil((64 * 1024 * 4) / 3);

export function hasLargeMedia(entry: RecordBody): boolean {
  return listContents(entry).some(({ parts }) => parts.some(isLarge));
}

/** Writes large media to blobs first. Throws what the system throws. */
export async function writeBlobsAndFormat(line: FileRecord, blobs: BlobStore): Promise<string> {
  if (!hasLargeMedia(line.body)) return encodeRecord(line);
  const { entry, references } = await extractMedia(line.body, blobs);
  return encodeRecord({ ...line, body: entry }, references);
}

async function extractMedia(
  entry: RecordBody,
  blobs: BlobStore,
): Promise<{ readonly entry: RecordBody; readonly references: BlobReferences }> {
  const references: [number, number, string][] = [];
  const contents: StoredContent[] = [];
  for (const [index, content] of listContents(entry).entries()) {
    const parts: Part[] = [];
    for (const [at, part] of content.parts.entries()) {
      const bytes = findLargeBytes(part);
      if (bytes !== undefined) references.push([index, at, await blobs.put(bytes)]);
      parts.push(
        bytes !== undefined && isMediaPart(part) ? { ...part, inlineData: { ...part.inlineData, data: '' } } : part,
      );
    }
    contents.push({ ...content, parts });
  }
  return { entry: replaceContents(entry, contents), references };
}

/** A text replaces a blob that is gone, and `onMissing` is called. */
export async function restoreMedia(
  entry: RecordBody,
  references: BlobReferences,
  { blobs, onMissing }: { readonly blobs: BlobStore; readonly onMissing: () => void },
): Promise<RecordBody> {
  if (references.length === 0) return entry;
  const contents = listContents(entry).map((content) => ({ ...content, parts: [...content.parts] }));
  for (const [index, at, print] of references) {
    const parts = contents[index]?.parts;
    const part = parts?.[at];
    if (parts === undefined || part === undefined || !isMediaPart(part)) continue;
    const bytes = await blobs.get(print);
    if (bytes === undefined) onMissing();
    parts[at] =
      bytes === undefined
        ? { text: `[an attachment of type ${part.inlineData.mimeType} was here; it is no longer kept]` }
        : { ...part, inlineData: { ...part.inlineData, data: bytes.toString('base64') } };
  }
  return replaceContents(entry, contents);
}

function replaceContents(entry: RecordBody, contents: readonly StoredContent[]): RecordBody {
  if (entry.kind === 'replace') return { ...entry, contents };
  const [content] = contents;
  return 'content' in entry && content !== undefined ? { ...entry, content } : entry;
}

function isMediaPart(part: Part): part is MediaPart {
  return 'inlineData' in part && typeof part.inlineData?.data === 'string';
}

function isLarge(part: Part): part is MediaPart {
  return isMediaPart(part) && part.inlineData.data.length > MAX_INLINE_LENGTH;
}

/** Undefined for small media, and for base64 that would not come back identical. */
function findLargeBytes(part: Part): Buffer | undefined {
  if (!isLarge(part)) return undefined;
  const bytes = Buffer.from(part.inlineData.data, 'base64');
  return bytes.toString('base64') === part.inlineData.data ? bytes : undefined;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be larger than allowed',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOTDIR: 'a file is where a directory should be',
  EMFILE: 'too many open files',
  ENFILE: 'too many open files',
};

export function formatSaveError(thrown: unknown): string {
  return REASONS[toPosixCode(thrown)] ?? errorReason(thrown);
}

/** Same text as `toISOString`, which makes V8 load the time zone: 0.8 MB and 0.2 ms of every short run. */
export function formatIsoTime(at: number): string {
  const date = new Date(at);
  const year = date.getUTCFullYear();
  // Other years are written with a sign or leading zeros; an invalid date throws.
  if (!(year >= 1000 && year <= 9999)) return date.toISOString();
  const day = `${year}-${padTwo(date.getUTCMonth() + 1)}-${padTwo(date.getUTCDate())}`;
  const time = `${padTwo(date.getUTCHours())}:${padTwo(date.getUTCMinutes())}:${padTwo(date.getUTCSeconds())}`;
  return `${day}T${time}.${String(date.getUTCMilliseconds()).padStart(3, '0')}Z`;
}

function padTwo(number: number): string {
  return String(number).padStart(2, '0');
}
