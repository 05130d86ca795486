import { isObject, type JsonObject, toJsonObject } from '../core/json.ts';
import { estimateTokens } from '../core/usage.ts';
import { joinPartTexts } from './request.ts';

const DIMENSIONS = 3072;

export function embedResponse(verb: 'embedContent' | 'batchEmbedContents' | 'predict', body: JsonObject): JsonObject {
  if (verb === 'embedContent') return { embedding: createEmbedding(body) };
  if (verb === 'batchEmbedContents') return { embeddings: toObjects(body.requests).map(createEmbedding) };
  const { outputDimensionality } = toJsonObject(body.parameters);
  return {
    predictions: toObjects(body.instances).map(({ content }) => {
      const text = String(content ?? '');
      const statistics = { truncated: false, token_count: estimateTokens(text) };
      return { embeddings: { values: hashToVector(text, outputDimensionality), statistics } };
    }),
  };
}

export function toEmbedResponse(verb: string, recorded: JsonObject): JsonObject {
  const { embeddings } = recorded;
  if (verb !== 'embedContent' || !Array.isArray(embeddings)) return recorded;
  return { embedding: embeddings[0] ?? {} };
}

export function hasSomethingToEmbed(body: JsonObject): boolean {
  return (
    isObject(body.content) || [body.requests, body.instances].some((list) => Array.isArray(list) && list.length > 0)
  );
}

function createEmbedding(request: JsonObject): JsonObject {
  const { parts } = toJsonObject(request.content);
  return {
    values: hashToVector(
      joinPartTexts(toObjects(parts)),
      request.outputDimensionality ?? request.output_dimensionality,
    ),
  };
}

function hashToVector(text: string, wanted: unknown): readonly number[] {
  const length = typeof wanted === 'number' && wanted > 0 ? Math.min(Math.floor(wanted), DIMENSIONS) : DIMENSIONS;
  const raw = Array.from({ length }, (_value, index) => hash32(text, index + 1) / 0x8000_0000 - 1);
  const norm = Math.hypot(...raw) || 1;
  return raw.map((value) => Number((value / norm).toFixed(8)));
}

export function toObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(toJsonObject) : [];
}

/** FNV-1a over UTF-16 units, 32 bits: stable across releases, not for secrets. */
export function hash32(text: string, seed = 0): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash;
}

export function hashHex(text: string, seed = 0): string {
  return hash32(text, seed).toString(16).padStart(8, '0');
}
