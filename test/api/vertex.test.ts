import { expect, test } from 'vitest';
import { parseVertexProject, type VertexEndpoint, vertex, vertexModelPath } from '../../src/api/vertex.ts';
import { keyIdentity, REQUEST } from './conversation.ts';

const SIGNAL = new AbortController().signal;
const VERB = ':streamGenerateContent?alt=sse';

async function urlOf(place: Omit<VertexEndpoint, 'userAgent'>, model = 'gemini-x'): Promise<string> {
  const backend = vertex({ ...place, userAgent: 'gmn/test' }, keyIdentity('k'));
  return (await backend.prepare({ ...REQUEST, model }, { signal: SIGNAL, refresh: false })).url.href;
}

const at = (location: string) => ({ site: { project: 'p-1', location } });
const PROJECT = 'projects/p-1/locations';
const MODEL = `publishers/google/models/gemini-x${VERB}`;

test.for<readonly [string, Omit<VertexEndpoint, 'userAgent'>, string]>([
  [
    'a region',
    at('us-central1'),
    `https://us-central1-aiplatform.googleapis.com/v1beta1/${PROJECT}/us-central1/${MODEL}`,
  ],
  ['global', at('global'), `https://aiplatform.googleapis.com/v1beta1/${PROJECT}/global/${MODEL}`],
  ['us', at('us'), `https://aiplatform.us.rep.googleapis.com/v1beta1/${PROJECT}/us/${MODEL}`],
  ['eu', at('eu'), `https://aiplatform.eu.rep.googleapis.com/v1beta1/${PROJECT}/eu/${MODEL}`],
  ['the express mode', {}, `https://aiplatform.googleapis.com/v1beta1/${MODEL}`],
  [
    'another base URL',
    { ...at('us'), baseUrl: new URL('https://gw.example/vertex/?x=1') },
    `https://gw.example/vertex/v1beta1/${PROJECT}/us/${MODEL}`,
  ],
  ['another version', { apiVersion: 'v1' }, `https://aiplatform.googleapis.com/v1/${MODEL}`],
])('the URL for %s', async ([, place, url]) => {
  expect(await urlOf(place)).toBe(url);
});

test('the body is the plain request', async () => {
  const backend = vertex({ userAgent: 'gmn/test' }, keyIdentity('k-123'));
  const { method, headers, body } = await backend.prepare(REQUEST, { signal: SIGNAL, refresh: false });
  expect({ method, headers, body: JSON.parse(String(body)) }).toEqual({
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'gmn/test', 'x-goog-api-key': 'k-123' },
    body: { contents: REQUEST.contents, generationConfig: REQUEST.generationConfig },
  });
  expect((await backend.preview(REQUEST)).headers).not.toHaveProperty('x-goog-api-key');
});

test.for([
  ['gemini-2.5-pro', 'publishers/google/models/gemini-2.5-pro'],
  ['models/gemini-2.5-pro', 'publishers/google/models/gemini-2.5-pro'],
  ['publishers/other/models/m@1', 'publishers/other/models/m@1'],
] as const)('%s is a model', ([model, path]) => {
  expect(vertexModelPath({}, model)).toBe(path);
});

test.for(['', '..', 'a/b', 'a..b', 'x?y', 'x#y', 'publishers/../models/x', 'publishers/a/models/b/c', 'x y', 'x%2fy'])(
  '%j is not a model',
  (model) => {
    expect(() => vertexModelPath({}, model)).toThrow(expect.objectContaining({ fault: 'usage' }));
  },
);

test.for([
  [undefined, 'us'],
  ['', 'us'],
  ['p', undefined],
  ['p', 'a.b'],
  ['p', 'evil.example/x'],
  ['p', 'us-central1@evil.example'],
  ['p', 'US'],
  ['p/q', 'us'],
  ['p?', 'us'],
] as const)('%j in %j is no place to send a token to', ([project, location]) => {
  expect(() => parseVertexProject(project, location)).toThrow(expect.objectContaining({ fault: 'config' }));
});
