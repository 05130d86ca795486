import { afterAll, beforeAll, expect, test } from 'vitest';
import { bearerDigest, bundleProgram, CANARIES, filesIn, type Home, home, oauthDocument } from './support/home.ts';
import { runSignIn } from './support/run-sign-in.ts';
import { type Answer, granting, json } from './support/token-server.ts';

let program: Awaited<ReturnType<typeof bundleProgram>>;
beforeAll(async () => {
  program = await bundleProgram();
}, 60_000);
afterAll(() => program.remove());

type T = Parameters<typeof home>[0];
const runOnce = (t: T, answer: Answer, place?: Home) =>
  runSignIn(t, program.path, { answer, ...(place ? { place } : {}) });

test('a granted token that no header can carry is a fault of the server: not kept, nothing blamed', async (t) => {
  const grant = { access_token: 'ya29.a\r\nb', expires_in: 3599 };
  const { ended, before, after, place } = await runOnce(t, (response) => json(response, 200, grant));
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
  const { ended, before, after, place } = await runOnce(t, (response) => json(response, 200, grant));
  expect([ended.exitCode, ended.result.bearer, after]).toEqual([0, bearerDigest('ya29.granted-1'), before]);
  const kept = Object.entries(filesIn(place.gmn)).find(([name]) => name.startsWith('tokens/'));
  expect(JSON.parse(kept?.[1] ?? '')).toMatchObject({ refresh_token: CANARIES.refresh });
});

test('a stored access token that no header can carry costs one refresh', async (t) => {
  const document = { access_token: 'ya29.a\u0007', expiry_date: Date.now() + 3_000_000 };
  const place = home(t, { '.gemini/oauth_creds.json': oauthDocument(document) });
  const { ended, server } = await runOnce(t, granting(), place);
  expect([ended.result.bearer, server.forms.length]).toEqual([bearerDigest('ya29.granted-1'), 1]);
});
