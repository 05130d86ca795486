import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { posixTest, systemMode } from '../support/posix.ts';
import { bearerDigest, CANARIES, filesIn, home, oauthDocument } from './support/home.ts';
import { runSignIn } from './support/run-sign-in.ts';
import { type Answer, granting, json, rotating, tokenServer } from './support/token-server.ts';

const DAY_MS = 86_400_000;
test('a fresh token is used without a request', async (t) => {
  const fresh = home(t, { '.gemini/oauth_creds.json': oauthDocument({ expiry_date: Date.now() + 3_000_000 }) });
  const { ended, server } = await runSignIn(t, granting(), { place: fresh });
  expect(ended.result.bearer).toBe(bearerDigest(CANARIES.access));
  expect(server.forms).toEqual([]);
});

posixTest(
  'a refresh sends the documented form, keeps the grant privately and leaves the official file alone',
  async (t) => {
    const { ended, server, place, before, after } = await runSignIn(t, granting());
    expect(ended).toMatchObject({ exitCode: 0, result: { bearer: bearerDigest('ya29.granted-1'), said: [] } });
    expect(server.forms).toEqual([
      {
        grant_type: 'refresh_token',
        refresh_token: CANARIES.refresh,
        client_id: CANARIES.clientId,
        client_secret: CANARIES.clientSecret,
      },
    ]);
    expect(after).toBe(before);
    const files = filesIn(place.gmn);
    const [cache] = Object.keys(files).filter((name) => name.startsWith('tokens/'));
    expect(Object.keys(files).sort()).toEqual(['sign-in-note-shown', cache]);
    expect(JSON.parse(files[cache ?? ''] ?? '')).toMatchObject({
      version: 1,
      access_token: 'ya29.granted-1',
      refresh_token: CANARIES.refresh,
    });
    expect(statSync(`${place.gmn}/${cache}`).mode & 0o777).toBe(systemMode(0o600));
    expect(statSync(`${place.gmn}/tokens`).mode & 0o777).toBe(systemMode(0o700));
  },
);

test('the note about the terms is given once ever', async (t) => {
  const { ended, place } = await runSignIn(t, granting());
  expect(ended.result.notices).toHaveLength(1);
  expect((await runSignIn(t, granting(), { place })).ended.result.notices).toEqual([]);
});

posixTest('a refresh token that was replaced is put into the official file, all else kept, mode too', async (t) => {
  const place = home(t);
  chmodSync(place.credentials, 0o640);
  const { ended, after } = await runSignIn(t, rotating(), { place });
  expect(ended.result.bearer).toBe(bearerDigest('ya29.granted-1'));
  const { expiry_date: expiry, ...rest } = JSON.parse(after);
  const { expiry_date: _, ...old } = JSON.parse(oauthDocument());
  expect(rest).toEqual({ ...old, access_token: 'ya29.granted-1', refresh_token: `${CANARIES.refresh}+` });
  expect(expiry).toBeGreaterThan(Date.now());
  expect(Object.keys(JSON.parse(after))).toEqual(Object.keys(JSON.parse(oauthDocument())));
  expect(statSync(place.credentials).mode & 0o777).toBe(systemMode(0o640));
  expect(Object.keys(filesIn(place.gemini))).toEqual(['oauth_creds.json']);
});

const REFUSED = {
  message: 'authentication failed: token expired',
  hint: 'Please re-authenticate using: gemini',
  cause: '',
};
const STILL = { hint: 'Your sign-in was not touched. Check the network and try again in a moment.', cause: '' };
const text =
  (status: number, body: string, type = 'text/html'): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': type });
    response.end(body);
  };

