import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, type TestContext, test } from 'vitest';
import { createHttpClient } from '../../../src/platform/http/send.ts';
import { answer, loopback, TIMERS } from '../../api/loopback.ts';

const TEXT = Array.from({ length: 5000 }, (_, n) => `Zeile ${n * 7919} grün\n`).join('');

async function fetched(t: TestContext, encoding: string, bytes: Uint8Array) {
  const server = await loopback(t, [answer(200, bytes, { 'content-encoding': encoding })]);
  const { send } = createHttpClient({ timers: TIMERS, env: {}, trace: () => {}, clock: { now: () => 0 } });
  const signal = new AbortController().signal;
  const chunks: Uint8Array[] = [];
  const done = (async () => {
    const { body } = await send({ method: 'GET', url: server.url, headers: {} }, signal);
    for await (const chunk of body) chunks.push(chunk);
  })();
  return { done, chunks, server };
}

test.for([
  ['gzip', gzipSync(TEXT)],
  ['x-gzip', gzipSync(TEXT)],
  ['GZIP', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
  ['identity', Buffer.from(TEXT)],
] as const)('%s is read (N31)', async ([encoding, bytes], t) => {
  const { done, chunks } = await fetched(t, encoding, bytes);
  await done;
  expect(Buffer.concat(chunks).toString('utf8')).toBe(TEXT);
});

test.for(['gzip', 'br'])('nothing is nothing, and not damaged %s (N31)', async (encoding, t) => {
  const { done, chunks } = await fetched(t, encoding, Buffer.alloc(0));
  await done;
  expect(chunks).toEqual([]);
});

test.for(['zstd', 'gzip, br', 'x'.repeat(100)])(
  '%s is refused, and the connection closed (N31)',
  async (encoding, t) => {
    const { done, server } = await fetched(t, encoding, Buffer.from(TEXT));
    await expect(done).rejects.toMatchObject({
      fault: 'api',
      message: `the server sent an answer in an unknown encoding (${encoding.slice(0, 40)})`,
    });
    await expect.poll(server.closed).toBe(1);
  },
);

test.for([
  ['gzip', gzipSync(TEXT).subarray(0, -20)],
  ['gzip', gzipSync(TEXT).subarray(0, -4)],
  ['br', brotliCompressSync(TEXT).subarray(0, -20)],
  ['gzip', Buffer.from('this is no gzip')],
] as const)('cut or damaged %s is a failure, after what could be read (N32)', async ([encoding, bytes], t) => {
  const { done, chunks } = await fetched(t, encoding, bytes);
  await expect(done).rejects.toMatchObject({
    fault: 'api',
    message: 'the answer was cut short: its compressed data is incomplete or damaged',
  });
  expect(
    TEXT.startsWith(
      Buffer.concat(chunks)
        .toString('utf8')
        .replace(/\ufffd+$/, ''),
    ),
  ).toBe(true);
});

test('a bomb is stopped, its connection closed (N33)', async (t) => {
  const member = gzipSync(Buffer.alloc(16 * 1024 * 1024));
  const bomb = Buffer.concat(Array.from({ length: 20 }, () => member));
  const server = await loopback(t, [answer(200, bomb, { 'content-encoding': 'gzip' })]);
  const { send } = createHttpClient({ timers: TIMERS, env: {}, trace: () => {}, clock: { now: () => 0 } });
  const { body } = await send({ method: 'GET', url: server.url, headers: {} }, new AbortController().signal);
  let size = 0;
  const reading = (async () => {
    for await (const chunk of body) size += chunk.length;
  })();
  await expect(reading).rejects.toThrow('the server sent compressed data that expands beyond 256 MB');
  expect(size).toBeLessThanOrEqual(256 * 1024 * 1024);
  await expect.poll(server.closed).toBe(1);
});
