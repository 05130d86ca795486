import { isLoopback } from '../../../core/text/url.ts';
import type { Refusal, RequestHead } from '../../../platform/http/server.ts';
import { sha256 } from '../../../platform/runtime/native.ts';

export interface GuardOptions {
  readonly path: string;
  readonly token: string;
}

/**
 * Says no to whoever is not a program of this user: a page that had this name resolved to 127.0.0.1 (Host), a page of
 * another site (Origin), anybody without the token. Undefined: let it in. Nothing of the body is read before that.
 */
export function guard({ path, token }: GuardOptions): (head: RequestHead) => Refusal | undefined {
  // Digests take the same time to compare, however much of the token was right.
  const wanted = sha256(token);
  return ({ method, path: asked, headers }) => {
    if (!isOwnHost(headers.host)) return refusal(403, 'this server answers only to the names of this machine');
    if (headers.origin !== undefined && !isOwnOrigin(headers.origin)) return refusal(403, 'pages are not served');
    if (sha256(bearerOf(headers.authorization)) !== wanted) {
      return refusal(401, 'send the token of this server: Authorization: Bearer …', { 'www-authenticate': 'Bearer' });
    }
    if (asked !== path) return refusal(404, `the only address here is ${path}`);
    if (!['POST', 'GET', 'DELETE'].includes(method)) return refusal(405, 'use POST', { allow: 'POST, GET, DELETE' });
    if (method === 'POST' && !isJson(headers['content-type'])) return refusal(415, 'send application/json');
    return undefined;
  };
}

/** A name and a port: what else a URL may hold there would be read as something else. */
function isOwnHost(host = ''): boolean {
  const [, name = ''] = /^([\w.-]+|\[[\da-f:]+\])(?::\d{1,5})?$/i.exec(host) ?? [];
  return isLoopback(name.toLowerCase());
}

/** The name of the scheme is the same in any case. */
function bearerOf(authorization = ''): string {
  return /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
}

function isOwnOrigin(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, hostname } = new URL(origin);
  return (protocol === 'http:' || protocol === 'https:') && isLoopback(hostname);
}

function isJson(type: string | undefined): boolean {
  return /^application\/json\s*(?:;|$)/i.test(type ?? '');
}

function refusal(status: number, words: string, headers: Readonly<Record<string, string>> = {}): Refusal {
  return { status, headers: { 'content-type': 'text/plain', ...headers }, body: `${words}\n` };
}
