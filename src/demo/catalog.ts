import type { JsonObject } from '../core/json.ts';
import { slicePage } from './request.ts';
import { isFourthFamily } from './rules.ts';

const GENERATE = ['generateContent', 'countTokens', 'createCachedContent', 'batchGenerateContent'];
const EMBED = ['embedContent', 'countTextTokens', 'countTokens', 'asyncBatchEmbedContent'];

/** The demo also serves any other id that looks like one of Google's. */
const LISTED = [
  'gemini-2.5-flash',
  'gemini-2.5-flash-lite',
  'gemini-2.5-pro',
  'gemini-3-flash-preview',
  'gemini-3-pro-preview',
  'gemini-3.1-flash-lite',
  'gemini-3.1-pro-preview',
  'gemini-3.5-flash',
  'gemini-3.5-flash-lite',
  'gemini-3.6-flash',
  'gemini-3.7-flash',
  'gemini-3.8-flash',
  'gemini-4-hydrogen',
  'gemini-4-argon',
  'gemini-4-carbon',
  'gemini-flash-latest',
  'gemini-flash-lite-latest',
  'gemini-pro-latest',
  'gemini-3.1-flash-image',
  'gemini-embedding-001',
] as const;

const LATEST: Readonly<Record<string, string>> = {
  'gemini-flash-latest': 'gemini-3.8-flash',
  'gemini-flash-lite-latest': 'gemini-3.5-flash-lite',
  'gemini-pro-latest': 'gemini-3.1-pro-preview',
};

const FAMILY = /^(gemini|gemma|text-embedding|embedding)-[a-z0-9.-]+$/;
const RETIRED = /^gemini-(1\.|pro$|pro-vision$)/;
/** They answer other APIs only. */
const OF_OTHER_APIS = /^gemini-(decision|omni)-|-live(-|$)/;

export function isServed(model: string): boolean {
  return FAMILY.test(model) && !RETIRED.test(model) && !OF_OTHER_APIS.test(model);
}

export function isEmbedding(model: string): boolean {
  return model.includes('embedding');
}

export function toModelVersion(model: string): string {
  return LATEST[model] ?? model;
}

export const GENERATING_MODELS: readonly string[] = LISTED.filter((id) => !isEmbedding(id) && LATEST[id] === undefined);

/** In tokens. */
export function findInputLimit(id: string): number {
  return isEmbedding(id) ? 2048 : 1_048_576;
}

export function toModelResource(id: string): JsonObject {
  const displayName = id
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ');
  const common = {
    name: `models/${id}`,
    version: '001',
    displayName,
    description: `${displayName}, played by gmn's demo`,
  };
  if (isEmbedding(id)) {
    return { ...common, inputTokenLimit: findInputLimit(id), outputTokenLimit: 1, supportedGenerationMethods: EMBED };
  }
  return {
    ...common,
    inputTokenLimit: findInputLimit(id),
    outputTokenLimit: 65_536,
    supportedGenerationMethods: isFourthFamily(id)
      ? GENERATE.filter((method) => method !== 'createCachedContent')
      : GENERATE,
    temperature: 1,
    topP: 0.95,
    topK: 64,
    maxTemperature: 2,
    thinking: true,
  };
}

export function listModelResources(query: URLSearchParams): JsonObject {
  const { items, next } = slicePage(LISTED, query, { usual: 50, most: 1000 });
  return { models: items.map(toModelResource), ...next };
}

export function listPublisherModels(): JsonObject {
  return { publisherModels: LISTED.map((id) => ({ name: `publishers/google/models/${id}`, versionId: 'default' })) };
}
