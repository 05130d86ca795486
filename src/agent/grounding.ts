import type { Source } from '../core/event.ts';
import { filterObjects, isObject, type JsonObject, toNonEmptyString } from '../core/json.ts';
import type { Ground, Model, ModelRequest } from '../core/model.ts';

export function createGround(model: Model, request: Pick<ModelRequest, 'model' | 'generationConfig'>): Ground {
  return async (query, signal) => {
    const contents = [{ role: 'user', parts: [{ text: query }] }] as const;
    const stream = model.stream({ ...request, contents, tools: [{ googleSearch: {} }] }, signal);
    let text = '';
    for (;;) {
      const step = await stream.next();
      if (step.done) {
        const { grounding = {}, usage } = step.value;
        const { sources, numbers } = listSources(grounding);
        return { text: insertMarks(text, grounding, numbers), sources, usage };
      }
      if (step.value.type === 'text') text += step.value.delta;
    }
  };
}

/** What the service searched, in the order of their numbers, and after that what the answer repeats. */
export function toSources(metadata: JsonObject, citations: readonly JsonObject[] = []): readonly Source[] {
  const { sources } = listSources(metadata);
  const seen = new Set(sources.map(({ uri }) => uri));
  const repeated: Source[] = [];
  for (const { uri, title, license } of citations) {
    const source = toSource({ uri, title });
    if (source === undefined || source.uri === '' || seen.has(source.uri)) continue;
    seen.add(source.uri);
    const words = toNonEmptyString(license);
    repeated.push(words === undefined ? source : { ...source, title: `${source.title} (license: ${words})` });
  }
  return [...sources, ...repeated];
}

interface NumberedSources {
  readonly sources: readonly Source[];
  /** By the place of a chunk in the metadata: its number, from 1. Undefined for a chunk that is left out. */
  readonly numbers: readonly (number | undefined)[];
}

/** A chunk is a page, a place on a map, a passage of the user's own documents, or a picture; others are left out. */
function listSources({ groundingChunks }: JsonObject): NumberedSources {
  const sources: Source[] = [];
  const numbers = filterObjects(groundingChunks).map((chunk) => {
    const found = [chunk.web, chunk.maps, chunk.retrievedContext, chunk.image].find(isObject);
    const source = found && toSource(found);
    return source && sources.push(source);
  });
  return { sources, numbers };
}

function toSource({ title, ...place }: Readonly<Record<string, unknown>>): Source | undefined {
  const { uri, sourceUri, documentName, fileSearchStore, placeId } = place;
  const address = [uri, sourceUri, documentName, fileSearchStore, placeId].map(toNonEmptyString).find(Boolean);
  const name = toNonEmptyString(title) ?? address;
  return name === undefined ? undefined : { title: name, uri: address ?? '' };
}

/** Offsets count UTF-8 bytes. Inserts from the end, so that earlier offsets stay valid. */
function insertMarks(text: string, metadata: JsonObject, numbers: NumberedSources['numbers']): string {
  const length = Buffer.byteLength(text);
  const marks = filterObjects(metadata.groundingSupports).flatMap(({ segment, groundingChunkIndices: indices }) => {
    const end = isObject(segment) ? segment.endIndex : undefined;
    const known = Array.isArray(indices)
      ? indices.filter(Number.isInteger).flatMap((index) => numbers[index] ?? [])
      : [];
    return typeof end === 'number' && known.length > 0
      ? [{ end: Math.min(end, length), mark: known.map((number) => `[${number}]`).join('') }]
      : [];
  });
  let bytes = Buffer.from(text, 'utf8');
  for (const { end, mark } of marks.reverse().sort((left, right) => right.end - left.end)) {
    // Skip an offset inside a character.
    if (((bytes[end] ?? 0) & 0xc0) === 0x80) continue;
    bytes = Buffer.concat([bytes.subarray(0, end), Buffer.from(mark), bytes.subarray(end)]);
  }
  return bytes.toString('utf8');
}
