import type { HttpRequest } from '../../core/http.ts';

const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
/** https://www.rfc-editor.org/rfc/rfc9110#section-5.5: nothing that could end a header, and one byte for each character. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Where a request ends, and that no other follows it, is for us to say. */
const OURS: readonly string[] = ['connection', 'content-length', 'transfer-encoding'];

/**
 * A request as it goes out on a connection that is closed after it; `target` is what stands behind the method. Headers that
 * would give it another end are left out. Throws a TypeError for a header that would be more than one.
 */
export function requestBytes(
  { method, url, headers, body }: HttpRequest,
  target = `${url.pathname}${url.search}`,
  more: Readonly<Record<string, string>> = {},
): Buffer {
  const content = Buffer.from(body ?? '');
  // Servers ask for the length of what is posted, of nothing too (411).
  const length = body === undefined && method !== 'POST' ? {} : { 'content-length': String(content.length) };
  const given = Object.entries({ ...headers, ...more }).filter(([name]) => !OURS.includes(name.toLowerCase()));
  const host = given.some(([name]) => name.toLowerCase() === 'host') ? {} : { Host: url.host };
  return Buffer.concat([
    head(`${method} ${target}`, { ...Object.fromEntries(given), ...length, ...host, Connection: 'close' }),
    content,
  ]);
}

/** The request to a proxy for a tunnel to the host of this URL. Throws as `requestBytes` does. */
export function tunnelBytes({ hostname, port }: URL, headers: Readonly<Record<string, string>>): Buffer {
  const host = `${hostname}:${port || 443}`;
  return head(`CONNECT ${host}`, { Host: host, ...headers, Connection: 'close' });
}

function head(start: string, headers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => {
    if (!NAME.test(name) || !VALUE.test(value)) throw new TypeError(`invalid characters in the header ${name}`);
    return `${name}: ${value}\r\n`;
  });
  return Buffer.from(`${start} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
}
