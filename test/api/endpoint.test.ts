import { expect, test } from 'vitest';
import { endpointUrl, modelPath } from '../../src/api/backend.ts';
import { geminiApi } from '../../src/api/gemini-api.ts';
import { keyIdentity, REQUEST } from './conversation.ts';

test.for([
  ['https://gw.example', 'https://gw.example/v1/x:y?alt=sse'],
  ['https://gw.example/', 'https://gw.example/v1/x:y?alt=sse'],
  ['https://gw.example/a/b/?key=1#z', 'https://gw.example/a/b/v1/x:y?alt=sse'],
] as const)('a path goes after that of %s', ([base, wanted]) => {
  expect(endpointUrl(new URL(base), 'v1/x:y?alt=sse').href).toBe(wanted);
});

test.for([
  ['gemini-2.5-flash', 'models/gemini-2.5-flash'],
  ['models/gemini-x', 'models/gemini-x'],
  ['tunedModels/my-1', 'tunedModels/my-1'],
  ['a@001', 'models/a%40001'],
] as const)('%s is a model', ([model, path]) => {
  expect(modelPath(model)).toBe(path);
});

test.for([
  '',
  '.',
  '..',
  'a/b',
  'models/../x',
  'models/models/x',
  'a..b',
  'x?y',
  'x#y',
  'x%2fy',
  'a b',
  'a\nb',
  'a\\b',
  '/x',
])('%j is not a model', (model) => {
  expect(() => modelPath(model)).toThrow(expect.objectContaining({ fault: 'usage' }));
});

test('without a base URL the public service is asked', async () => {
  const backend = geminiApi({ userAgent: 'gmn/test' }, keyIdentity('k'));
  const { url } = await backend.prepare(REQUEST, { signal: new AbortController().signal, refresh: false });
  expect(url.href).toBe(
    'https://generativelanguage.googleapis.com/v1beta/models/gemini-test:streamGenerateContent?alt=sse',
  );
});
