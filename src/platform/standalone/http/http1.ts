import type { HttpRequest } from '../../../core/io.ts';
import { toBytes } from '../../http/exchange.ts';

const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
/** https://www.rfc-editor.org/rfc/rfc9110#section-5.5: nothing that could end a header, and one byte for each character. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Message framing is set here; callers must not override it. */
const FRAMING_HEADERS: readonly string[] = ['connection', 'content-length', 'transfer-encoding'];

/** For a connection that is closed afterwards. Throws TypeError for a header with invalid characters. */
export function encodeRequest(
  { method, url, headers, body }: HttpRequest,
  target = `${url.pathname}${url.search}`,
  more: Readonly<Record<string, string>> = {},
): Buffer {
  const content = toBytes(body ?? '');
  // Servers require a length for POST, even without a body (411).
  const length: HttpRequest['headers'] =
    body === undefined && method !== 'POST' ? {} : { 'content-length': String(content.length) };
  const given = Object.entries({ ...headers, ...more }).filter(
    ([name]) => !FRAMING_HEADERS.includes(name.toLowerCase()),
  );
  const host: HttpRequest['headers'] = given.some(([name]) => name.toLowerCase() === 'host') ? {} : { Host: url.host };
  return Buffer.concat([
    encodeHead(`${method} ${target}`, { ...Object.fromEntries(given), ...length, ...host, Connection: 'close' }),
    content,
  ]);
}

/** CONNECT asks a proxy for a tunnel to the host of this URL. Throws like `encodeRequest`. */
export function encodeConnect({ hostname, port }: URL, headers: Readonly<Record<string, string>>): Buffer {
  const host = `${hostname}:${port || 443}`;
  return encodeHead(`CONNECT ${host}`, { Host: host, ...headers, Connection: 'close' });
}

function encodeHead(start: string, headers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => {
    if (!NAME.test(name) || !VALUE.test(value)) throw new TypeError(`invalid characters in the header ${name}`);
    return `${name}: ${value}\r\n`;
  });
  return Buffer.from(`${start} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
}

interface ResponseHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A number of bytes, chunked encoding, or everything until the connection is closed. */
  readonly body: number | 'chunks' | 'rest';
}

const HEAD_BYTES = 16 * 1024;

/** Headers of which only the first counts, as in Node; repeated others are joined with commas. */
const SINGLE_HEADERS: readonly string[] = ['content-type', 'location', 'retry-after'];

/** Takes the lines of a head without the empty line at its end. Throws `httpParseError`. */
function parseHead(text: string): ResponseHead {
  const [first = '', ...lines] = text.split('\r\n');
  const [, digits] = /^HTTP\/1\.[01] ([1-9]\d\d)(?: .*)?$/.exec(first) ?? [];
  if (digits === undefined) throw httpParseError('HPE_INVALID_STATUS');
  const status = Number(digits);
  const headers = parseHeaders(lines);
  return { status, headers, body: status === 204 || status === 304 ? 0 : parseBodyLength(headers) };
}

function parseHeaders(lines: readonly string[]): Readonly<Record<string, string>> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, text = ''] = /^([\w!#$%&'*+.^`|~-]+):([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
    if (name === undefined) throw httpParseError('HPE_INVALID_HEADER_TOKEN');
    const key = name.toLowerCase();
    // A separate pattern that cannot fail: trimming in the one above would backtrack for hours on a line of blanks.
    const value = /^[ \t]*(.*[^ \t])?/.exec(text)?.[1] ?? '';
    const earlier = headers.get(key);
    if (earlier === undefined) headers.set(key, value);
    else if (!SINGLE_HEADERS.includes(key)) headers.set(key, `${earlier}, ${value}`);
  }
  return Object.fromEntries(headers);
}

/** Rejects ambiguous framing (request smuggling), as Node does. */
function parseBodyLength(headers: Readonly<Record<string, string>>): ResponseHead['body'] {
  const { 'transfer-encoding': coding, 'content-length': length } = headers;
  if (coding !== undefined) {
    if (length !== undefined) throw httpParseError('HPE_UNEXPECTED_CONTENT_LENGTH');
    if (coding.toLowerCase() !== 'chunked') throw httpParseError('HPE_INVALID_TRANSFER_ENCODING');
    return 'chunks';
  }
  if (length === undefined) return 'rest';
  if (!/^\d{1,15}$/.test(length)) throw httpParseError('HPE_INVALID_CONTENT_LENGTH');
  return Number(length);
}

function httpParseError(code: string): Error {
  return Object.assign(new Error('this is not HTTP'), { code });
}

interface ResponseEvents {
  headers(status: number, headers: Readonly<Record<string, string>>): void;
  data(chunk: Uint8Array): void;
  end(): void;
  /** An Error with an `HPE_` code for invalid HTTP, else what closed the connection. */
  fail(error: unknown): void;
}

const CR = 0x0d;
const LF = 0x0a;
const NOTHING = Buffer.alloc(0);
const START = 'HTTP/1.';

