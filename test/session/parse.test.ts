import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { createTurns } from '../../src/session/load.ts';
import { findSessionId, recoverHeader, tryParseHeader, tryParseRecord } from '../../src/session/parse.ts';
import { prompt, reply } from './support.ts';

const ID = 'aaaaaaaa-1111-4111-8111-111111111111';
const NAME = `20260501T120000Z-${ID}.jsonl`;
const T = '2026-05-01T12:00:00.000Z';
const AT = Date.parse(T);
const HEADER = { v: 1, type: 'session', id: ID, t: T, cwd: '/work', by: 'chat', gmn: '1.2.3', title: 'one' };
const READ_HEADER = { v: 1, id: ID, at: AT, cwd: '/work', by: 'chat', gmn: '1.2.3', title: 'one' };

const textContent = (text: string, role = 'user'): JsonObject => ({ role, parts: [{ text }] });

test('a header is read with all that it says', () => {
  expect(tryParseHeader(JSON.stringify(HEADER))).toEqual(READ_HEADER);
  expect(tryParseHeader(JSON.stringify({ ...HEADER, name: 'trip', parent: { id: 'p' }, by: 'mcp' }))).toEqual({
    ...READ_HEADER,
    by: 'mcp',
    name: 'trip',
    parent: { id: 'p' },
  });
});

test.for<readonly [string, JsonObject, JsonObject]>([
  ['an unknown origin', { by: 'x' }, { by: 'prompt' }],
  ['no origin', { by: null }, { by: 'prompt' }],
  ['words that are none', { gmn: 1, title: 2, name: 3, parent: { id: 4 } }, { gmn: '', title: '' }],
  ['a parent that is none', { parent: 'p' }, {}],
  ['another version', { v: 7 }, { v: 7 }],
])('a header with %s is read', ([, change, read]) => {
  expect(tryParseHeader(JSON.stringify({ ...HEADER, ...change }))).toEqual({ ...READ_HEADER, ...read });
});

test.for<readonly [string, string]>([
  ['no JSON', '{'],
  ['a list', '[]'],
  ['null', 'null'],
  ...[{ type: 'x' }, { v: 1.5 }, { v: '1' }, { id: 1 }, { cwd: 1 }, { t: 1 }, { t: 'never' }].map(
    (change) => [JSON.stringify(change), JSON.stringify({ ...HEADER, ...change })] as const,
  ),
])('%s is no header', ([, text]) => {
  expect(tryParseHeader(text)).toBeUndefined();
});

const LINE = { seq: 1, t: T, type: 'prompt', turn: 1, name: 'trip', model: 'm', content: textContent('hi') };
const READ_LINE = { seq: 1, at: AT, state: { turn: 1, name: 'trip', model: 'm' }, blobs: [] };

test.for<readonly [string, JsonObject, object]>([
  ['a prompt', {}, { kind: 'prompt', content: textContent('hi') }],
  ['an answer', { type: 'answer' }, { kind: 'answer', content: textContent('hi') }],
  [
    'a call',
    {
      type: 'call',
      content: textContent('x', 'model'),
      usage: { totalTokenCount: 3, other: 1, promptTokenCount: '2' },
    },
    { kind: 'call', content: textContent('x', 'model'), usage: { totalTokenCount: 3 }, model: 'm' },
  ],
  [
    'a reply',
    { type: 'reply', content: textContent('x', 'model'), usage: 7, finishReason: 'STOP' },
    { kind: 'reply', content: textContent('x', 'model'), usage: {}, model: 'm', finishReason: 'STOP' },
  ],
  [
    'a reply that was cut off',
    { type: 'reply', content: textContent('x', 'model'), finishReason: 5 },
    { kind: 'reply', content: textContent('x', 'model'), usage: {}, model: 'm' },
  ],
  ['a name', { type: 'name', content: 'x' }, { kind: 'name' }],
  ['a piece', { type: 'partial', text: 'so' }, { kind: 'partial', text: 'so' }],
  ['a rewind', { type: 'rewind', turns: 2 }, { kind: 'rewind', turns: 2 }],
  ['no rewind', { type: 'rewind', turns: 0 }, { kind: 'rewind', turns: 0 }],
  [
    'a replacement',
    { type: 'replace', contents: [textContent('a')] },
    { kind: 'replace', contents: [textContent('a')] },
  ],
  ['nothing in its place', { type: 'replace', contents: [] }, { kind: 'replace', contents: [] }],
  [
    'what it does not know',
    { content: { ...textContent('hi'), more: [1] } },
    { kind: 'prompt', content: { ...textContent('hi'), more: [1] } },
  ],
])('a line with %s is read', ([, change, body]) => {
  expect(tryParseRecord(JSON.stringify({ ...LINE, ...change }))).toEqual({ ...READ_LINE, body });
});

