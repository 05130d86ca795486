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
const SETUP = { model: 'm', systemText: '@s', appendText: 'a', start: { date: 'today', branch: 'main' } };
const COMPACT = { type: 'compact', length: 4, outputs: [] };
const PRINT = '0f'.repeat(32);
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
  ['a setup', { type: 'setup', chosen: SETUP }, { kind: 'setup', chosen: SETUP }],
  ...['s', '@s.md'].map(
    (system) =>
      [
        'an instruction of an older version',
        { type: 'setup', chosen: { system } },
        { kind: 'setup', chosen: system === 's' ? { systemText: system } : { system } },
      ] as const,
  ),
  [
    'a setup on no branch',
    { type: 'setup', chosen: { start: { date: 'today' } } },
    { kind: 'setup', chosen: { start: { date: 'today' } } },
  ],
  ...[
    ...[
      {},
      { model: 1, system: '', systemText: 1, appendText: [], start: 'today' },
      { start: null },
      { start: { branch: 'main' } },
    ],
  ].map((chosen) => ['a setup of nothing', { type: 'setup', chosen }, { kind: 'setup', chosen: {} }] as const),
  [
    'pages',
    {
      type: 'call',
      content: textContent('x', 'model'),
      pages: [{ url: 'a', ok: true, status: 'SUCCESS' }, { url: 'b', ok: 1, status: 2 }, { ok: true }, 'c', null],
    },
    {
      kind: 'call',
      content: textContent('x', 'model'),
      usage: {},
      model: 'm',
      pages: [
        { kind: 'page', url: 'a', ok: true, status: 'SUCCESS' },
        { kind: 'page', url: 'b', ok: false, status: '' },
      ],
    },
  ],
  ['a compaction of nothing', COMPACT, { kind: 'compact', length: 4, outputs: [] }],
  [
    'a compaction of all before it',
    { ...COMPACT, summary: { text: 's', end: 4, prompt: 0, promptLimit: 7 }, outputs: [[3, 0, 1, 2, PRINT]] },
    {
      kind: 'compact',
      length: 4,
      summary: { text: 's', end: 4, prompt: 0, promptLimit: 7 },
      outputs: [[3, 0, 1, 2, PRINT]],
    },
  ],
  [
    'a summary of all prompts',
    { ...COMPACT, summary: { text: 's', end: 1, prompt: -1, promptLimit: 'x' } },
    { kind: 'compact', length: 4, summary: { text: 's', end: 1 }, outputs: [] },
  ],
  ...[`a${PRINT}`, `${PRINT}a`, PRINT.slice(1), PRINT.toUpperCase(), [PRINT], `../${PRINT.slice(3)}`].map(
    (print) =>
      [
        'a fingerprint that is none',
        { ...COMPACT, outputs: [[0, 1, 2, 3, print]] },
        { kind: 'compact', length: 4, outputs: [[0, 1, 2, 3]] },
      ] as const,
  ),
  ['nothing in its place', { type: 'replace', contents: [] }, { kind: 'replace', contents: [] }],
  [
    'what it does not know',
    { content: { ...textContent('hi'), more: [1] } },
    { kind: 'prompt', content: { ...textContent('hi'), more: [1] } },
  ],
])('a line with %s is read', ([, change, body]) => {
  expect(tryParseRecord(JSON.stringify({ ...LINE, ...change }))).toEqual({ ...READ_LINE, body });
});

test.for<JsonObject>([{}, { appendText: 'a' }, { model: 'm', system: '@s.md' }])(
  'a setup has only the fields that were chosen, %j: in a chat that switches to it the others stay',
  (chosen) => {
    const read = tryParseRecord(JSON.stringify({ ...LINE, type: 'setup', chosen }));
    expect(read?.body).toStrictEqual({ kind: 'setup', chosen });
  },
);

test('a line says where it was written, and whether its prompt is unanswered', () => {
  const state = (change: JsonObject) => tryParseRecord(JSON.stringify({ ...LINE, ...change }))?.state;
  for (const by of ['chat', 'prompt', 'mcp']) expect(state({ by })).toMatchObject({ by });
  expect(state({ by: 'x' })?.by).toBeUndefined();
  expect([true, 1, 'true', false].map((unanswered) => state({ unanswered })?.unanswered)).toEqual([
    ...[true, undefined, undefined, undefined],
  ]);
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
  const blobs = [
    [0, 1, 'print'],
    'x',
    7,
    [0, 1],
    [0, -1, 'p'],
    [0.5, 1, 'p'],
    ['0', 1, 'p'],
    [0, '1', 'p'],
    [1, 0, 'q'],
  ];
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
    ...[{ type: 'setup' }, { type: 'setup', chosen: 'x' }, { ...COMPACT, length: -1 }, { ...COMPACT, length: null }],
    ...[
      { ...COMPACT, outputs: null },
      { ...COMPACT, outputs: [7] },
      { ...COMPACT, outputs: [[0, 0, 0]] },
    ],
    ...[0, 1, 2, 3].map((index) => ({ ...COMPACT, outputs: [[0, 0, 0, 0], [0, 0, 0, 0].with(index, -1)] })),
    ...[
      { ...COMPACT, outputs: [[4, 0, 0, 0]] },
      { ...COMPACT, summary: { text: 's', end: 5 } },
    ],
    ...['s', null, {}, { text: 's' }, { text: 's', end: -1 }, { end: 1 }, { text: '', end: 1 }].map((summary) => ({
      ...COMPACT,
      summary,
    })),
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
