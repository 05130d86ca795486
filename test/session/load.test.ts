import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { createBlobStore } from '../../src/platform/files/blobs.ts';
import { checkVersion, type LoadedSession, loadSession, toTurnRecord } from '../../src/session/load.ts';
import { temporary } from '../support/temporary.ts';

const ID = 'aaaaaaaa-1111-4111-8111-111111111111';
const NAME = `20260501T120000Z-${ID}.jsonl`;
const T = '2026-05-01T12:00:00.000Z';
const AT = Date.parse(T);
const HEADER = { v: 1, type: 'session', id: ID, t: T, cwd: '/work', by: 'chat', gmn: '1.2.3', title: 'one' };

const textContent = (text: string, role = 'user'): JsonObject => ({ role, parts: [{ text }] });

const line = (seq: number, type: string, rest: JsonObject = {}): JsonObject => ({
  seq,
  t: T,
  type,
  turn: seq,
  ...rest,
});

async function loaded(
  lines: readonly (JsonObject | string)[],
  tail = '',
  header: object = HEADER,
): Promise<LoadedSession> {
  const home = temporary();
  const file = join(home, NAME);
  const texts = lines.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  writeFileSync(file, `${[JSON.stringify(header), ...texts].map((text) => `${text}\n`).join('')}${tail}`);
  return loadSession(file, createBlobStore(join(home, 'blobs')));
}

const texts = ({ turns: { items } }: LoadedSession): readonly string[] =>
  items.map(
    ({ kind, content }) => `${kind} ${content.parts.map((part) => ('text' in part ? part.text : '')).join('')}`,
  );

test('a session is what its lines say, in their order', async () => {
  const session = await loaded([
    line(1, 'prompt', { content: textContent('a') }),
    line(2, 'reply', { content: textContent('b', 'model'), model: 'm', usage: {} }),
    line(3, 'name', { name: 'trip', model: 'm' }),
  ]);
  expect(texts(session)).toEqual(['prompt a', 'reply b']);
  expect(session).toMatchObject({ seq: 3, notices: [], header: { id: ID, isDamaged: false } });
  expect(session.unanswered).toBeUndefined();
  expect(session.state).toEqual({ turn: 1, name: 'trip', model: 'm' });
  expect(session.turns.items.map(({ at }) => at)).toEqual([AT, AT]);
});

test('pieces of a reply count if its own record never came, and not if it did', async () => {
  const asked = line(1, 'prompt', { content: textContent('a') });
  const pieces = [line(2, 'partial', { text: 'so ', model: 'm' }), line(3, 'partial', { text: 'far', model: 'm' })];
  const whole = line(4, 'reply', { content: textContent('so far.', 'model'), model: 'm' });
  expect(texts(await loaded([asked, ...pieces, whole]))).toEqual(['prompt a', 'reply so far.']);
  expect(texts(await loaded([asked, ...pieces, { ...whole, type: 'call' }]))).toEqual(['prompt a', 'call so far.']);
  const cut = await loaded([asked, ...pieces]);
  expect(texts(cut)).toEqual(['prompt a', 'reply so far']);
  expect(cut.turns.items[1]).toEqual({
    kind: 'reply',
    content: { role: 'model', parts: [{ text: 'so far' }] },
    usage: {},
    model: 'm',
    at: AT,
  });
  expect(texts(await loaded([asked, ...pieces, line(4, 'prompt', { content: textContent('again') })]))).toEqual([
    'prompt a',
    'reply so far',
    'prompt again',
  ]);
  expect(texts(await loaded([asked, ...pieces, line(4, 'name'), whole]))).toEqual(['prompt a', 'reply so far.']);
  expect((await loaded([asked, { ...pieces[0], model: null }])).turns.items[1]).toMatchObject({ model: '' });
  expect(texts(await loaded([asked, line(2, 'partial', { text: '' })]))).toEqual(['prompt a']);
});

