import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLimit } from '../../../src/core/async.ts';
import { AppError } from '../../../src/core/error.ts';
import { parseArguments } from '../../../src/core/schema.ts';
import { formatFailure } from '../../../src/mcp/server/errors.ts';
import { createConversations } from '../../../src/mcp/server/host.ts';
import { createPages } from '../../../src/mcp/server/pages.ts';
import { createProgressReporter } from '../../../src/mcp/server/progress.ts';
import { createHandshake } from '../../../src/mcp/server/protocol/handshake.ts';
import { createRecentIds } from '../../../src/mcp/server/recent-ids.ts';
import { createRoots } from '../../../src/mcp/server/roots.ts';
import { checkModelName } from '../../../src/mcp/server/tool.ts';
import { splitLines } from '../../../src/mcp/wire/lines.ts';
import { parseMessage } from '../../../src/mcp/wire/message.ts';

async function* pieces(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    yield bytes.subarray(at, cut);
    at = Math.max(at, cut);
  }
  yield bytes.subarray(at);
}

test('lines do not depend on how the bytes were cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\n', ' '))),
      fc.array(fc.nat(200)),
      async (texts, cuts) => {
        const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(''));
        const found: unknown[] = [];
        for await (const line of splitLines(pieces(bytes, cuts), { maxBytes: 1_000_000, tooLong: 'skip' }))
          found.push('text' in line ? line.text : line);
        expect(found).toEqual(texts);
      },
    ),
  );
});

test('a line that is too long is reported once, and the next one is complete', async () => {
  const found: unknown[] = [];
  for await (const line of splitLines(pieces(Buffer.from(`${'x'.repeat(50)}\nok\n${'y'.repeat(50)}`), [3, 20, 40]), {
    maxBytes: 10,
    tooLong: 'skip',
  }))
    found.push(line);
  expect(found).toMatchObject([{ isTooLong: true }, { text: 'ok' }, { isTooLong: true }]);
});

test('reading a message never throws, and gives a message or an error', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(Object.keys(parseMessage(text))).toHaveLength(1);
    }),
  );
  fc.assert(
    fc.property(fc.record({ jsonrpc: fc.constant('2.0'), id: fc.jsonValue(), method: fc.jsonValue() }), (value) => {
      expect(Object.keys(parseMessage(JSON.stringify(value)))).toHaveLength(1);
    }),
  );
});

function counter(): () => string {
  let count = 0;
  return () => {
    count += 1;
    return String(count);
  };
}

test('the pages of a text are the text, none too long, no surrogate pair split', () => {
  const store = createPages(counter());
  fc.assert(
    fc.property(
      fc.nat(100_000),
      fc.constantFrom('x', '💡', 'é', '\ud800'),
      fc.constantFrom('', 'y'),
      (length, unit, head) => {
        const text = head + unit.repeat(length);
        let { text: whole, next } = store.split(text);
        expect(whole.length).toBeLessThanOrEqual(40_000);
        while (next !== undefined) {
          const page = store.read(next);
          expect(page?.text.length).toBeLessThanOrEqual(40_000);
          if (unit === '💡') expect(page?.text.isWellFormed()).toBe(true);
          whole += page?.text;
          next = page?.next;
        }
        expect(whole).toBe(text);
      },
    ),
    { numRuns: 30 },
  );
});

test('old answers are dropped before memory fills', () => {
  const store = createPages(counter());
  const first = store.split('x'.repeat(50_000)).next ?? '';
  for (let index = 0; index < 70; index += 1) store.split('y'.repeat(50_000));
  expect(store.read(first)).toBeUndefined();
  expect(store.read('gmn://answers/71/2')?.text).toHaveLength(10_000);
  expect(store.read('gmn://answers/71/3')).toBeUndefined();
  expect(store.read('gmn://answers/../2')).toBeUndefined();
});

const SCHEMA = {
  properties: {
    note: { type: 'string', description: 'More.' },
    prompt: { type: 'string', description: 'Words.' },
    count: { type: 'integer', description: 'How many.', minimum: 1, maximum: 3 },
    mode: { type: 'string', description: 'Which.', enum: ['a', 'b'] },
    flag: { type: 'boolean', description: 'Whether.' },
    schema: { type: 'object', description: 'What.' },
    list: { type: 'array', description: 'Those.' },
  },
  required: ['prompt'],
} as const;

test.for([
  [{}, 'prompt is required'],
  [{ prompt: '' }, 'prompt is empty'],
  [{ prompt: 'x', other: '' }, 'there is no argument "other"'],
  [{ prompt: null }, 'prompt is required'],
  [{ prompt: 'x', count: 0 }, 'count must be 1 to 3'],
  [{ prompt: 'x', count: 1.5 }, 'count must be a whole number'],
  [{ prompt: 'x', count: '1' }, 'count must be a number'],
  [{ prompt: 'x', mode: 'c' }, 'mode must be one of a, b'],
  [{ prompt: 'x', flag: 'yes' }, 'flag must be true or false'],
  [{ prompt: 'x', schema: [] }, 'schema must be an object'],
  [{ prompt: 'x', list: [1] }, 'list must be a list of objects'],
  [{ prompt: 'x', other: 1 }, 'there is no argument "other"'],
  [{ prompt: 'x', toString: 1 }, 'there is no argument "toString"'],
] as const)('arguments %j: %s', ([args, message]) => {
  expect(() => parseArguments(SCHEMA, args)).toThrow(message);
});

