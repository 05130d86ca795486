import { expect, test } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import { googleWebSearch } from '../../src/tools/google-web-search.ts';

test('a search gives the answer with its sources, numbered', async () => {
  const { signal } = new AbortController();
  const asked: string[] = [];
  const search = googleWebSearch.create({
    ground: async (query) => {
      asked.push(query);
      return {
        text: 'Rain.',
        sources: [
          { title: 'Weather', uri: 'https://a.example/' },
          { title: 'More', uri: 'https://b.example/' },
        ],
        usage: { totalTokenCount: 7 },
      };
    },
  });
  expect(await search.invoke({ query: 'weather in Kyoto' }, signal)).toEqual({
    ok: true,
    response: { output: 'Rain.\n\nSources:\n[1] Weather (https://a.example/)\n[2] More (https://b.example/)' },
    usage: { totalTokenCount: 7 },
    summary: '2 sources',
  });
  expect(asked).toEqual(['weather in Kyoto']);
  expect([search.effect, search.input.required]).toEqual(['network', ['query']]);
});

test('a search without words, an answer or sources still gives the model something to go by', async () => {
  const { signal } = new AbortController();
  const search = googleWebSearch.create({
    ground: async (query) => {
      if (query === 'broken') throw new AppError('api', 'quota', { hint: 'Wait.' });
      return { text: query === 'nothing' ? '' : 'Yes.', sources: [], usage: { totalTokenCount: 7 } };
    },
  });
  expect(await search.invoke({ query: ' ' }, signal)).toMatchObject({ ok: false });
  expect(await search.invoke({ query: 'nothing' }, signal)).toEqual({
    ok: false,
    response: { error: 'The search found nothing. Try other words.' },
    usage: { totalTokenCount: 7 },
  });
  expect(await search.invoke({ query: 'x' }, signal)).toEqual({
    ok: true,
    response: { output: 'Yes.' },
    summary: 'no sources',
    usage: { totalTokenCount: 7 },
  });
  expect(await search.invoke({ query: 'broken' }, signal)).toEqual({ ok: false, response: { error: 'quota. Wait.' } });
});
