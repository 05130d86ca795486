import type { JsonObject } from '../core/json.ts';
import type { ServedReply } from '../platform/http/server.ts';
import type { FaultBook } from './fault.ts';
import { sendJson } from './send.ts';

const SCOPE =
  'https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/userinfo.email https://www.googleapis.com/auth/userinfo.profile openid';
const HTML = '<!doctype html><title>Sign in to this network</title><p>Please accept the terms to continue.\n';

export function createTokenEndpoint(faults: FaultBook): (body: string, reply: ServedReply) => void {
  let issued = 0;
  const revoked = new Set<string>();
  return (body, reply) => {
    const fault = faults.take(['token-400', 'token-500', 'token-html', 'token-empty'])?.name;
    const form = new URLSearchParams(body);
    if (fault === 'token-500') return sendTokenError(reply, 500, { error: 'internal_failure' });
    if (fault === 'token-html') return reply.send(200, { 'content-type': 'text/html; charset=utf-8' }, HTML);
    if (fault === 'token-empty') return reply.send(200, { 'content-type': 'application/json; charset=utf-8' }, '');
    const refreshToken = form.get('refresh_token') ?? '';
    const problem = checkForm(form);
    if (problem !== undefined) return sendTokenError(reply, 400, problem);
    if (fault === 'token-400' || revoked.has(refreshToken)) {
      return sendTokenError(reply, 400, {
        error: 'invalid_grant',
        error_description: 'Token has been expired or revoked.',
      });
    }
    issued += 1;
    const grant = {
      access_token: `demo-access-${issued}`,
      expires_in: 3599,
      scope: SCOPE,
      token_type: 'Bearer',
    };
    if (faults.take(['rotate']) === undefined) return sendJson(reply, grant);
    revoked.add(refreshToken);
    return sendJson(reply, { ...grant, refresh_token: `demo-refresh-${issued}` });
  };
}

function sendTokenError(reply: ServedReply, status: number, body: JsonObject): void {
  reply.send(status, { 'content-type': 'application/json; charset=utf-8' }, JSON.stringify(body, undefined, 2));
}

function checkForm(form: URLSearchParams): JsonObject | undefined {
  const missingError = (name: string): JsonObject => ({
    error: 'invalid_request',
    error_description: `Missing required parameter: ${name}`,
  });
  const grantType = form.get('grant_type');
  if (grantType === null) return missingError('grant_type');
  if (grantType !== 'refresh_token') {
    return { error: 'unsupported_grant_type', error_description: `Invalid grant_type: ${grantType}` };
  }
  return ['refresh_token', 'client_id', 'client_secret'].filter((name) => !form.get(name)).map(missingError)[0];
}