test('a prompt that was retracted before it was answered is listed as unanswered', async () => {
  const asked = line(1, 'prompt', { content: textContent('a') });
  const back = line(2, 'rewind', { turns: 1 });
  const taken = await loaded([asked, back]);
  expect([taken.unanswered, texts(taken), taken.state.turn]).toEqual([textContent('a'), [], 0]);
  expect((await loaded([asked, back, line(3, 'name')])).unanswered).toEqual(textContent('a'));
  expect((await loaded([asked, line(2, 'name'), line(3, 'rewind', { turns: 1 })])).unanswered).toBeUndefined();
  expect((await loaded([asked, back, line(3, 'prompt', { content: textContent('b') })])).unanswered).toBeUndefined();
  expect(
    (await loaded([asked, line(2, 'reply', { content: textContent('b', 'model') }), back])).unanswered,
  ).toBeUndefined();
});

test('a session keeps its latest setup, which is no step of the conversation', async () => {
  const asked = line(1, 'prompt', { content: textContent('a') });
  const setup = line(2, 'setup', { chosen: { model: 'm1' } });
  const later = await loaded([asked, setup, line(3, 'setup', { chosen: { system: 's' } }), line(4, 'name')]);
  expect([later.setup, texts(later)]).toEqual([{ systemText: 's' }, ['prompt a']]);
  expect((await loaded([asked])).setup).toEqual({});
  const back = line(3, 'rewind', { turns: 1 });
  expect((await loaded([asked, back, setup])).unanswered).toEqual(textContent('a'));
  const piece = line(2, 'partial', { text: 'so' });
  const whole = line(4, 'reply', { content: textContent('so far.', 'model') });
  expect(texts(await loaded([asked, piece, setup, whole]))).toEqual(['prompt a', 'reply so far.']);
});

test('a compaction is no step of the conversation, but ends a reply that was cut off', async () => {
  const asked = line(1, 'prompt', { content: textContent('a') });
  const piece = line(2, 'partial', { text: 'so', model: 'm' });
  const compact = (length: number, rest: JsonObject = {}) => line(3, 'compact', { length, outputs: [], ...rest });
  const back = line(4, 'rewind', { turns: 1 });
  expect((await loaded([asked, compact(1), back])).unanswered).toEqual(textContent('a'));
  expect((await loaded([asked, back, compact(0)])).unanswered).toEqual(textContent('a'));
  const cut = await loaded([asked, piece, compact(2)]);
  expect([texts(cut), cut.turns.compactions]).toEqual([['prompt a', 'reply so'], [{ outputs: [] }]]);
  expect((await loaded([asked, piece, compact(1)])).turns.compactions).toEqual([]);
});

test('a rewind keeps of a compaction what concerns the contents that are left', async () => {
  const { turns } = await loaded([
    ...['a', 'b', 'c'].map((text, index) => line(index + 1, 'prompt', { content: textContent(text) })),
    line(4, 'compact', { length: 3, summary: { text: 's', end: 2 }, outputs: [0, 1, 2].map((at) => [at, 0, 0, 0]) }),
    line(5, 'compact', { length: 3, summary: { text: 'all', end: 3 }, outputs: [] }),
    line(6, 'rewind', { turns: 1 }),
  ]);
  const shortened = [0, 1].map((content) => ({ content, part: 0, head: 0, tail: 0 }));
  expect(turns.compactions).toEqual([{ summary: { text: 's', end: 2 }, outputs: shortened }, { outputs: [] }]);
});

test('a replacement is all there is from then on, each content as what it must have been', async () => {
  const contents = [
    textContent('p'),
    { role: 'model', parts: [{ functionCall: { name: 'x' } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'x', response: {} } }] },
    textContent('r', 'model'),
  ];
  const session = await loaded([
    line(1, 'prompt', { content: textContent('gone') }),
    line(2, 'replace', { contents, model: 'm' }),
  ]);
  expect(session.turns.items.map((item) => [item.kind, 'model' in item ? item.model : '', item.at])).toEqual([
    ['prompt', '', AT],
    ['call', 'm', AT],
    ['answer', '', AT],
    ['reply', 'm', AT],
  ]);
  expect(session.turns.count).toBe(1);
  const nameless = await loaded([line(1, 'replace', { contents: [textContent('r', 'model')] })]);
  expect(nameless.turns.items).toMatchObject([{ kind: 'reply', model: '', usage: {} }]);
});