test.for<[string, Answer, object, number]>([
  ['400 invalid_grant', (r) => json(r, 400, { error: 'invalid_grant' }), REFUSED, 1],
  [
    '401 invalid_client',
    (r) => json(r, 401, { error: 'invalid_client', error_description: CANARIES.clientSecret }),
    { message: 'authentication failed: the token server refused the OAuth client (invalid_client)' },
    1,
  ],
  [
    '500',
    text(500, 'oops'),
    { ...STILL, message: 'authentication failed: the token could not be refreshed: the token server answered 500' },
    3,
  ],
  [
    'HTML',
    text(200, '<html>sign in to the hotel</html>'),
    {
      ...STILL,
      message: 'authentication failed: the token could not be refreshed: the token server answered without a token',
    },
    3,
  ],
  [
    'an empty body',
    text(200, ''),
    {
      ...STILL,
      message: 'authentication failed: the token could not be refreshed: the token server answered without a token',
    },
    3,
  ],
  [
    'JSON without a token',
    (r) => json(r, 200, { expires_in: 3599 }),
    {
      ...STILL,
      message: 'authentication failed: the token could not be refreshed: the token server answered without a token',
    },
    3,
  ],
  ['a cut line', (r) => r.destroy(), STILL, 3],
])('a token server answering %s ends with 2 and changes nothing', async ([, answer, result, requests], t) => {
  const { ended, before, after, server, place } = await runSignIn(t, answer);
  expect(ended).toMatchObject({ exitCode: 2, result });
  expect(after).toBe(before);
  expect(server.forms).toHaveLength(requests);
  expect(Object.keys(filesIn(place.gmn))).toEqual(['sign-in-note-shown']);
});

test('a temporary error of the token server is retried', async (t) => {
  const grant = granting();
  const { ended } = await runSignIn(t, (response, form, count) =>
    count === 1 ? text(503, '')(response, form, count) : grant(response, form, count),
  );
  expect(ended.result.bearer).toBe(bearerDigest('ya29.granted-1'));
});

test('a redirect of the token server is not followed', async (t) => {
  const other = await tokenServer(t, granting());
  const { ended, server, before, after } = await runSignIn(t, (response) => {
    response.writeHead(307, { location: other.url });
    response.end();
  });
  expect(ended).toMatchObject({
    exitCode: 2,
    result: {
      message:
        'authentication failed: the token could not be refreshed: the token server answered with a redirect (307)',
    },
  });
  expect(other.forms).toEqual([]);
  expect(server.forms).toHaveLength(1);
  expect(after).toBe(before);
});

test.for(['http://example.com/token', 'ftp://127.0.0.1/', 'https://me:secret@example.com/', 'nonsense'])(
  'a token address of %s is refused before anything is sent',
  async (tokenUrl, t) => {
    const { ended } = await runSignIn(t, granting(), { tokenUrl });
    expect(ended).toMatchObject({ exitCode: 4, result: { message: expect.stringContaining('GMN_OAUTH_TOKEN_URL') } });
    expect(JSON.stringify(ended)).not.toContain('secret');
  },
);

test('a token that is still valid is used while the token server is unreachable', async (t) => {
  const place = home(t, { '.gemini/oauth_creds.json': oauthDocument({ expiry_date: Date.now() + 120_000 }) });
  const { ended } = await runSignIn(t, text(500, ''), { place });
  expect(ended).toMatchObject({ exitCode: 0, result: { bearer: bearerDigest(CANARIES.access) } });
});

test.for<[string, unknown]>([
  ['missing', undefined],
  ['a string that is no number', 'soon'],
  ['in seconds, past', 1_700_000_000],
  ['in the year 9999', 253_402_300_799_000],
  ['negative', -1],
  ['null', null],
])('an expiry that is %s costs one refresh, and only one', async ([, expiry], t) => {
  const place = home(t, { '.gemini/oauth_creds.json': oauthDocument({ expiry_date: expiry }) });
  const first = await runSignIn(t, granting(), { place });
  expect(first.ended.result.bearer).toBe(bearerDigest('ya29.granted-1'));
  const second = await runSignIn(t, granting(), { place });
  expect(second.ended.result.bearer).toBe(bearerDigest('ya29.granted-1'));
  expect(second.server.forms).toEqual([]);
});

test.for<[string, unknown]>([
  ['in seconds, to come', Math.floor((Date.now() + 3_000_000) / 1000)],
  ['a string of digits', String(Date.now() + 3_000_000)],
])('an expiry that is %s is understood', async ([, expiry], t) => {
  const place = home(t, { '.gemini/oauth_creds.json': oauthDocument({ expiry_date: expiry }) });
  const { ended, server } = await runSignIn(t, granting(), { place });
  expect(ended.result.bearer).toBe(bearerDigest(CANARIES.access));
  expect(server.forms).toEqual([]);
});

test('without a refresh token, a token is used while its end is unknown, and not after it', async (t) => {
  const document = { refresh_token: undefined, expiry_date: undefined };
  const open = home(t, { '.gemini/oauth_creds.json': oauthDocument(document) });
  expect((await runSignIn(t, granting(), { place: open })).ended.result.bearer).toBe(bearerDigest(CANARIES.access));
  const ended = home(t, {
    '.gemini/oauth_creds.json': oauthDocument({ ...document, expiry_date: Date.now() - DAY_MS }),
  });
  expect((await runSignIn(t, granting(), { place: ended })).ended).toMatchObject({ exitCode: 2, result: REFUSED });
});