test('a line without a model is that of none', () => {
  const { model: _, name: _name, ...rest } = LINE;
  expect(tryParseRecord(JSON.stringify({ ...rest, type: 'reply', content: textContent('x', 'model') }))).toEqual({
    ...READ_LINE,
    state: { turn: 1 },
    body: { kind: 'reply', content: textContent('x', 'model'), usage: {}, model: '' },
  });
});

test('media that are kept apart are named by content, part and fingerprint; what is no such name is left out', () => {
  const blobs = [[0, 1, 'print'], 'x', [0, 1], [0, -1, 'p'], [0.5, 1, 'p'], ['0', 1, 'p'], [0, '1', 'p'], [1, 0, 'q']];
  expect(tryParseRecord(JSON.stringify({ ...LINE, blobs }))?.blobs).toEqual([
    [0, 1, 'print'],
    [1, 0, 'q'],
  ]);
  expect(tryParseRecord(JSON.stringify({ ...LINE, blobs: 'x' }))?.blobs).toEqual([]);
});

test.for<readonly [string, string]>([
  ['no JSON', '{'],
  ['no object', '[1]'],
  ...[
    ...[{ seq: -1 }, { seq: 0.5 }, { seq: '1' }, { turn: null }, { turn: -1 }, { t: 'x' }, { type: 'x' }, { type: 1 }],
    ...[{ content: null }, { content: { role: 'user' } }, { content: { role: 'user', parts: [{}, 1] } }],
    ...[{ content: { role: 'system', parts: [] } }, { content: { parts: [] } }, { type: 'partial' }],
    ...[{ type: 'rewind' }, { type: 'rewind', turns: -1 }, { type: 'replace' }, { type: 'replace', contents: [1] }],
    ...[
      { type: 'replace', contents: [textContent('a'), null] },
      { type: 'replace', contents: {} },
    ],
  ].map((change) => [JSON.stringify(change), JSON.stringify({ ...LINE, ...change })] as const),
])('%s is no line', ([, text]) => {
  expect(tryParseRecord(text)).toBeUndefined();
});

test('the id of a session is in the name of its file', () => {
  expect(findSessionId(NAME)).toBe(ID);
  for (const name of [
    `x${NAME}`,
    `${NAME}x`,
    NAME.replace('aaaa', 'a.a/'),
    NAME.replace('aaaa', '-'),
    `${NAME.slice(0, 17)}${'x'.repeat(65)}.jsonl`,
    NAME.replace('Z-', 'Z'),
    'a.jsonl',
  ]) {
    expect(findSessionId(name)).toBeUndefined();
  }
});

test('of a header that is damaged counts what can be made out, and the name of the file', () => {
  const given = JSON.stringify({ ...HEADER, title: 'a "quoted" \\ one' });
  expect(recoverHeader(NAME, JSON.stringify(HEADER))).toEqual({ ...READ_HEADER, isDamaged: false });
  expect(recoverHeader(NAME, JSON.stringify({ ...HEADER, id: 'x' }))).toEqual({ ...READ_HEADER, isDamaged: true });
  const lost = { v: 1, id: ID, at: AT, by: 'chat', gmn: '', isDamaged: true };
  expect(recoverHeader(NAME, given.slice(0, -1))).toEqual({ ...lost, cwd: '/work', title: 'a "quoted" \\ one' });
  expect(recoverHeader(NAME, '"cwd":"\\x"')).toEqual({ ...lost, cwd: '', title: '' });
  expect(recoverHeader(NAME.replace('20260501', '20269901'), '')).toEqual({ ...lost, at: 0, cwd: '', title: '' });
  expect(recoverHeader('notes.jsonl', JSON.stringify(HEADER))).toBeUndefined();
});

test('exchanges begin with prompts, and are taken away whole from the end', () => {
  const found = createTurns();
  const [before, p1, r1, p2, r2, p3] = [reply('before'), prompt('1'), reply('1'), prompt('2'), reply('2'), prompt('3')];
  for (const record of [before, p1, r1, p2, r2, p3]) found.add(record);
  expect([found.count, found.items.length]).toEqual([3, 6]);
  found.rewind(0);
  expect(found.count).toBe(3);
  found.rewind(1);
  expect(found.items).toEqual([before, p1, r1, p2, r2]);
  expect(found.contents).toEqual([before, p1, r1, p2, r2].map(({ content }) => content));
  found.rewind(9);
  expect([found.count, found.items]).toEqual([0, [before]]);
  found.rewind(1);
  expect(found.items).toEqual([before]);
  found.clear();
  found.add(p1);
  expect([found.count, found.items, found.contents]).toEqual([1, [p1], [p1.content]]);
  found.clear();
  expect([found.count, found.items, found.contents]).toEqual([0, [], []]);
});
