import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { TestContext } from 'vitest';
import { type Handle, httpPeer, type Received, streamable } from './http-peer.ts';

export interface OAuthManners {
  /** Replaces the real sign-in page. */
  readonly page?: string;
  /** The scope that `tools/call` requires; absent: the first sign-in is enough. */
  readonly stepUp?: string;
  /** No refresh token is issued. */
  readonly isShortLived?: boolean;
  /** Nobody may register; this is the body of the refusal. */
  readonly refusal?: string;
}

/** An MCP server that requires a sign-in, and its authorization server, in one. `page` is what a browser would do. */
export async function oauthPeer(t: TestContext, { page, stepUp, isShortLived, refusal }: OAuthManners = {}) {
  const mcp = streamable('json');
  let origin = '';
  let issuer = '';
  let issued = 0;
  let challenge = '';
  let scope = '';
  const valid = new Set<string>();
  const spent = new Set<string>();
  const granted = new Map<string, string>();

  const grant = (response: ServerResponse): void => {
    issued += 1;
    const access = isShortLived ? `brief-token-${issued}` : `access-token-${issued}`;
    valid.clear();
    valid.add(access);
    granted.set(access, scope);
    json(response, 200, {
      access_token: access,
      ...(isShortLived ? {} : { refresh_token: `refresh-token-${issued}` }),
      token_type: 'Bearer',
      expires_in: 3600,
      scope,
    });
  };
  const token = ({ body }: Received, response: ServerResponse): void => {
    const form = new URLSearchParams(body);
    if (form.get('grant_type') === 'authorization_code') {
      const proof = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      const isProven = form.get('code') === 'the-code' && proof === challenge;
      if (isProven) grant(response);
      else json(response, 400, { error: 'invalid_grant' });
      return;
    }
    const refresh = form.get('refresh_token') ?? '';
    const isValid = !spent.has(refresh) && refresh === `refresh-token-${issued}`;
    spent.add(refresh);
    if (isValid) grant(response);
    else json(response, 400, { error: 'invalid_grant' });
  };
  const authorize = ({ path }: Received, response: ServerResponse): void => {
    const query = new URL(path, origin).searchParams;
    challenge = query.get('code_challenge') ?? '';
    scope = query.get('scope') ?? '';
    const back = new URL(query.get('redirect_uri') ?? '');
    back.search = new URLSearchParams({ code: 'the-code', state: query.get('state') ?? '' }).toString();
    response.writeHead(302, { location: back.href }).end();
  };
  const serve: Handle = (request, response) => {
    const bearer = request.headers.authorization?.replace('Bearer ', '') ?? '';
    const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    if (!valid.has(bearer)) return void response.writeHead(401, { 'www-authenticate': `Bearer ${metadata}` }).end();
    const isShort =
      stepUp !== undefined && request.body.includes('tools/call') && !granted.get(bearer)?.includes(stepUp);
    if (isShort)
      return void response
        .writeHead(403, { 'www-authenticate': `Bearer error="insufficient_scope", scope="${stepUp}", ${metadata}` })
        .end();
    return mcp(request, response);
  };
  const peer = await httpPeer(t, (request, response) => {
    const [path] = request.path.split('?');
    switch (path) {
      case '/mcp':
        return serve(request, response);
      case '/.well-known/oauth-protected-resource/mcp':
        return json(response, 200, { resource: `${origin}/mcp`, authorization_servers: [issuer] });
      case '/.well-known/oauth-authorization-server':
        return json(response, 200, {
          issuer: origin,
          authorization_endpoint: page ?? `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ['code'],
          grant_types_supported: ['authorization_code', 'refresh_token'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
        });
      case '/register':
        if (refusal !== undefined) return void response.writeHead(403).end(refusal);
        return json(response, 201, { ...JSON.parse(request.body), client_id: 'registered-client' });
      case '/authorize':
        return authorize(request, response);
      case '/token':
        return token(request, response);
      default:
        return void response.writeHead(404).end();
    }
  });
  origin = peer.url;
  issuer = origin;
  return {
    ...peer,
    mcp: `${origin}/mcp`,
    /** Makes every access token so far invalid. */
    expire: () => valid.clear(),
    /** From now on another authorization server is named, and any token it issues is accepted. */
    moveTo(elsewhere: string, access: string) {
      issuer = elsewhere;
      valid.clear();
      valid.add(access);
    },
    asked: (path: string) => peer.received.filter((request) => request.path.split('?')[0] === path),
  };
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