test('what stands alone is known by its role and its parts', () => {
  expect(toTurnRecord({ role: 'user', parts: [] }, 'm')).toEqual({
    kind: 'prompt',
    content: { role: 'user', parts: [] },
  });
  expect(toTurnRecord({ role: 'model', parts: [{ text: '' }] }, 'm')).toMatchObject({
    kind: 'reply',
    usage: {},
    model: 'm',
  });
});

test('damaged lines are counted, one or many, and what stands after the last newline is not read', async () => {
  const asked = line(1, 'prompt', { content: textContent('a') });
  const one = await loaded([asked, '{']);
  expect([texts(one), one.notices]).toEqual([['prompt a'], ['1 damaged record of this session could not be read']]);
  const two = await loaded(['{', asked, '}'], JSON.stringify(line(2, 'name')));
  expect(two.notices).toEqual(['3 damaged records of this session could not be read']);
  expect(two.seq).toBe(1);
  const whole = await loaded(['{', asked, '}']);
  expect(two.bytes).toBe(whole.bytes);
});

test('a session without a line is one, as its header left it', async () => {
  expect((await loaded([], '', { ...HEADER, name: 'trip' })).state).toEqual({ turn: 0, name: 'trip' });
  const empty = await loaded([]);
  expect([empty.seq, empty.state, empty.unanswered, texts(empty)]).toEqual([0, { turn: 0 }, undefined, []]);
});

test('media that are gone are counted, and the rest is there', async () => {
  const content = { role: 'user', parts: [{ text: 'look' }, { inlineData: { mimeType: 'image/png', data: '' } }] };
  const session = await loaded([line(1, 'prompt', { content, blobs: [[0, 1, 'f'.repeat(64)]] })]);
  expect(session.notices).toEqual(['1 attachment of this session could not be found']);
  expect(texts(session)).toEqual(['prompt look[an attachment of type image/png was here; it is no longer kept]']);
});

async function refusal(name: string, text: string | undefined): Promise<unknown> {
  const file = join(temporary(), name);
  if (text === undefined) mkdirSync(file);
  else writeFileSync(file, text);
  return loadSession(file, createBlobStore(join(file, 'blobs'))).catch(({ fault, message, hint }) => [
    fault,
    message.replace(file, 'FILE'),
    hint,
  ]);
}

const LIST = 'Run: gmn sessions list';
const NONE = ['usage', 'FILE is not a session, or nothing in it can be read', LIST];

test('what is no session is refused in words', async () => {
  expect(await refusal(NAME, '')).toEqual(NONE);
  expect(await refusal(NAME, 'x\n')).toEqual(NONE);
  expect(await refusal(NAME, 'x\ny\n')).toEqual(NONE);
  expect(await refusal('notes.jsonl', `${JSON.stringify(HEADER)}\n`)).toEqual(NONE);
  expect(await refusal(NAME, undefined)).toEqual([
    'usage',
    expect.stringMatching(/^cannot read the session FILE: ./),
    LIST,
  ]);
  expect(await refusal(NAME, `${JSON.stringify({ ...HEADER, v: 2 })}\n`)).toEqual([
    'usage',
    `the session ${ID} was written by a newer gmn (format 2)`,
    'Update gmn to use it; how: gmn doctor',
  ]);
  expect(() => checkVersion('x', 1)).not.toThrow();
});

test('a damaged header is reported before other damage of the session', async () => {
  const file = join(temporary(), NAME);
  const asked = JSON.stringify(line(1, 'prompt', { content: textContent('a'), name: 'trip' }));
  writeFileSync(file, `damaged\n${asked}\n{\n`);
  const session = await loadSession(file, createBlobStore(join(file, 'blobs')));
  expect(session.notices).toEqual([
    'the first line of this session is damaged: its name and its directory may be lost',
    '1 damaged record of this session could not be read',
  ]);
  expect(session.state).toEqual({ turn: 1, name: 'trip' });
});
