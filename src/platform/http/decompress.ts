import type { Transform } from 'node:stream';
import { createBrotliDecompress, createUnzip } from 'node:zlib';
import { AppError } from '../../core/error.ts';
import { closeBody, type HttpBody } from '../../core/io.ts';
import { bodyFeed } from './body.ts';

const MAX_BOMB_BYTES = 256 * 1024 * 1024;
const MAX_RATIO = 100;

/** Throws AppError `api` for damaged data, another encoding, a bomb: 256 MB from less than a hundredth of it. */
export async function decompress(body: HttpBody, encoding: string): Promise<HttpBody> {
  const engine = createDecoder(encoding);
  if (engine === undefined) {
    await closeBody(body);
    throw new AppError('api', `the server sent an answer in an unknown encoding (${encoding.slice(0, 40)})`, {
      hint: 'gmn reads gzip, deflate and br. A proxy or gateway in between may have changed the answer.',
    });
  }
  return decompressWith(body, engine);
}

function createDecoder(encoding: string): Transform | undefined {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
    case 'deflate':
      return createUnzip();
    case 'br':
      return createBrotliDecompress();
    default:
      return undefined;
  }
}

/**
 * Not a pipe: a failing stream drops its buffer, but what was decoded before the connection was lost is still part of the
 * response. So the decoder is ended, with or without an error, only after everything has been read from it.
 */
function decompressWith(body: HttpBody, engine: Transform): HttpBody {
  const source = body[Symbol.asyncIterator]();
  let encodedBytes = 0;
  let decodedBytes = 0;
  let onEmpty = (): void => {};
  const stop = (): void => {
    engine.destroy();
    source.return?.().catch(() => {});
  };
  const feed = bodyFeed({ pause: () => engine.pause(), resume: () => engine.resume(), destroy: stop });
  engine.on('data', (chunk: Buffer) => {
    decodedBytes += chunk.length;
    if (decodedBytes > MAX_BOMB_BYTES && decodedBytes > MAX_RATIO * encodedBytes) feed.abort(bombError());
    else feed.push(chunk);
    if (engine.readableLength === 0) onEmpty();
  });
  engine.on('end', feed.end);
  engine.on('error', (cause) => {
    feed.fail(damagedError(cause));
    stop();
  });

  const writeChunk = (chunk: Uint8Array): Promise<void> => new Promise((done) => engine.write(chunk, () => done()));
  const waitUntilEmpty = async (): Promise<void> => {
    if (engine.readableLength > 0) await new Promise<void>((done) => (onEmpty = done));
  };
  const pump = async (): Promise<void> => {
    for (let step = await source.next(); !step.done && !engine.destroyed; step = await source.next()) {
      encodedBytes += step.value.length;
      await writeChunk(step.value);
    }
    await waitUntilEmpty();
    if (encodedBytes > 0) return void engine.end();
    // An empty body is valid in any encoding.
    feed.end();
    engine.destroy();
  };
  pump().catch(async (error: unknown) => {
    await waitUntilEmpty();
    feed.fail(error);
    engine.destroy();
  });
  return feed.body;
}

function damagedError(cause: unknown): AppError {
  return new AppError('api', 'the answer was cut short: its compressed data is incomplete or damaged', {
    cause,
    hint: 'Send the prompt again.',
    retry: {},
  });
}

function bombError(): AppError {
  return new AppError('api', 'the server sent compressed data that expands beyond 256 MB', {
    hint: 'Check that this is the server you meant to ask.',
  });
}
