import { isTooDeep, type JsonValue, tryParseJson } from '../core/json.ts';
import type { RecordedChunk } from './exchange.ts';
import { addMedia, type Media } from './media.ts';
import { tryDecode } from './stored-request.ts';

/** Bytes as they came; `ms` since the request. */
export interface Piece {
  readonly ms: number;
  readonly bytes: Buffer;
}

/** The events of a stream, or the whole body, each with the time at which its last byte came. */
export function toChunks(pieces: readonly Piece[], isSse: boolean, media: Media): readonly RecordedChunk[] {
  const bytes = Buffer.concat(pieces.map((piece) => piece.bytes));
  if (bytes.length === 0) return [];
  const lastMs = pieces.at(-1)?.ms ?? 0;
  const text = tryDecode(bytes);
  if (text === undefined) return [{ ms: lastMs, media: addMedia(bytes, media) }];
  if (!isSse) return [{ ms: lastMs, ...toData(text, text) }];
  let end = 0;
  let read = 0;
  let index = -1;
  return text.split(/(?<=\r\n\r\n|\n\n|\r\r)/).map((event) => {
    end += Buffer.byteLength(event);
    for (; read < end; read += pieces[index]?.bytes.length ?? 0) index += 1;
    const json = readOnlyData(event);
    const ms = pieces[index]?.ms ?? lastMs;
    return json === undefined ? { ms, text: event } : { ms, ...toData(json, event) };
  });
}

/** The data of an event that has one line, and nothing else. The end of a stream that was cut has no blank line. */
export function readOnlyData(event: string): string | undefined {
  const line = event.trimEnd();
  if (line === event || !line.startsWith('data:') || /[\r\n]/.test(line)) return undefined;
  return line.slice('data:'.length).trimStart();
}

/** As JSON if it can be written again without a change of its values. */
function toData(json: string, text: string): { readonly data: JsonValue } | { readonly text: string } {
  const value = tryParseJson(json) as JsonValue | undefined;
  if (value === undefined || typeof value !== 'object' || value === null || isTooDeep(value)) return { text };
  return hasPlainNumbers(json) ? { data: value } : { text };
}

/** Not `1.0`, nor a number with more digits than JavaScript keeps. */
function hasPlainNumbers(json: string): boolean {
  const number = /-?\d[\d.eE+-]*/y;
  for (let at = 0; at < json.length; at += 1) {
    if (json[at] === '"') at = findStringEnd(json, at);
    number.lastIndex = at;
    const [found] = number.exec(json) ?? [];
    if (found === undefined) continue;
    if (String(Number(found)) !== found) return false;
    at += found.length - 1;
  }
  return true;
}

function findStringEnd(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at += 1) {
    if (json[at] === '\\') at += 1;
    else if (json[at] === '"') return at;
  }
  return json.length;
}
