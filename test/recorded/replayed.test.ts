import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { HttpBody, HttpRequest } from '../../src/core/io.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { createRecorder } from '../../src/recording/recorder.ts';
import { openReplay } from '../../src/recording/replay.ts';
import { temporary } from '../support/temporary.ts';
import { toExchange } from './convert.ts';
import { readChunks } from './expectation.ts';
import { type Recording, readRecordings } from './recording.ts';

const FILE = process.env.GMN_RECORDED_FILE ?? new URL('ours.jsonl', import.meta.url);

/** The answers as JSON; a page as it is. */
function toComparable(body: string): unknown {
  const chunks = readChunks(body);
  return chunks.length > 0 ? chunks : body.trim();
}

test('recorded exchanges become a recording that replays: each request gets its answer', {
  timeout: 300_000,
}, async () => {
  const all = readRecordings(FILE);
  const path = process.env.GMN_RECORDED_CONVERTED || join(temporary(), 'calls.jsonl');
  const exchanges = await Promise.all(all.map((one, index) => toExchange(one, index + 1)));
  writeFileSync(path, exchanges.map((exchange) => `${JSON.stringify(exchange)}\n`).join(''));
  const replay = await openReplay(path, { name: 'calls.jsonl', clock: systemClock, chunks: 'split', seed: 5 });
  const wrong: string[] = [];
  for (const one of all) {
    const response = await replay.send(toRequest(one), new AbortController().signal).catch((thrown: Error) => thrown);
    if (response instanceof Error) {
      wrong.push(`${one.id}: ${response.message}`);
      continue;
    }
    const got = await readAll(response.body);
    const isSame = JSON.stringify(toComparable(got)) === JSON.stringify(toComparable(one.body));
    if (response.status !== one.status || !isSame) wrong.push(`${one.id}: another answer`);
  }
  expect(wrong).toEqual([]);
  expect(replay.listProblems()).toEqual({ refused: [], unused: [] });
});

/** What a recording keeps to the letter; ids and projects have other names in it. */
function toReply(body: string): unknown {
  return readChunks(body).map(({ candidates, usageMetadata, embedding, embeddings }) => [
    candidates,
    usageMetadata,
    embedding ?? embeddings,
  ]);
}

test('what the recorder writes of them replays, too', { timeout: 300_000 }, async () => {
  const all = readRecordings(FILE);
  const directory = temporary();
  const replies = [...all];
  const reports: string[] = [];
  const recorder = await createRecorder({
    ...{
      file: 'calls.jsonl',
      cwd: directory,
      clock: systemClock,
      isProxy: true,
      report: (message) => void reports.push(message),
    },
    secrets: async () => new Set(['canary-secret-0123456789']),
    async send() {
      const { status = 0, headers = {}, body = '' } = replies.shift() ?? {};
      return { status, headers, body: cutInHalf(Buffer.from(body)) };
    },
  });
  for (const one of all) await readAll((await recorder.send(toRequest(one), new AbortController().signal)).body);
  expect(reports).toEqual([]);
  const replay = await openReplay(join(directory, 'calls.jsonl'), { name: 'calls.jsonl', clock: systemClock });
  const wrong: string[] = [];
  for (const one of all) {
    const got = await readAll((await replay.send(toRequest(one), new AbortController().signal)).body);
    if (JSON.stringify(toReply(got)) !== JSON.stringify(toReply(one.body))) wrong.push(one.id);
  }
  expect(wrong).toEqual([]);
  expect(replay.listProblems()).toEqual({ refused: [], unused: [] });
});

function toRequest({ method, url, request }: Recording): HttpRequest {
  return {
    method: method.toUpperCase() as HttpRequest['method'],
    url: new URL(`https://${url}`),
    headers: { 'x-goog-api-key': 'canary-secret-0123456789' },
    body: request,
  };
}

async function* cutInHalf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  const middle = Math.floor(bytes.length / 2);
  yield bytes.subarray(0, middle);
  yield bytes.subarray(middle);
}

async function readAll(body: HttpBody): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

test('a recording of gmn itself can be judged like the others', async () => {
  const [first] = readRecordings(FILE);
  if (first === undefined) throw new Error('there is none');
  const path = join(temporary(), 'calls.jsonl');
  writeFileSync(path, `${JSON.stringify(await toExchange(first, 1))}\n`);
  const [back] = readRecordings(path);
  expect(back).toMatchObject({ id: first.id, source: first.source, url: first.url, status: first.status });
  expect(toComparable(back?.body ?? '')).toEqual(toComparable(first.body));
});