/** Takes bytes and returns those left for the next step. Throws `httpParseError`. */
type Step = (bytes: Buffer) => Buffer;

interface Flow {
  go(next: Step): void;
  data(chunk: Uint8Array): void;
  finish(): void;
}

/** https://www.rfc-editor.org/rfc/rfc9112. `isTunnel`: a response to CONNECT, which has no body after a 2xx. */
export function responseReader(events: ResponseEvents, { isTunnel = false } = {}) {
  let isOver = false;
  let endsWithLine = false;
  const flow: Flow = {
    go(next) {
      step = next;
    },
    data: events.data,
    finish() {
      isOver = true;
      events.end();
    },
  };
  const fail = (error: unknown): void => {
    isOver = true;
    events.fail(error);
  };
  const begin = (text: string): void => {
    const { status, headers, body } = parseHead(text);
    // We never ask for an upgrade.
    if (status === 101) throw httpParseError('HPE_INVALID_STATUS');
    if (status < 200) flow.go(headStep(begin));
    else {
      events.headers(status, headers);
      endsWithLine = body === 'rest';
      if (body === 0 || (isTunnel && status < 300)) flow.finish();
      else flow.go(bodyStep(body, flow));
    }
  };
  let step = headStep(begin);
  return {
    push(chunk: Buffer): Buffer {
      let rest = chunk;
      try {
        while (rest.length > 0 && !isOver) rest = step(rest);
      } catch (thrown) {
        fail(thrown);
      }
      return rest;
    },
    /** `error` is undefined if the connection was closed regularly. */
    closed(error: unknown) {
      if (isOver) return;
      if (endsWithLine && error === undefined) flow.finish();
      else fail(error);
    },
  };
}

/** Checks the first bytes at once: the end of a head might never come if it is not HTTP. */
function headStep(begin: (text: string) => void): Step {
  let isComplete = false;
  const collect = collectUntil('\r\n\r\n', HEAD_BYTES, 'HPE_HEADER_OVERFLOW', (text) => {
    isComplete = true;
    begin(text);
  });
  let seen = '';
  let last: number | undefined;
  return (bytes) => {
    if (seen.length < START.length) seen += bytes.toString('latin1', 0, START.length - seen.length);
    if (!START.startsWith(seen)) throw httpParseError('HPE_INVALID_CONSTANT');
    const rest = collect(bytes);
    // A complete head is checked line by line.
    if (!isComplete && hasBareLineFeed(bytes, last)) throw httpParseError('HPE_CR_EXPECTED');
    last = bytes.at(-1);
    return rest;
  };
}

function hasBareLineFeed(bytes: Buffer, before: number | undefined): boolean {
  return bytes.some((byte, at) => byte === LF && (at === 0 ? before : bytes[at - 1]) !== CR);
}

function bodyStep(body: ResponseHead['body'], flow: Flow): Step {
  if (body === 'chunks') return sizeStep(flow);
  return payloadStep(body === 'rest' ? Number.POSITIVE_INFINITY : body, flow, flow.finish);
}

function payloadStep(size: number, flow: Flow, done: () => void): Step {
  let left = size;
  return (bytes) => {
    const own = bytes.subarray(0, left);
    left -= own.length;
    flow.data(own);
    if (left === 0) done();
    return bytes.subarray(own.length);
  };
}

function sizeStep(flow: Flow): Step {
  return collectUntil('\r\n', HEAD_BYTES, 'HPE_INVALID_CHUNK_SIZE', (line) => {
    const [, digits] = /^([\dA-Fa-f]{1,12})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?$/.exec(line) ?? [];
    if (digits === undefined) throw httpParseError('HPE_INVALID_CHUNK_SIZE');
    const size = Number.parseInt(digits, 16);
    flow.go(size === 0 ? trailerStep(flow, 0) : payloadStep(size, flow, () => flow.go(gapStep(flow))));
  });
}

function gapStep(flow: Flow): Step {
  return collectUntil('\r\n', 0, 'HPE_STRICT', () => flow.go(sizeStep(flow)));
}

function trailerStep(flow: Flow, before: number): Step {
  return collectUntil('\r\n', HEAD_BYTES - before, 'HPE_HEADER_OVERFLOW', (line) => {
    if (line === '') flow.finish();
    else flow.go(trailerStep(flow, before + line.length));
  });
}

/** Collects bytes up to `mark` and passes on what precedes it. Throws `code` if that is more than `maxBytes`. */
function collectUntil(mark: string, maxBytes: number, code: string, found: (text: string) => void): Step {
  let held: Buffer = NOTHING;
  return (bytes) => {
    const all = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
    const end = all.indexOf(mark, Math.max(0, held.length - mark.length), 'latin1');
    if ((end < 0 ? all.length - mark.length : end) > maxBytes) throw httpParseError(code);
    held = all;
    if (end < 0) return NOTHING;
    found(all.toString('latin1', 0, end));
    return all.subarray(end + mark.length);
  };
}
