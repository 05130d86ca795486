import { findFileOutput, type OutputStream } from './file-output.ts';

export function outputStream(descriptor: 1 | 2): OutputStream {
  return findFileOutput(descriptor) ?? (descriptor === 1 ? process.stdout : process.stderr);
}

export type WritePieces = (pieces: readonly string[]) => boolean;

/** Node encodes shorter text on its stack. */
const SHORT_BYTES = 16_384;
const MAX_BUFFER_BYTES = 1024 * 1024;

/**
 * Encodes long text for a file or a pipe into a buffer that is reused: for a string, Node allocates three times its length
 * with each write.
 */
export function createPieceWriter(stream: OutputStream): WritePieces {
  let buffer = Buffer.alloc(0);
  return (pieces) => {
    let maxBytes = 0;
    for (const piece of pieces) maxBytes += 3 * piece.length;
    if (maxBytes < SHORT_BYTES || maxBytes > MAX_BUFFER_BYTES || stream.isTTY) return stream.write(pieces.join(''));
    // Until all of it is written, the buffer belongs to the stream.
    if (buffer.length < maxBytes || stream.writableLength > 0) buffer = Buffer.allocUnsafeSlow(maxBytes);
    let length = 0;
    for (const piece of pieces) length += buffer.write(piece, length);
    return stream.write(buffer.subarray(0, length));
  };
}