test('good arguments come as they are, without what is null, empty and optional, or the host’s own', () => {
  const args = { prompt: 'x', count: 3, mode: 'b', flag: false, schema: {}, list: [{}] };
  expect(parseArguments(SCHEMA, args)).toEqual(args);
  expect(parseArguments(SCHEMA, { prompt: 'x', count: null })).toEqual({ prompt: 'x' });
  expect(parseArguments(SCHEMA, { prompt: 'x', note: '', mode: '', count: '' })).toEqual({ prompt: 'x' });
  expect(parseArguments(SCHEMA, { prompt: 'x', wait_for_previous: true })).toEqual({ prompt: 'x' });
});

test('conversations are bounded, and the queue runs turns of one after the other', async () => {
  const conversations = createConversations();
  const queue = createLimit({ maxRunning: 9 });
  const { signal } = new AbortController();
  const say = (id: string) =>
    queue.run(
      () =>
        conversations.runTurn(id, {}, async (history) => {
          const before = history.contents.length;
          await history.append({ kind: 'prompt', content: { role: 'user', parts: [{ text: id }] } });
          return before;
        }),
      { signal, key: id },
    );
  expect(await Promise.all([say('a'), say('a'), say('a')])).toEqual([0, 1, 2]);
  for (let index = 0; index < 100; index += 1) await say(`other ${index}`);
  expect(await say('a')).toBe(0);
});

test('conversations beyond the limit are dropped, the least recently used first', async () => {
  const conversations = createConversations(1000);
  const say = (id: string, length: number) =>
    conversations.runTurn(id, {}, async (history) => {
      const before = history.contents.length;
      await history.append({ kind: 'prompt', content: { role: 'user', parts: [{ text: 'x'.repeat(length) }] } });
      return before;
    });
  for (const id of ['a', 'b', 'a', 'b']) await say(id, 100);
  expect([await say('c', 500), await say('b', 1), await say('a', 1)]).toEqual([0, 2, 0]);
  // A single conversation may exceed the limit: its model says when it is too long.
  expect([await say('d', 5000), await say('d', 1), await say('b', 1)]).toEqual([0, 1, 0]);
});

test('of ids the newest are remembered, and one that is added again is new', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 9 }).map(String)), fc.integer({ min: 1, max: 5 }), (added, most) => {
      const ids = createRecentIds(most);
      for (const id of added) ids.add(id);
      const newest = [...new Set(added.toReversed())].slice(0, most);
      for (const id of new Set(added)) expect(ids.has(id)).toBe(newest.includes(id));
    }),
  );
});

test('a repeated initialized notification is replayed to the SDK once', () => {
  const first = createHandshake({
    host: { allowed: {}, name: 'n', version: '1', roots: { list: [] } },
    tools: [],
  } as never);
  expect(first.respond({ jsonrpc: '2.0', id: 1, method: 'initialize' })).toHaveProperty('result');
  for (let index = 0; index < 100; index += 1) {
    expect(first.respond({ jsonrpc: '2.0', method: 'notifications/initialized' })).toBe('handled');
  }
  expect(first.handled).toHaveLength(2);
});

test('progress grows with the events and stops when it is closed', () => {
  let time = 0;
  const told: string[] = [];
  const progress = createProgressReporter({
    now: () => time,
    send: (count, message) => void told.push(`${count} ${message}`),
  });
  progress.onEvent({ type: 'wait', what: 'gemini' });
  progress.onEvent({ type: 'begin', model: 'gemini' });
  // `begin` comes even before a turn that fails, so nothing is reported yet.
  expect(told).toEqual(['1 waiting for gemini (0 ms)']);
  progress.onEvent({ type: 'text', delta: 'abc' });
  time = 2000;
  progress.onEvent({ type: 'text', delta: 'def' });
  progress.onEvent({ type: 'call', id: '1', name: 'read_file', args: {} });
  progress.stop();
  progress.report('late');
  expect(told).toEqual([
    '1 waiting for gemini (0 ms)',
    '2 gemini answers (0 ms)',
    '3 writing, 6 characters so far (2 s)',
    '4 the model calls read_file, 6 characters so far (2 s)',
  ]);
});

test.for(['auto-x', 'gpt-5', 'Gemini-3-pro', 'constructor'])('%s is no model a caller may name', (name) => {
  expect(() => checkModelName(name)).toThrow(`"${name}" is not a model`);
});

test.for(['gemini-9-new', 'gemma-3', 'flash', 'auto', 'auto-gemini-3'])('%s is a model a caller may name', (name) => {
  expect(checkModelName(name)).toBe(name);
});

test('advice for a shell does not reach a caller', () => {
  const piped = new AppError('usage', 'a pipe is not a regular file', { hint: 'Pipe it in instead: … | gmn "…"' });
  expect(formatFailure(piped)).toBe('a pipe is not a regular file');
});

test('without a root nothing can be named', () => {
  const none = createRoots([]);
  expect(none.requireDirectory()).toBeUndefined();
  expect(() => none.requireDirectory('/tmp')).toThrow('/tmp is not inside a root of this server');
});
