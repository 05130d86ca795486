import { expect, test } from 'vitest';
import { type TestDemo, testDemo } from './support.ts';

const FORM = { grant_type: 'refresh_token', refresh_token: 'r', client_id: 'c', client_secret: 's' };

async function refresh(
  demo: TestDemo,
  form: Record<string, string> = FORM,
): Promise<[number, Record<string, unknown>]> {
  const response = await demo.post('/token', new URLSearchParams(form).toString(), {
    'content-type': 'application/x-www-form-urlencoded',
  });
  return [response.status, await response.json()];
}

test('a refresh gives an access token and no refresh token', async () => {
  const demo = await testDemo();
  const grant = { expires_in: 3599, scope: expect.stringContaining('cloud-platform'), token_type: 'Bearer' };
  expect(await refresh(demo)).toEqual([200, { access_token: 'demo-access-1', ...grant }]);
  expect(await refresh(demo)).toEqual([200, { access_token: 'demo-access-2', ...grant }]);
});

test('rotate replaces the refresh token and refuses the old one', async () => {
  const demo = await testDemo({ faults: ['rotate'] });
  expect(await refresh(demo)).toMatchObject([200, { refresh_token: 'demo-refresh-1' }]);
  expect(await refresh(demo)).toMatchObject([400, { error: 'invalid_grant' }]);
  expect(await refresh(demo, { ...FORM, refresh_token: 'demo-refresh-1' })).toMatchObject([200, {}]);
});

test.each([
  [
    { ...FORM, grant_type: 'password' },
    { error: 'unsupported_grant_type', error_description: 'Invalid grant_type: password' },
  ],
  [{}, { error: 'invalid_request', error_description: 'Missing required parameter: grant_type' }],
  [
    { grant_type: 'refresh_token', client_id: 'c', client_secret: 's' },
    { error: 'invalid_request', error_description: 'Missing required parameter: refresh_token' },
  ],
  [
    { grant_type: 'refresh_token', refresh_token: 'r', client_id: 'c' },
    { error: 'invalid_request', error_description: 'Missing required parameter: client_secret' },
  ],
])('%j is refused', async (form: Record<string, string>, expected) => {
  expect(await refresh(await testDemo(), form)).toEqual([400, expected]);
});

test('token faults strike the token endpoint alone', async () => {
  expect(await refresh(await testDemo({ faults: ['token-400'] }))).toEqual([
    400,
    { error: 'invalid_grant', error_description: 'Token has been expired or revoked.' },
  ]);
  expect(await refresh(await testDemo({ faults: ['token-500'] }))).toEqual([500, { error: 'internal_failure' }]);
  const page = await (await testDemo({ faults: ['token-html'] })).post('/oauth2/token', '');
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const nothing = await (await testDemo({ faults: ['token-empty'] })).post('/oauth2/token', '');
  expect([nothing.status, await nothing.text()]).toEqual([200, '']);
  const models = await (await testDemo({ faults: ['token-400'] })).get('/v1beta/models');
  expect(models.status).toBe(200);
});
