import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { AppError } from '../../core/error.ts';
import { readError } from './read.ts';

const CHUNK_BYTES = 262_144;
const PIPE_BYTES = 65_536;

/** Skips what is appended meanwhile, since the consumer may be the writer. Throws AppError `usage`, with `name`. */
export async function* readChunks(path: string, name: string, signal?: AbortSignal): AsyncGenerator<Uint8Array, void> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, constants.O_RDONLY | (constants.O_NOCTTY ?? 0));
    const status = await file.stat();
    if (status.isDirectory()) throw new AppError('usage', `${name} is a directory`, { hint: 'Name a file.' });
    // Files of the kernel, as in /proc, have size 0.
    let left = status.isFile() && status.size > 0 ? status.size : Number.POSITIVE_INFINITY;
    while (left > 0) {
      signal?.throwIfAborted();
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Math.min(left, CHUNK_BYTES)));
      if (bytesRead === 0) return;
      left -= bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } catch (thrown) {
    signal?.throwIfAborted();
    throw thrown instanceof AppError ? thrown : readError(thrown, name);
  } finally {
    await file?.close();
  }
}

const LINE_FEED = 10;

export async function countLines(chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let count = 0;
  let last = LINE_FEED;
  for await (const chunk of chunks) {
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1)) count += 1;
    last = chunk.at(-1) ?? last;
  }
  return last === LINE_FEED ? count : count + 1;
}

/** The lines of a text in UTF-8 as it arrives; the last one may be empty. */
export async function* splitTextLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  yield rest + decoder.decode();
}

/** Pipes the pieces through a transform, on demand. Throws what either side throws, and closes both. */
export async function* pipeChunks<Item>(
  chunks: AsyncIterable<Uint8Array>,
  transform: NodeJS.ReadWriteStream & { destroy(error?: Error): unknown },
): AsyncGenerator<Item, void> {
  const source = Readable.from(chunks, { objectMode: false, highWaterMark: PIPE_BYTES });
  source.on('error', (error) => transform.destroy(error)).pipe(transform);
  try {
    for await (const item of transform) yield item as unknown as Item;
  } finally {
    source.destroy();
    transform.destroy();
  }
}
