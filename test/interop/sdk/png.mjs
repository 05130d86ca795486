import { inflateSync } from 'node:zlib';

/** The size and the rows of a PNG with one IDAT chunk; throws if it is none. */
export function decodePicture(bytes) {
  if (bytes.toString('latin1', 1, 4) !== 'PNG') throw new Error(`not a PNG: ${bytes.subarray(0, 20)}`);
  const start = bytes.indexOf('IDAT');
  const length = bytes.readUInt32BE(start - 4);
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  const rows = inflateSync(bytes.subarray(start + 4, start + 4 + length));
  if (rows.length !== (width * 3 + 1) * height) throw new Error('the rows do not fit the size');
  return { width, height, rows };
}
