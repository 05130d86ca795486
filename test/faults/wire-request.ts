import type { Socket } from 'node:net';

/** A request as it stood on the wire. */
export interface WireRequest {
  /** Every byte of it. */
  readonly raw: Buffer;
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The requests of a connection, one after the other, until the client is done. */
export async function* requestReader(socket: Socket): AsyncGenerator<WireRequest, void> {
  let bytes = Buffer.alloc(0);
  let wake: () => void = () => {};
  let isOver = false;
  socket.on('data', (data: Buffer) => {
    bytes = Buffer.concat([bytes, data]);
    wake();
  });
  for (const event of ['end', 'close']) {
    socket.on(event, () => {
      isOver = true;
      wake();
    });
  }
  for (;;) {
    const request = requestIn(bytes);
    if (request !== undefined) {
      bytes = bytes.subarray(request.raw.length);
      yield request;
      continue;
    }
    if (isOver) return;
    await new Promise<void>((resolve) => (wake = resolve));
  }
}

/** The first request, if it is there as a whole. */
function requestIn(bytes: Buffer): WireRequest | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [line = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((text) => {
      const colon = text.indexOf(':');
      return [text.slice(0, colon).toLowerCase(), text.slice(colon + 1).trim()];
    }),
  );
  const [method = '', path = ''] = line.split(' ');
  const start = end + 4;
  const size = sizeOf(bytes, start, headers);
  if (size === undefined || bytes.length < start + size) return undefined;
  const raw = Buffer.from(bytes.subarray(0, start + size));
  return { raw, method, path, headers, body: raw.toString('utf8', start) };
}

function sizeOf(bytes: Buffer, start: number, headers: Readonly<Record<string, string>>): number | undefined {
  if (headers['transfer-encoding'] !== 'chunked') return Number(headers['content-length'] ?? 0);
  const end = bytes.indexOf('0\r\n\r\n', start);
  return end === -1 ? undefined : end + 5 - start;
}
