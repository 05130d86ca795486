import { describe, expect, type TestContext, test } from 'vitest';
import { FAILURE_TEXTS } from '../../src/api/failure-texts.ts';
import { SERVICE_ERRORS, type ServiceError } from '../fixtures/service-errors.ts';
import { accountResponse, signedIn } from '../support/account.ts';
import { fakeGemini, json, type Scripted } from '../support/gemini.ts';
import { type GmnResult, parseLines } from '../support/gmn.ts';

const VERTEX = { GOOGLE_CLOUD_PROJECT: 'p', GOOGLE_CLOUD_LOCATION: 'us-central1' };
const ENVIRONMENTS: Readonly<Record<ServiceError['backend'], Readonly<Record<string, string>>>> = {
  key: { GEMINI_API_KEY: 'test-key-0123456789' },
  express: { GOOGLE_API_KEY: 'test-key-0123456789', GOOGLE_GENAI_USE_VERTEXAI: 'true' },
  vertex: VERTEX,
  'code-assist': {},
};
const PROMPT = ['-m', 'gemini-2.5-pro', 'hi'];

function refuse({ status, body }: ServiceError): Scripted {
  if (typeof body !== 'string') return json({ error: { code: status, ...body } }, status);
  const type = body.startsWith('{') ? 'application/json' : 'text/html';
  return (response) => void response.writeHead(status, { 'content-type': type }).end(body);
}

/** Plays the refusal to gmn, however often it asks. */
async function play(t: TestContext, refusal: ServiceError, format: string): Promise<GmnResult> {
  const { backend, account, args = [], command = PROMPT, requests = 1 } = refusal;
  const describeAccount = account === undefined ? accountResponse('p') : json(account);
  const answer = refuse(refusal);
  const google = await fakeGemini(t, (response, request) =>
    (request.path.includes(':loadCodeAssist') ? describeAccount : answer)(response, request),
  );
  const place = backend === 'vertex' ? ['--backend', 'vertex'] : [];
  const env = ENVIRONMENTS[backend];
  const result = await signedIn(t, google, { env }).run([...command, ...place, ...args, '-o', format]);
  const asked = google.requests.filter(({ path }) => !path.includes(':loadCodeAssist'));
  expect(asked).toHaveLength(requests);
  return result;
}

/** What of Google's words has to be shown: gmn quotes 500 characters at most. */
function findWords({ body }: ServiceError): string {
  const message = typeof body !== 'string' ? body.message : (/"message":"([^"]+)"/.exec(body)?.[1] ?? '');
  return message.replace(/\s+/g, ' ').trim().slice(0, 300);
}

function toHint({ hint }: ServiceError): unknown {
  const pattern = /^\/(.*)\/$/.exec(hint)?.[1];
  return pattern === undefined ? hint : expect.stringMatching(pattern);
}

describe.each(Object.entries(SERVICE_ERRORS))('%s', (_, refusal) => {
  const { exit, what } = refusal;
  const message = expect.toSatisfy((text: string) => text.includes(what) && text.includes(findWords(refusal)));
  const error = { code: exit, type: exit === 2 ? 'AuthError' : 'ApiError', message, suggestion: toHint(refusal) };

  test('in text', async (t) => {
    const { stdout, stderr, exitCode } = await play(t, refusal, 'text');
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: exit });
    const lines = stderr.trimEnd().split('\n').slice(-2);
    expect([lines[0]?.slice('Error: '.length), lines[1]]).toEqual([message, toHint(refusal)]);
  });

  test('in json', async (t) => {
    const { stdout, stderr, exitCode } = await play(t, refusal, 'json');
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: exit });
    expect(JSON.parse(stdout)).toMatchObject({ error });
  });

  test('in stream-json', async (t) => {
    const { stdout, stderr, exitCode } = await play(t, refusal, 'stream-json');
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: exit });
    const lines = parseLines(stdout);
    expect(lines.filter(({ type }) => type === 'error' || type === 'done')).toEqual([lines.at(-1)]);
    expect(lines.at(-1)).toMatchObject({ type: 'error', error });
  });
});

test('every pattern for words of Google matches the words that Google sent', () => {
  for (const [name, { pattern, sent }] of Object.entries(FAILURE_TEXTS))
    expect([name, sent]).toEqual([name, expect.stringMatching(pattern)]);
});
