import type { Source } from '../core/event.ts';
import { filterObjects, isObject, type JsonObject, toNonEmptyString } from '../core/json.ts';
import type { Ground, GroundedAnswer, Model, ModelRequest } from '../core/model.ts';

export function createGround(model: Model, request: Pick<ModelRequest, 'model' | 'generationConfig'>): Ground {
  return async (query, signal) => {
    const contents = [{ role: 'user', parts: [{ text: query }] }] as const;
    const stream = model.stream({ ...request, contents, tools: [{ googleSearch: {} }] }, signal);
    let text = '';
    for (;;) {
      const step = await stream.next();
      if (step.done) return { ...toGrounded(text, step.value.grounding ?? {}), usage: step.value.usage };
      if (step.value.type === 'text') text += step.value.delta;
    }
  };
}

export function toSources(metadata: JsonObject): readonly Source[] {
  return filterObjects(metadata.groundingChunks).map(({ web }) => {
    const { title, uri } = isObject(web) ? web : {};
    return { title: toNonEmptyString(title) ?? toNonEmptyString(uri) ?? 'untitled', uri: toNonEmptyString(uri) ?? '' };
  });
}

function toGrounded(text: string, metadata: JsonObject): Omit<GroundedAnswer, 'usage'> {
  const sources = toSources(metadata);
  return { text: insertMarks(text, metadata, sources.length), sources };
}

/** Offsets count UTF-8 bytes. Inserts from the end, so that earlier offsets stay valid. */
function insertMarks(text: string, metadata: JsonObject, sourceCount: number): string {
  const length = Buffer.byteLength(text);
  const marks = filterObjects(metadata.groundingSupports).flatMap(({ segment, groundingChunkIndices: indices }) => {
    const end = isObject(segment) ? segment.endIndex : undefined;
    const known = Array.isArray(indices)
      ? indices.filter((index) => Number.isInteger(index) && index >= 0 && index < sourceCount)
      : [];
    return typeof end === 'number' && known.length > 0
      ? [{ end: Math.min(end, length), mark: known.map((index) => `[${index + 1}]`).join('') }]
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