test('after a 401 the token is refreshed once', async (t) => {
  const fresh = home(t, { '.gemini/oauth_creds.json': oauthDocument({ expiry_date: Date.now() + 3_000_000 }) });
  const { ended, server } = await runSignIn(t, granting(), { place: fresh, isRefused: true });
  expect(ended.result.bearer).toBe(bearerDigest('ya29.granted-1'));
  expect(server.forms).toHaveLength(1);
});

test('a sign-in that another program refreshed meanwhile is used', async (t) => {
  const place = home(t);
  const answer: Answer = (response) => {
    const refreshed = { access_token: 'ya29.granted-elsewhere', expiry_date: Date.now() + 3_000_000 };
    writeFileSync(place.credentials, oauthDocument({ ...refreshed, refresh_token: 'another' }));
    json(response, 400, { error: 'invalid_grant' });
  };
  const { ended } = await runSignIn(t, answer, { place });
  expect(ended.result.bearer).toBe(bearerDigest('ya29.granted-elsewhere'));
});

test.for([
  ['granted', granting, CANARIES.refresh],
  ['replaced', rotating, `${CANARIES.refresh}+`],
] as const)(
  'where gmn cannot write, a token that is %s costs the cache, not the answer',
  async ([, answer, left], t) => {
    const place = home(t);
    writeFileSync(place.gmn, 'a file where the directory should be');
    const { ended, after } = await runSignIn(t, answer(), { place });
    expect(ended).toMatchObject({ exitCode: 0, result: { bearer: bearerDigest('ya29.granted-1') } });
    // A refresh token that was replaced is put into the official file all the same.
    expect(JSON.parse(after)).toMatchObject({ refresh_token: left });
    expect(ended.result.said).toEqual([expect.stringContaining('The refreshed token could not be saved')]);
  },
);

test('a proxy is for gmn to choose, not for the library: loopback is reached without it', async (t) => {
  const place = home(t);
  const nowhere = 'http://user:secret@127.0.0.1:1';
  const env = { ...place.env, HTTPS_PROXY: nowhere, HTTP_PROXY: nowhere };
  const { ended } = await runSignIn(t, granting(), { place: { ...place, env } });
  expect(ended).toMatchObject({ exitCode: 0, result: { bearer: bearerDigest('ya29.granted-1') } });
});

test('a granted token that no header can carry is a fault of the server: not kept, nothing blamed', async (t) => {
  const grant = { access_token: 'ya29.a\r\nb', expires_in: 3599 };
  const { ended, before, after, place } = await runSignIn(t, (response) => json(response, 200, grant));
  expect(ended).toMatchObject({
    exitCode: 2,
    result: {
      message:
        'authentication failed: the token could not be refreshed: the token server answered with a token that cannot be sent',
      hint: 'Your sign-in was not touched. Check the network and try again in a moment.',
    },
  });
  expect([after, Object.keys(filesIn(place.gmn))]).toEqual([before, ['sign-in-note-shown']]);
});

test('a new refresh token with control characters replaces nothing', async (t) => {
  const grant = { access_token: 'ya29.granted-1', expires_in: 3599, refresh_token: '1//new\u001b[2J' };
  const { ended, before, after, place } = await runSignIn(t, (response) => json(response, 200, grant));
  expect([ended.exitCode, ended.result.bearer, after]).toEqual([0, bearerDigest('ya29.granted-1'), before]);
  const kept = Object.entries(filesIn(place.gmn)).find(([name]) => name.startsWith('tokens/'));
  expect(JSON.parse(kept?.[1] ?? '')).toMatchObject({ refresh_token: CANARIES.refresh });
});

test('a stored access token that no header can carry costs one refresh', async (t) => {
  const document = { access_token: 'ya29.a\u0007', expiry_date: Date.now() + 3_000_000 };
  const place = home(t, { '.gemini/oauth_creds.json': oauthDocument(document) });
  const { ended, server } = await runSignIn(t, granting(), { place });
  expect([ended.result.bearer, server.forms.length]).toEqual([bearerDigest('ya29.granted-1'), 1]);
});
