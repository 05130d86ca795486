import { objectsOf } from '../core/json.ts';
import type { ListedModel } from '../models/table.ts';
import { allPages, count, parseCount, parseVector } from './gemini-api-inquiries.ts';
import { type Caller, callJson } from './json-call.ts';
import type { Inquiries } from './queries.ts';
import { type VertexPlace, vertexModelPath, vertexUrl } from './vertex.ts';

const PAGE_SIZE = 100;

/** What Vertex AI answers besides model calls. */
export function vertexInquiries(place: VertexPlace, caller: Caller): Inquiries {
  const { site } = place;
  // The list of a publisher belongs to no project, so the call itself must say whom it is for.
  const headers = site === undefined ? {} : { 'x-goog-user-project': site.project };
  const listModels = async (signal: AbortSignal): Promise<readonly ListedModel[]> => {
    const models = await allPages(async (pageToken) => {
      const page = pageToken === undefined ? '' : `&pageToken=${encodeURIComponent(pageToken)}`;
      const url = vertexUrl(place, `publishers/google/models?pageSize=${PAGE_SIZE}${page}`);
      return callJson(caller, { url, headers, asks: 'a list of models' }, signal);
    }, 'publisherModels');
    // Google publishes much that does not answer in text, and the list does not say which.
    return models.filter(({ id }) => /^gem(?:ini|ma)-(?!embedding)/.test(id));
  };
  return {
    listModels,
    async countTokens({ model, contents, systemInstruction, tools }, signal) {
      const url = vertexUrl(place, `${vertexModelPath(place, model)}:countTokens`);
      return parseCount(await callJson(caller, { url, body: { contents, systemInstruction, tools }, model }, signal));
    },
    async embed({ model, text }, signal) {
      const url = vertexUrl(place, `${vertexModelPath(place, model)}:predict`);
      const { predictions } = await callJson(caller, { url, body: { instances: [{ content: text }] }, model }, signal);
      return parseVector(objectsOf(predictions)[0]?.embeddings);
    },
    async standing(signal) {
      const where = site === undefined ? '' : ` (project ${site.project}, location ${site.location})`;
      return { lines: [`Vertex AI accepts it${where}: ${count(await listModels(signal))}.`] };
    },
  };
}
