import { Writable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPieceWriter } from '../../../src/platform/terminal/output-stream.ts';

/** Takes each chunk one turn of the event loop after it was written, as a slow reader of a pipe does. */
function slowStream() {
  const taken: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      setImmediate(() => {
        taken.push(String(chunk));
        done();
      });
    },
  });
  const text = new Promise<string>((resolve) => stream.on('finish', () => resolve(taken.join(''))));
  return { stream: Object.assign(stream, { isTTY: false, columns: 80, rows: 24 }), text };
}

const piece = fc
  .tuple(fc.constantFrom('a', 'é', 'あ', '👍🏽', '\n', ''), fc.constantFrom(1, 100, 9000, 70_000))
  .map(([character, count]) => character.repeat(count));

test('texts of any length and script arrive as they were written, also while earlier ones still wait', async () => {
  const writes = fc.array(fc.tuple(fc.array(piece, { maxLength: 5 }), fc.boolean()), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(writes, async (list) => {
      const { stream, text } = slowStream();
      const write = createPieceWriter(stream);
      for (const [pieces, waits] of list) {
        if (!write(pieces) && waits) await new Promise<void>((resolve) => stream.once('drain', resolve));
      }
      stream.end();
      expect((await text) === list.flatMap(([pieces]) => pieces).join('')).toBe(true);
    }),
    { numRuns: 50 },
  );
});
