import { expect, test } from 'vitest';
import { createGround } from '../../src/agent/grounding.ts';
import { events, fakeGemini, finish, reply, type Scripted } from '../support/fake-gemini.ts';
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
      { web: { uri: 'https://b.example' } },
      { maps: {} },
    ],
    groundingSupports: [
      { segment: { startIndex: 0, endIndex: 8 }, groundingChunkIndices: [0, 1, 99] },
      { segment: { startIndex: 8, endIndex: 18 }, groundingChunkIndices: [1] },
      { segment: { startIndex: 9, endIndex: 18 }, groundingChunkIndices: [2] },
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
    text: 'Übung A[1][2]. Und B.[2][3]',
    sources: [
      { title: 'a.example', uri: 'https://a.example' },
      { title: 'https://b.example', uri: 'https://b.example' },
      { title: 'untitled', uri: '' },
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
