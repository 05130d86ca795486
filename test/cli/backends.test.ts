import { describe, expect, test } from 'vitest';
import {
  account,
  accountResponse,
  CANARY,
  codeAssistResponse,
  denied,
  signedIn,
  signInFile,
} from '../support/account.ts';
import { failure, fakeGemini, json, reply, type SeenRequest } from '../support/gemini.ts';
import { systemMode } from '../support/posix.ts';

const paths = (requests: readonly SeenRequest[]): readonly string[] => requests.map(({ path }) => path);
const LOAD = '/v1internal:loadCodeAssist';
const STREAM = '/v1internal:streamGenerateContent?alt=sse';
const METADATA = { ideType: 'IDE_UNSPECIFIED', platform: 'PLATFORM_UNSPECIFIED', pluginType: 'GEMINI' };

describe('Code Assist', () => {
  test('the project is asked for once; after that a prompt is one request', async (t) => {
    const google = await fakeGemini(t, [
      accountResponse('companion-1'),
      codeAssistResponse('one'),
      codeAssistResponse('two'),
    ]);
    const me = signedIn(t, google);
    expect(await me.run(['hi'])).toMatchObject({ stdout: 'one\n', stderr: '', exitCode: 0 });
    expect(await me.run(['hi'])).toMatchObject({ stdout: 'two\n', stderr: '', exitCode: 0 });
    expect(paths(google.requests)).toEqual([LOAD, STREAM, STREAM]);
    const [load, first, second] = google.requests;
    expect(load?.body).toEqual({ metadata: METADATA });
    expect(second?.headers).toMatchObject({
      authorization: `Bearer ${CANARY.access}`,
      'content-type': 'application/json',
      'user-agent': expect.stringMatching(/^gmn\/\d+\.\d+\.\d+$/),
    });
    expect(second?.headers).not.toHaveProperty('x-goog-user-project');
    expect(first?.body).toEqual({
      model: 'gemini-2.5-flash',
      project: 'companion-1',
      user_prompt_id: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/),
      request: {
        contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
        generationConfig: { temperature: 1, topP: 0.95, topK: 40, maxOutputTokens: 65536 },
        session_id: first?.body.user_prompt_id,
      },
    });
    expect(me.mode('.gmn/code-assist.json')).toBe(systemMode(0o600));
    expect(me.files()['.gmn/code-assist.json']).not.toContain('canary');
  });

  test('--count-tokens says that the tools are not in the count', async (t) => {
    const me = signedIn(t, await fakeGemini(t, [json({ totalTokens: 7 })]));
    expect(await me.run(['--count-tokens', '--tools', 'read', 'hi'])).toMatchObject({
      stdout: '7\n',
      stderr: 'gmn: the tools are not counted: Code Assist has no place for them\n',
      exitCode: 0,
    });
  });

  test('another account, project or server is asked for its own project', async (t) => {
    const google = await fakeGemini(t, [
      accountResponse('p'),
      codeAssistResponse('a'),
      accountResponse('p'),
      codeAssistResponse('b'),
      accountResponse('p'),
      codeAssistResponse('c'),
    ]);
    const me = signedIn(t, google);
    await me.run(['hi']);
    await me.run(['hi'], { GOOGLE_CLOUD_PROJECT: 'mine' });
    await me.run(['hi'], { GOOGLE_GENAI_USE_GCA: 'true', GOOGLE_CLOUD_ACCESS_TOKEN: 'another-token' });
    expect(paths(google.requests)).toEqual([LOAD, STREAM, LOAD, STREAM, LOAD, STREAM]);
    expect(google.requests[2]?.body).toEqual({
      cloudaicompanionProject: 'mine',
      metadata: { ...METADATA, duetProject: 'mine' },
    });
    expect(google.requests[5]?.headers.authorization).toBe('Bearer another-token');
  });

  test.for(['', '{', '{"version":1,"accounts":{"x":7}}', '[]', '{"version":2}'])(
    'a cache that holds %j is asked past and mended',
    async (text, t) => {
      const google = await fakeGemini(t, [accountResponse('p'), codeAssistResponse('one'), codeAssistResponse('two')]);
      const me = signedIn(t, google, { home: { '.gmn/code-assist.json': text } });
      expect((await me.run(['hi'])).stdout).toBe('one\n');
      expect((await me.run(['hi'])).stdout).toBe('two\n');
    },
  );

  test('a 401 is answered with one refresh and one resend, and nothing is to be seen of it', async (t) => {
    const grant = json({ access_token: CANARY.granted, expires_in: 3599, token_type: 'Bearer' });
    const unauthorized = failure(401, 'UNAUTHENTICATED');
    const google = await fakeGemini(t, [
      accountResponse('p'),
      codeAssistResponse('a'),
      unauthorized,
      grant,
      codeAssistResponse('b'),
    ]);
    const me = signedIn(t, google);
    await me.run(['hi']);
    const before = me.files()['.gemini/oauth_creds.json'];
    expect(await me.run(['hi'])).toMatchObject({ stdout: 'b\n', stderr: '', exitCode: 0 });
    expect(paths(google.requests).slice(2)).toEqual([STREAM, '/token', STREAM]);
    expect(google.requests[4]?.headers.authorization).toBe(`Bearer ${CANARY.granted}`);
    expect(me.files()['.gemini/oauth_creds.json']).toBe(before);
  });

  test('a second 401 is final: two model calls, one token call, exit 2, the official file as it was', async (t) => {
    const grant = json({ access_token: CANARY.granted, expires_in: 3599, token_type: 'Bearer' });
    const unauthorized = failure(401, 'UNAUTHENTICATED', `bad token ${CANARY.granted}`);
    const google = await fakeGemini(t, [
      accountResponse('p'),
      codeAssistResponse('a'),
      unauthorized,
      grant,
      unauthorized,
    ]);
    const me = signedIn(t, google);
    await me.run(['hi']);
    const before = me.files()['.gemini/oauth_creds.json'];
    expect(await me.run(['hi', '--debug-file', 'trace.log'])).toMatchObject({
      stdout: '',
      stderr:
        'Error: authentication failed: bad token ‹redacted› (401 UNAUTHENTICATED)\nPlease re-authenticate using: gemini\n',
      exitCode: 2,
    });
    expect(paths(google.requests).slice(2)).toEqual([STREAM, '/token', STREAM]);
    expect(me.files()['.gemini/oauth_creds.json']).toBe(before);
  });

  test('a new account is onboarded: the free tier without a project, and waited for', async (t) => {
    const google = await fakeGemini(t, [
      json({ allowedTiers: [{ id: 'standard-tier' }, { id: 'free-tier', isDefault: true }] }),
      json({ name: 'operations/abc-1', done: false }),
      json({ name: 'operations/abc-1' }),
      json({ name: 'operations/abc-1', done: true, response: { cloudaicompanionProject: { id: 'given-1' } } }),
      codeAssistResponse('welcome'),
    ]);
    const me = signedIn(t, google, { env: { GOOGLE_CLOUD_PROJECT: 'mine' } });
    expect(await me.run(['hi'])).toMatchObject({ stdout: 'welcome\n', stderr: '', exitCode: 0 });
    const [, onboard, , , stream] = google.requests;
    expect(google.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      `POST ${LOAD}`,
      'POST /v1internal:onboardUser',
      'GET /v1internal/operations/abc-1',
      'GET /v1internal/operations/abc-1',
      `POST ${STREAM}`,
    ]);
    expect(onboard?.body).toEqual({ tierId: 'free-tier', metadata: METADATA });
    expect(stream?.body.project).toBe('given-1');
  });

  test('another tier is onboarded with the project that was named', async (t) => {
    const google = await fakeGemini(t, [
      json({ allowedTiers: [{ id: 'standard-tier', isDefault: true }] }),
      json({ done: true }),
      codeAssistResponse('welcome'),
    ]);
    const me = signedIn(t, google, { env: { GOOGLE_CLOUD_PROJECT_ID: 'mine' } });
    expect((await me.run(['hi'])).exitCode).toBe(0);
    expect(google.requests[1]?.body).toEqual({
      tierId: 'standard-tier',
      cloudaicompanionProject: 'mine',
      metadata: { ...METADATA, duetProject: 'mine' },
    });
    expect(google.requests[2]?.body.project).toBe('mine');
  });

  test('a project that is no longer allowed is asked for anew, once', async (t) => {
    const gone = denied(403, 'CONSUMER_INVALID', { metadata: { consumer: 'projects/old' } });
    const google = await fakeGemini(t, [
      accountResponse('old'),
      codeAssistResponse('a'),
      gone,
      accountResponse('new'),
      codeAssistResponse('b'),
      codeAssistResponse('c'),
    ]);
    const me = signedIn(t, google);
    await me.run(['hi']);
    expect(await me.run(['hi'])).toMatchObject({ stdout: 'b\n', stderr: '', exitCode: 0 });
    await me.run(['hi']);
    expect(paths(google.requests).slice(2)).toEqual([STREAM, LOAD, STREAM, STREAM]);
    expect(google.requests.slice(4).map(({ body }) => body.project)).toEqual(['new', 'new']);
  });

  test('if the project is still the same, the refusal stands', async (t) => {
    const gone = denied(403, 'IAM_PERMISSION_DENIED', { metadata: { consumer: 'projects/old' } });
    const google = await fakeGemini(t, [accountResponse('old'), codeAssistResponse('a'), gone, accountResponse('old')]);
    const me = signedIn(t, google);
    await me.run(['hi']);
    expect(await me.run(['hi'])).toMatchObject({
      stderr:
        'Error: API error: permission denied for projects/old (403 PERMISSION_DENIED): No.\nCheck that the account may use this project (GOOGLE_CLOUD_PROJECT) and model.\n',
      exitCode: 3,
    });
  });

  test('behind a VPC perimeter the account is taken for a standard one', async (t) => {
    const google = await fakeGemini(t, [denied(403, 'SECURITY_POLICY_VIOLATED'), codeAssistResponse('in')]);
    const me = signedIn(t, google, { env: { GOOGLE_CLOUD_PROJECT: 'mine' } });
    expect((await me.run(['hi'])).stdout).toBe('in\n');
    expect(google.requests[1]?.body.project).toBe('mine');
  });

  test('--dry-run sends nothing and shows no token', async (t) => {
    const google = await fakeGemini(t, []);
    const me = signedIn(t, google, { home: { '.gemini/oauth_creds.json': signInFile({ expiry_date: 1 }) } });
    const { stdout, exitCode } = await me.run(['--dry-run', 'hi'], { GOOGLE_CLOUD_PROJECT: 'mine' });
    expect([exitCode, JSON.parse(stdout)]).toMatchObject([
      0,
      { url: `${google.url}${STREAM}`, body: { project: 'mine' } },
    ]);
    expect(stdout).not.toContain('canary');
  });
});

