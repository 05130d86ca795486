import { expect, test } from 'vitest';
import { accountResponse, CANARY, codeAssistResponse, signedIn } from '../support/account.ts';
import { failure, fakeGemini, json } from '../support/gemini.ts';

const LOAD = '/v1internal:loadCodeAssist';
const STREAM = '/v1internal:streamGenerateContent?alt=sse';

test('a first run whose token is refused makes four requests, the model’s with the new token', async (t) => {
  const grant = json({ access_token: CANARY.granted, expires_in: 3599, token_type: 'Bearer' });
  const google = await fakeGemini(t, [
    failure(401, 'UNAUTHENTICATED'),
    grant,
    accountResponse('p'),
    codeAssistResponse('hello'),
  ]);
  const me = signedIn(t, google);
  expect(await me.run(['hi'])).toMatchObject({ stdout: 'hello\n', stderr: '', exitCode: 0 });
  expect(google.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    [LOAD, `Bearer ${CANARY.access}`],
    ['/token', undefined],
    [LOAD, `Bearer ${CANARY.granted}`],
    [STREAM, `Bearer ${CANARY.granted}`],
  ]);
});
