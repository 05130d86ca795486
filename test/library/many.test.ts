import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { demo } from '../../src/library/demo.ts';
import { createLibrary } from '../../src/library/library.ts';
import { answerEach, failure, fakeGemini } from '../support/gemini.ts';
import { temporary } from '../support/temporary.ts';

const { batch, embed, decide } = createLibrary('0.0.0');

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

function fail(message: string): never {
  throw new Error(message);
}

const echo = answerEach((prompt) => `re: ${prompt}`);

describe('a batch', () => {
  test('asks about texts and objects, and gives each its row back', async (t) => {
    const server = await fakeGemini(t, echo);
    const rows = ['red', { id: 'b', prompt: 'blue' }, { prompt: 'green', system: 'Be brief.' }];
    const results = await collect(batch(rows, { server, prompt: 'Translate', ordered: true }));
    expect(results.map(({ index, row, ...rest }) => [index, row, rest])).toEqual(
      rows.map((row, index) => [
        index,
        row,
        {
          ...{
            id: index === 1 ? 'b' : expect.any(String),
            ok: true,
            text: expect.stringMatching(/^re: Translate\s+\w+$/),
          },
          ...{ model: 'gemini-2.5-flash', usage: expect.any(Object), cost: expect.any(Number), attempts: 1 },
        },
      ]),
    );
    expect(server.requests.find(({ prompt }) => prompt.includes('green'))?.body.systemInstruction).toBeDefined();
  });

  test('has a failed row as a result, and throws what would fail for all', async (t) => {
    const picky = answerEach((prompt) => (prompt === 'bad' ? failure(400, 'INVALID_ARGUMENT', 'no such word') : 'ok'));
    const server = await fakeGemini(t, picky);
    const results = await collect(batch(['good', 'bad', 17 as never], { server, ordered: true }));
    expect(results.map((result) => (result.ok ? result.text : [result.error.code, result.error.message]))).toEqual([
      'ok',
      ['api', expect.stringContaining('no such word')],
      ['usage', expect.stringContaining('neither a text nor an object')],
    ]);
    const refusing = await fakeGemini(t, failure(401, 'UNAUTHENTICATED'));
    await expect(collect(batch(['a'], { server: refusing }))).rejects.toMatchObject({ code: 'auth' });
    await expect(collect(batch(17 as never, { server }))).rejects.toMatchObject({ code: 'usage' });
  });

  test('types its answers by the schema', async (t) => {
    const server = await fakeGemini(
      t,
      answerEach(() => '{"n":1}'),
    );
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const;
    for await (const result of batch(['one'], { server, schema })) {
      const n: number | undefined = result.ok ? result.json.n : undefined;
      expect(n).toBe(1);
    }
  });

  test('reads no more rows than it can ask, and ends when the loop is left', async (t) => {
    const server = await fakeGemini(t, echo);
    let read = 0;
    let isClosed = false;
    function* endless() {
      try {
        for (;;) {
          read += 1;
          yield `row ${read}`;
        }
      } finally {
        isClosed = true;
      }
    }
    for await (const result of batch(endless(), { server, concurrency: 2 })) if (result.index >= 3) break;
    expect(read).toBeLessThan(12);
    expect(isClosed).toBe(true);
  });

  test('goes on where its output ends', async (t) => {
    const server = await fakeGemini(t, echo);
    const cwd = temporary();
    const options = { server, cwd, output: 'out.jsonl', ordered: true };
    const rows = ['one', 'two', 'three'].map((prompt) => ({ id: prompt, prompt }));
    for await (const { id } of batch(rows, { ...options, concurrency: 1 })) if (id === 'two') break;
    const asked = server.requests.length;
    const rest = (await collect(batch(rows, options))).map(({ id }) => id);
    const lines = readFileSync(join(cwd, 'out.jsonl'), 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).id).sort()).toEqual(['one', 'three', 'two']);
    expect(rest.length).toBeLessThan(3);
    expect(server.requests.length - asked).toBe(rest.length);
    expect(await collect(batch(rows, options))).toEqual([]);
  });

  test('is cancelled by its signal, also while its source has nothing', async (t) => {
    const server = await fakeGemini(t, echo);
    const controller = new AbortController();
    async function* stuck() {
      yield 'one';
      await new Promise(() => {});
    }
    const read = async () => {
      for await (const _ of batch(stuck(), { server, signal: controller.signal })) controller.abort();
    };
    await expect(read()).rejects.toMatchObject({ code: 'interrupted' });
  });

  test('has a row that is no JSON as a failed row, and says who could not read the rows', async (t) => {
    const server = await fakeGemini(t, echo);
    const circle: Record<string, unknown> = { id: 'round', prompt: 'x' };
    circle.self = circle;
    const results = await collect(batch([circle, { n: 1n }, 'good'], { server, ordered: true }));
    expect(results.map((result) => (result.ok ? result.text : result.error.code))).toEqual([
      'usage',
      'usage',
      're: good',
    ]);
    expect(results[0]?.row).toBe(circle);
    function* broken() {
      yield 'one';
      throw new Error('the file is gone');
    }
    await expect(collect(batch(broken(), { server }))).rejects.toMatchObject({
      ...{ code: 'usage', message: 'the rows could not be read: the file is gone' },
      cause: { message: 'the file is gone' },
    });
  });

  test('can be left while an answer is waited for, and does not end a source that has ended', async (t) => {
    const silent = await fakeGemini(t, () => {});
    const results = batch(['one'], { server: silent });
    const next = results.next().catch((error: unknown) => error);
    await expect.poll(() => silent.requests.length).toBe(1);
    expect(await results.return()).toEqual({ done: true, value: undefined });
    expect(await next).toMatchObject({ code: 'interrupted' });
    const ended = ['one'].values();
    const source = { [Symbol.iterator]: () => ({ next: () => ended.next(), return: () => fail('it has ended') }) };
    const server = await fakeGemini(t, echo);
    expect(await collect(batch(source, { server }))).toHaveLength(1);
  });

  test('stays below its cost', async (t) => {
    const server = await fakeGemini(t, []);
    await expect(collect(batch(['a', 'b'], { server, maxCost: 0.000_000_1 }))).rejects.toMatchObject({ code: 'limit' });
  });
});

