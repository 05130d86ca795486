import { expect, test } from 'vitest';
import { checkEndpoint, endpointUrl, modelPath } from '../../src/api/endpoint.ts';
import { geminiApi } from '../../src/api/gemini-api.ts';
import { REQUEST } from './conversation.ts';

test.for([
  'https://gw.example',
  'https://gw.example:8443/x/',
  'http://127.0.0.1:8080',
  'http://localhost',
  'http://[::1]:9',
])('a credential may go to %s', (value) => {
  expect(checkEndpoint(value, 'BASE').href).toBe(new URL(value).href);
});

test.for([
  ['http://gw.example', 'BASE must be an https URL (http only on this machine)'],
  ['http://127.0.0.1.evil.example', 'BASE must be an https URL (http only on this machine)'],
  ['http://0.0.0.0', 'BASE must be an https URL (http only on this machine)'],
  ['ftp://127.0.0.1', 'BASE must be an https URL (http only on this machine)'],
  ['https://me:secret@gw.example', 'BASE must not hold a user name or password'],
  ['gw.example', 'BASE is not a URL'],
  ['', 'BASE is not a URL'],
] as const)('a credential does not go to "%s"', ([value, message]) => {
  expect(() => checkEndpoint(value, 'BASE')).toThrow(
    expect.objectContaining({ fault: 'config', exitCode: 4, message }),
  );
});

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
])('%j is no model', (model) => {
  expect(() => modelPath(model)).toThrow(expect.objectContaining({ fault: 'usage' }));
});

test('a key that cannot be sent is refused before the network, without being shown', async () => {
  const backend = geminiApi({ key: 'se\ncret', userAgent: 'gmn/test' });
  const options = { signal: new AbortController().signal, renew: false };
  await expect(backend.prepare(REQUEST, options)).rejects.toMatchObject({
    fault: 'auth',
    message: 'authentication failed: the API key holds characters no key has',
  });
});

test('without a base URL the public service is asked', async () => {
  const backend = geminiApi({ key: 'k', userAgent: 'gmn/test' });
  const { url } = await backend.prepare(REQUEST, { signal: new AbortController().signal, renew: false });
  expect(url.href).toBe(
    'https://generativelanguage.googleapis.com/v1beta/models/gemini-test:streamGenerateContent?alt=sse',
  );
});