describe('the Gemini API with a sign-in', () => {
  test('--backend gemini-api sends the bearer to v1beta', async (t) => {
    const google = await fakeGemini(t, [reply('hello')]);
    const me = signedIn(t, google);
    expect(await me.run(['--backend', 'gemini-api', 'hi'])).toMatchObject({
      stdout: 'hello\n',
      stderr: '',
      exitCode: 0,
    });
    const [request] = google.requests;
    expect(request?.path).toBe('/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse');
    expect(request?.headers.authorization).toBe(`Bearer ${CANARY.access}`);
    expect(request?.headers).not.toHaveProperty('x-goog-api-key');
    expect(Object.keys(request?.body)).toEqual(['contents', 'generationConfig']);
  });

  test('GOOGLE_GENAI_API_VERSION names another version, and nothing else', async (t) => {
    const google = await fakeGemini(t, [reply('hello'), reply('hello')]);
    const me = account(t, google, { env: { GEMINI_API_KEY: 'a-key-0123456789' } });
    await me.run(['hi'], { GOOGLE_GENAI_API_VERSION: 'v1alpha' });
    await me.run(['hi'], { GOOGLE_GENAI_API_VERSION: 'beta' });
    expect(google.requests.map(({ path }) => path)).toEqual([
      '/v1alpha/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
      '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    ]);
    expect(await me.run(['hi'], { GOOGLE_GENAI_API_VERSION: '../x' })).toMatchObject({
      stderr: 'Error: GOOGLE_GENAI_API_VERSION is not an API version\nExample: GOOGLE_GENAI_API_VERSION=v1beta\n',
      exitCode: 4,
    });
  });
});

describe('Vertex AI', () => {
  test('with a token: project and location in the path, the quota project in a header', async (t) => {
    const google = await fakeGemini(t, [reply('hello')]);
    const me = signedIn(t, google, {
      env: { GOOGLE_CLOUD_PROJECT: 'p-1', GOOGLE_CLOUD_LOCATION: 'europe-west4', GOOGLE_CLOUD_QUOTA_PROJECT: 'q-1' },
    });
    expect(await me.run(['--backend', 'vertex', '-m', 'flash', 'hi'])).toMatchObject({
      stdout: 'hello\n',
      exitCode: 0,
    });
    const [request] = google.requests;
    expect(request?.path).toBe(
      '/v1beta1/projects/p-1/locations/europe-west4/publishers/google/models/gemini-3.8-flash:streamGenerateContent?alt=sse',
    );
    expect(request?.headers).toMatchObject({ authorization: `Bearer ${CANARY.access}`, 'x-goog-user-project': 'q-1' });
  });

  test('with an express key: no project, the key in its header', async (t) => {
    const google = await fakeGemini(t, [reply('hello')]);
    const me = account(t, google, { env: { GOOGLE_API_KEY: 'express-key-0123456789', GOOGLE_CLOUD_PROJECT: 'p-1' } });
    expect(await me.run(['hi'])).toMatchObject({ stdout: 'hello\n', exitCode: 0 });
    const [request] = google.requests;
    expect(request?.path).toBe('/v1beta1/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse');
    expect(request?.headers['x-goog-api-key']).toBe('express-key-0123456789');
    expect(request?.headers).not.toHaveProperty('authorization');
  });

  test.for([
    [{}, 'Vertex AI needs GOOGLE_CLOUD_PROJECT'],
    [{ GOOGLE_CLOUD_PROJECT: 'p' }, 'Vertex AI needs GOOGLE_CLOUD_LOCATION'],
    [{ GOOGLE_CLOUD_PROJECT: 'p', GOOGLE_CLOUD_LOCATION: 'evil.example/' }, 'GOOGLE_CLOUD_LOCATION cannot be the name'],
    [{ GOOGLE_CLOUD_PROJECT: 'p/../x', GOOGLE_CLOUD_LOCATION: 'global' }, 'GOOGLE_CLOUD_PROJECT cannot be the name'],
  ] as const)('%j is exit 4 and names the variable', async ([env, message], t) => {
    const me = signedIn(t, await fakeGemini(t, []), { env });
    const { stderr, exitCode } = await me.run(['--backend', 'vertex', 'hi']);
    expect([exitCode, stderr]).toEqual([4, expect.stringContaining(message)]);
  });
});

describe('where credentials may go', () => {
  test.for([
    ['gemini-api', 'code-assist', { GEMINI_API_KEY: 'a-key-0123456789' }],
    ['gemini-api', 'vertex', { GEMINI_API_KEY: 'a-key-0123456789' }],
    ['vertex', 'gemini-api', { GOOGLE_API_KEY: 'a-key-0123456789' }],
  ] as const)('a credential of %s is not sent to %s', async ([, wanted, env], t) => {
    const me = account(t, await fakeGemini(t, []), { env });
    const { stderr, exitCode } = await me.run(['--backend', wanted, 'hi']);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`--backend ${wanted} does not take`)]);
    expect(stderr).not.toContain('a-key');
  });

  test.for([
    [['hi'], 'CODE_ASSIST_ENDPOINT'],
    [['--backend', 'gemini-api', 'hi'], 'GOOGLE_GEMINI_BASE_URL'],
    [['--backend', 'vertex', 'hi'], 'GOOGLE_VERTEX_BASE_URL'],
  ] as const)('%j: an endpoint without TLS is exit 4', async ([args, name], t) => {
    const env = { GOOGLE_CLOUD_PROJECT: 'p', GOOGLE_CLOUD_LOCATION: 'global', [name]: 'http://gateway.example' };
    const me = signedIn(t, await fakeGemini(t, []), { env });
    const { stderr, exitCode } = await me.run([...args]);
    expect([exitCode, stderr]).toEqual([4, expect.stringContaining(`${name} must use https`)]);
  });

  test.for([
    [['hi'], 3],
    [['--backend', 'gemini-api', 'hi'], 3],
    [['--backend', 'vertex', 'hi'], 3],
    [['models', '--refresh'], 3],
    [['auth', 'status', '--online'], 2],
  ] as const)('%j follows no redirect and shows no secret', async ([args, code], t) => {
    const elsewhere = await fakeGemini(t, []);
    const google = await fakeGemini(t, [
      (response) => void response.writeHead(307, { location: `${elsewhere.url}/take?it=1` }).end(),
    ]);
    const me = signedIn(t, google, { env: { GOOGLE_CLOUD_PROJECT: 'p', GOOGLE_CLOUD_LOCATION: 'global' } });
    const before = me.files()['.gemini/oauth_creds.json'];
    const { stdout, stderr, exitCode } = await me.run([...args, '--debug']);
    expect(exitCode).toBe(code);
    expect(stdout + stderr).toMatch(/the server redirects to 127\.0\.0\.1/);
    expect(elsewhere.requests).toEqual([]);
    expect(google.requests[0]?.path).not.toContain('canary');
    for (const secret of Object.values(CANARY)) expect(stdout + stderr).not.toContain(secret);
    const { '.gemini/oauth_creds.json': after, ...others } = me.files();
    expect(after).toBe(before);
    for (const secret of Object.values(CANARY)) expect(JSON.stringify(others)).not.toContain(secret);
  });
});
