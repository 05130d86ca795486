import { refused } from '../core/error.ts';
import { isObject } from '../core/json.ts';
import type { ModelRequest } from '../core/model.ts';
import type { ListedModel } from '../models/table.ts';
import { modelPath } from './endpoint.ts';
import { type GeminiApiPlace, geminiApiUrl } from './gemini-api.ts';
import { type Caller, callJson, type Fields } from './json-call.ts';
import type { Inquiries } from './queries.ts';

const PAGE_SIZE = 1000;
/** A server that never stops giving page tokens is not believed. */
const MAX_PAGES = 100;

/** What the Gemini API answers besides model calls. */
export function geminiApiInquiries(place: GeminiApiPlace, caller: Caller): Inquiries {
  const listModels = (signal: AbortSignal): Promise<readonly ListedModel[]> =>
    allPages(async (pageToken) => {
      const page = pageToken === undefined ? '' : `&pageToken=${encodeURIComponent(pageToken)}`;
      const url = geminiApiUrl(place, `models?pageSize=${PAGE_SIZE}${page}`);
      return callJson(caller, { url, asks: 'a list of models' }, signal);
    }, 'models');
  return {
    listModels,
    async countTokens(request, signal) {
      const path = modelPath(request.model);
      const url = geminiApiUrl(place, `${path}:countTokens`);
      const answer = await callJson(caller, { url, body: countBody(request, path), model: request.model }, signal);
      return parseCount(answer);
    },
    async embed({ model, text }, signal) {
      const path = modelPath(model);
      const body = { model: path, content: { parts: [{ text }] } };
      const { embedding } = await callJson(
        caller,
        { url: geminiApiUrl(place, `${path}:embedContent`), body, model },
        signal,
      );
      return parseVector(embedding);
    },
    standing: async (signal) => ({ lines: [`The Gemini API accepts it: ${count(await listModels(signal))}.`] }),
  };
}

/** How many models, in words. */
export function count(models: readonly ListedModel[]): string {
  return `${models.length} ${models.length === 1 ? 'model' : 'models'}`;
}

/** A system instruction and tools count only inside a whole request, and that must name its model again. */
function countBody({ contents, systemInstruction, tools }: ModelRequest, model: string): object {
  if (systemInstruction === undefined && tools === undefined) return { contents };
  return { generateContentRequest: { model, contents, systemInstruction, tools } };
}

/** The number in the answer to `countTokens`. Throws AppError `api` if there is none. */
export function parseCount({ totalTokens }: Fields): number {
  if (typeof totalTokens === 'number' && Number.isSafeInteger(totalTokens) && totalTokens >= 0) return totalTokens;
  throw refused('api', 'the server did not say how many tokens there are', {
    hint: 'Try again, or choose another model with -m.',
  });
}

/** The numbers of `{ values }`. Throws AppError `api` if there are none. */
export function parseVector(embedding: unknown): readonly number[] {
  const values = isObject(embedding) ? embedding.values : undefined;
  const isWhole = Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === 'number');
  if (isWhole) return values;
  throw refused('api', 'the server sent no embedding', { hint: 'Try again.' });
}

/** The models of all pages of a list, in its order, each once. */
export async function allPages(
  fetchPage: (pageToken: string | undefined) => Promise<Fields>,
  key: string,
): Promise<readonly ListedModel[]> {
  const found = new Map<string, ListedModel>();
  let pageToken: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const { [key]: models, nextPageToken } = await fetchPage(pageToken);
    for (const model of Array.isArray(models) ? models.flatMap(parseListed) : []) found.set(model.id, model);
    if (typeof nextPageToken !== 'string' || nextPageToken === '') break;
    pageToken = nextPageToken;
  }
  return [...found.values()];
}

/** Models that embed or only make pictures cannot be asked; whether one can, not every list says. */
function parseListed(value: unknown): readonly ListedModel[] {
  if (!isObject(value) || typeof value.name !== 'string') return [];
  const id = value.name.replace(/^.*\//s, '');
  const methods = value.supportedGenerationMethods;
  if (!/^[\w.@:-]+$/.test(id) || (Array.isArray(methods) && !methods.includes('generateContent'))) return [];
  const { inputTokenLimit, outputTokenLimit, thinking } = value;
  return [
    {
      id,
      ...(typeof inputTokenLimit === 'number' ? { inputLimit: inputTokenLimit } : {}),
      ...(typeof outputTokenLimit === 'number' ? { outputLimit: outputTokenLimit } : {}),
      ...(typeof thinking === 'boolean' ? { thinks: thinking } : {}),
    },
  ];
}