test('vectors come in the order of the texts, in as few requests as the API takes', async (t) => {
  const server = await demo();
  t.onTestFinished(server.close);
  const texts = Array.from({ length: 250 }, (_, index) => `text ${index}`);
  const vectors = await embed(texts, { server, dimensions: 8 });
  expect([vectors.length, server.requests.length]).toEqual([250, 3]);
  expect(await embed('text 249', { server, dimensions: 8 })).toEqual(vectors[249]);
  expect(vectors[0]).toHaveLength(8);
  await expect(embed(['a', ''], { server })).rejects.toMatchObject({ code: 'usage' });
  await expect(embed('a', { server, taskType: 'poetry' })).rejects.toMatchObject({ code: 'usage' });
  await expect(embed('a', { server, signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'interrupted' });
});

test('nothing is asked for after one request for vectors has failed', async (t) => {
  const server = await fakeGemini(t, failure(400, 'INVALID_ARGUMENT', 'no such text'));
  const texts = Array.from({ length: 3000 }, (_, index) => `text ${index}`);
  await expect(embed(texts, { server })).rejects.toMatchObject({ code: 'api' });
  const asked = server.requests.length;
  // Longer than all the others would take.
  await expect(embed('one', { server })).rejects.toMatchObject({ code: 'api' });
  await expect(embed('two', { server })).rejects.toMatchObject({ code: 'api' });
  expect(server.requests.length - asked).toBeLessThan(6);
});

test('a decision is a probability, one of the choices, or a score', async (t) => {
  const server = await demo();
  t.onTestFinished(server.close);
  const probability = await decide('- export function a()', 'does this change the public API?', { server });
  expect(probability).toBeGreaterThanOrEqual(0);
  expect(probability).toBeLessThanOrEqual(1);
  const { choice } = await decide('charged twice', 'who?', { server, choices: ['billing', 'support'] });
  const known: 'billing' | 'support' = choice;
  expect(['billing', 'support']).toContain(known);
  const { score } = await decide('fine', 'how good?', { server, levels: ['bad', 'fair', 'good'] });
  expect(score).toEqual(expect.any(Number));
  const wrong = { server, choices: ['only'] };
  await expect(decide('x', 'which?', wrong)).rejects.toMatchObject({ code: 'usage' });
});

test('a decision and a vector are cancelled at once if the server never answers', async (t) => {
  const server = await fakeGemini(t, () => {});
  for (const start of [
    (signal: AbortSignal) => embed('a', { server, signal }),
    (signal: AbortSignal) => decide('a', 'b?', { server, signal }),
  ]) {
    const controller = new AbortController();
    const before = server.requests.length;
    const failed = start(controller.signal).catch((error: unknown) => error);
    await expect.poll(() => server.requests.length).toBe(before + 1);
    controller.abort(new Error('enough'));
    expect(await failed).toMatchObject({ code: 'interrupted', cause: { message: 'enough' } });
  }
});
