import { expect, test } from 'vitest';
import { createGround, toSources } from '../../src/agent/grounding.ts';
import { events, fakeGemini, finish, reply, type Scripted } from '../support/gemini.ts';
import { clientOf } from './support.ts';

const REQUEST = { model: 'gemini-test', generationConfig: { temperature: 0 } };

async function search(t: Parameters<typeof fakeGemini>[0], script: Scripted) {
  const server = await fakeGemini(t, [script]);
  const ground = createGround(clientOf(new URL(server.url)), REQUEST);
  return { result: await ground('Wer gewann?', new AbortController().signal), server };
}

test('a search is one request with Google Search on; its sources are numbered where they support the text', async (t) => {
  const end: object = finish('STOP', []);
  const groundingMetadata = {
    webSearchQueries: ['sieger'],
    groundingChunks: [
      { web: { uri: 'https://a.example', title: 'a.example' } },
      {},
      { web: { uri: 'https://b.example' } },
      { maps: {} },
      { maps: { uri: 'https://maps.example/c', title: 'Café C', placeId: 'places/c' } },
      { retrievedContext: { title: 'Handbook', text: 'Page 1', fileSearchStore: 'fileSearchStores/d' } },
    ],
    groundingSupports: [
      { segment: { startIndex: 0, endIndex: 8 }, groundingChunkIndices: [0, 2, 1, 99, 'length', -1, 0.5] },
      { segment: { startIndex: 8, endIndex: 18 }, groundingChunkIndices: [2] },
      { segment: { startIndex: 9, endIndex: 18 }, groundingChunkIndices: [4, 3, 5] },
      { segment: { endIndex: 1 }, groundingChunkIndices: [0] },
      { segment: { endIndex: 4 } },
    ],
  };
  const [candidate] = (end as { candidates: object[] }).candidates;
  const parts = [{ text: 'Übung A.' }, { text: ' Und B.' }];
  const script = events([
    { candidates: [{ content: { parts } }] },
    { ...end, candidates: [{ ...candidate, groundingMetadata }] },
  ]);
  const { result, server } = await search(t, script);
  expect(result).toEqual({
    text: 'Übung A[1][2]. Und B.[2][3][4]',
    sources: [
      { title: 'a.example', uri: 'https://a.example' },
      { title: 'https://b.example', uri: 'https://b.example' },
      { title: 'Café C', uri: 'https://maps.example/c' },
      { title: 'Handbook', uri: 'fileSearchStores/d' },
    ],
    usage: { promptTokenCount: 5, candidatesTokenCount: 12, totalTokenCount: 17 },
  });
  expect(server.requests[0]?.body).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'Wer gewann?' }] }],
    tools: [{ googleSearch: {} }],
    generationConfig: { temperature: 0 },
  });
});

test('an answer without sources is the text alone', async (t) => {
  const { result } = await search(t, reply('Niemand.'));
  expect(result).toMatchObject({ text: 'Niemand.', sources: [] });
});

test('what an answer repeats is listed once, behind the sources of a search', () => {
  const web = { uri: 'https://a.example', title: 'a.example' };
  expect(
    toSources({ groundingChunks: [{ web }, { web }] }, [
      { uri: 'https://b.example', startIndex: 1, license: 'mit' },
      { startIndex: 7, endIndex: 9 },
      { uri: 'https://a.example' },
      { uri: 'https://b.example', startIndex: 30 },
      { uri: 'https://c.example', title: 'C', license: '' },
    ]),
  ).toEqual([
    { title: 'a.example', uri: 'https://a.example' },
    { title: 'a.example', uri: 'https://a.example' },
    { title: 'https://b.example (license: mit)', uri: 'https://b.example' },
    { title: 'C', uri: 'https://c.example' },
  ]);
});

test('a list of a hundred thousand sources and citations is no trouble', () => {
  const chunks = Array.from({ length: 100_000 }, (_, index) => ({ web: { uri: `https://a.example/${index}` } }));
  const citations = chunks.map(({ web }) => ({ uri: `${web.uri}#` }));
  expect(toSources({ groundingChunks: chunks }, citations)).toHaveLength(200_000);
});
