/** The beginning of an answer, and how to tell where the rest ends. */
export interface AnswerHead {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** So many bytes, pieces that tell their sizes, or all that comes until the line is closed. */
  readonly body: number | 'chunks' | 'rest';
}

/** The longest head that is read, as in Node. */
export const HEAD_BYTES = 16 * 1024;

/** Where two of a kind mean a mistake, the first one counts, as in Node; all others are lists. */
const SINGLE: readonly string[] = ['content-type', 'location', 'retry-after'];

/** Reads the lines of a head, without the empty one at its end. Throws `notHttp`. */
export function parseHead(text: string): AnswerHead {
  const [first = '', ...lines] = text.split('\r\n');
  const [, digits] = /^HTTP\/1\.[01] ([1-9]\d\d)(?: .*)?$/.exec(first) ?? [];
  if (digits === undefined) throw notHttp('HPE_INVALID_STATUS');
  const status = Number(digits);
  const headers = parseHeaders(lines);
  return { status, headers, body: status === 204 || status === 304 ? 0 : bodyOf(headers) };
}

function parseHeaders(lines: readonly string[]): Readonly<Record<string, string>> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, text = ''] = /^([\w!#$%&'*+.^`|~-]+):([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
    if (name === undefined) throw notHttp('HPE_INVALID_HEADER_TOKEN');
    const key = name.toLowerCase();
    // A pattern of its own, and one that cannot fail: trimmed in the one above, a line of blanks would be tried for hours.
    const value = /^[ \t]*(.*[^ \t])?/.exec(text)?.[1] ?? '';
    const earlier = headers.get(key);
    if (earlier === undefined) headers.set(key, value);
    else if (!SINGLE.includes(key)) headers.set(key, `${earlier}, ${value}`);
  }
  return Object.fromEntries(headers);
}

/** What leaves a doubt about the end of an answer is refused, as in Node. */
function bodyOf(headers: Readonly<Record<string, string>>): AnswerHead['body'] {
  const { 'transfer-encoding': coding, 'content-length': length } = headers;
  if (coding !== undefined) {
    if (length !== undefined) throw notHttp('HPE_UNEXPECTED_CONTENT_LENGTH');
    if (coding.toLowerCase() !== 'chunked') throw notHttp('HPE_INVALID_TRANSFER_ENCODING');
    return 'chunks';
  }
  if (length === undefined) return 'rest';
  if (!/^\d{1,15}$/.test(length)) throw notHttp('HPE_INVALID_CONTENT_LENGTH');
  return Number(length);
}

/** An Error with a code of those Node has for bytes that are not HTTP. */
export function notHttp(code: string): Error {
  return Object.assign(new Error('this is not HTTP'), { code });
}
