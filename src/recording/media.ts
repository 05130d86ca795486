import { basename, dirname, join } from 'node:path';
import { isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { type BlobStore, createBlobStore } from '../platform/files/blobs.ts';
import { sha256 } from '../platform/runtime/native.ts';

/** In characters of base64: longer data are kept in a file of their own. */
export const INLINE_LENGTH = 4096;

/** Fields whose value is data in base64: `inlineData.data`, `bytesBase64Encoded`, `imageBytes`. */
const DATA_KEY = /^(?:data|\w*bytes(?:base64encoded)?)$/i;

/** By SHA-256 in hex. */
export type Media = Map<string, Uint8Array>;

/** Stands for the data with this SHA-256, which are base64 in the value itself. */
const REFERENCE = '$media';

/** `calls.jsonl` keeps its media in `calls.media/`. */
export function openMedia(path: string): BlobStore {
  return createBlobStore(join(dirname(path), `${basename(path).replace(/\.jsonl?$/, '')}.media`));
}

export function isDataKey(key: string): boolean {
  return DATA_KEY.test(key);
}

/** Replaces long data by references, and adds what they refer to. */
export function detachMedia(value: JsonValue, media: Media): JsonValue {
  return mapData(value, (data) => {
    if (typeof data !== 'string' || data.length <= INLINE_LENGTH) return data;
    const bytes = Buffer.from(data, 'base64');
    // Another spelling of base64 would come back differently.
    if (bytes.toString('base64') !== data) return data;
    return { [REFERENCE]: addMedia(bytes, media) };
  });
}

export function addMedia(bytes: Uint8Array, media: Media): string {
  const print = sha256(bytes);
  media.set(print, bytes);
  return print;
}

export function listReferences(value: JsonValue): readonly string[] {
  const found: string[] = [];
  mapData(value, (data) => {
    const print = readReference(data);
    if (print !== undefined) found.push(print);
    return data;
  });
  return found;
}

/** The opposite of `detachMedia`; a reference that is not among the media stays. */
export function insertMedia(value: JsonValue, media: ReadonlyMap<string, Uint8Array>): JsonValue {
  return mapData(value, (data) => {
    const bytes = media.get(readReference(data) ?? '');
    return bytes === undefined ? data : Buffer.from(bytes).toString('base64');
  });
}

function readReference(value: JsonValue | undefined): string | undefined {
  const print = isObject(value) ? value[REFERENCE] : undefined;
  return typeof print === 'string' ? print : undefined;
}

function mapData(value: JsonValue, change: (data: JsonValue | undefined) => JsonValue | undefined): JsonValue {
  if (isList(value)) return value.map((item) => mapData(item, change));
  if (!isObject(value)) return value;
  const entries = Object.entries(value as JsonObject).map(([key, item]) => {
    if (isDataKey(key) && (typeof item === 'string' || isObject(item))) {
      const changed = change(item);
      if (changed !== item || typeof item === 'string') return [key, changed];
    }
    return [key, item === undefined ? item : mapData(item, change)];
  });
  return Object.fromEntries(entries);
}
