import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toContents } from '../../src/agent/history.ts';
import type { Content, Part, StoredContent } from '../../src/core/content.ts';
import { fuzz } from '../support/fuzz.ts';
import { objection, type WirePart } from '../support/gemini-rules.ts';

const SKIP = 'skip_thought_signature_validator';
const LOST = { error: '[no answer was recorded]' };
const MEDIA = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };

/** Parts as they may come off the wire, whatever the types say. */
function raw(...parts: readonly object[]): readonly Part[] {
  return parts as readonly Part[];
}
const user = (...parts: readonly object[]): StoredContent => ({ role: 'user', parts: raw(...parts) });
const model = (...parts: readonly object[]): StoredContent => ({ role: 'model', parts: raw(...parts), origin: 'here' });
const text = (words: string): object => ({ text: words });
const call = (name: string, id?: string, thoughtSignature?: string): object => ({
  functionCall: { name, args: {}, ...(id === undefined ? {} : { id }) },
  ...(thoughtSignature === undefined ? {} : { thoughtSignature }),
});
const answer = (name: string, id?: string, response: unknown = { output: id ?? name }): object => ({
  functionResponse: { ...(id === undefined ? {} : { id }), name, response },
});

function wire(kept: readonly StoredContent[], distrusted = 0): readonly Content[] {
  return toContents(kept, { origin: () => 'here', distrusted });
}

test('a plain conversation goes as it is, without its origin', () => {
  const kept = [user(text('a')), model(text('b')), user(text('c'))];
  expect(wire(kept)).toEqual([
    { role: 'user', parts: [{ text: 'a' }] },
    { role: 'model', parts: [{ text: 'b' }] },
    { role: 'user', parts: [{ text: 'c' }] },
  ]);
});

test('thoughts and empty texts stay home; signatures, empty signed parts, unknown parts and called thoughts go', () => {
  const parts = [
    { text: 'hm', thought: true, thoughtSignature: 'dA==' },
    { text: 'so', thoughtSignature: 'cw==' },
    { text: '' },
    { text: '', thoughtSignature: 'ZQ==' },
    { brandNew: { x: [1] }, also: null },
    { ...call('look', 'x', 'Yw=='), thought: true },
  ];
  const kept = [user(text('a')), model(...parts), user(answer('look', 'x')), model(text('done')), user(text('b'))];
  expect(wire(kept)[1]?.parts).toEqual([parts[1], parts[3], parts[4], parts[5]]);
});

test('an answer that the model made up, and parts without data, stay home', () => {
  const parts = [
    {},
    { thoughtSignature: 'ZQ==' },
    { thought: false },
    answer('look', 'x'),
    { functionResponse: 1 },
    text('so'),
  ];
  expect(wire([user(text('a')), model(...parts), user(text('b'))])[1]?.parts).toEqual([text('so')]);
});

test('a model content of thoughts alone is left out, and its neighbours become one', () => {
  expect(wire([user(text('a')), model({ text: 'hm', thought: true }), user(text('b'))])).toEqual([
    user(text('a'), text('b')),
  ]);
});

test('neighbours of one role become one, and what stands before the first user content is left out', () => {
  const kept = [model(text('lost')), user(answer('x')), model(text('lost')), user(text('a')), user(text('b'))];
  expect(wire([...kept, model(text('c')), model(text('d')), user(text('e'))])).toEqual([
    user(text('a'), text('b')),
    { role: 'model', parts: [text('c'), text('d')] },
    user(text('e')),
  ]);
});

test('answers are put in the order of the calls, each with its media, before what the person said', () => {
  const kept = [
    user(text('a')),
    model(call('look', 'x', 'cw=='), call('look', 'y'), call('see', 'z')),
    user(answer('see', 'z'), MEDIA),
    user(answer('look', 'y')),
    user(answer('look', 'x'), MEDIA, MEDIA),
    user(MEDIA, text('and now?')),
  ];
  expect(wire(kept)[2]).toEqual(
    user(answer('look', 'x'), MEDIA, MEDIA, answer('look', 'y'), answer('see', 'z'), MEDIA, MEDIA, text('and now?')),
  );
});

test('a call without an id gets the one of its answer, by order among those of its name', () => {
  const kept = [
    user(text('a')),
    model(call('look'), call('look', 'given'), call('look')),
    user(answer('look', 'given'), answer('look', 'ours1'), answer('look', 'ours2')),
  ];
  const [, asked, given] = wire(kept);
  const ids = ['ours1', 'given', 'ours2'];
  expect(asked?.parts.map((part) => ('functionCall' in part ? part.functionCall.id : ''))).toEqual(ids);
  expect(given?.parts.map((part) => ('functionResponse' in part ? part.functionResponse.id : ''))).toEqual(ids);
});

test('an answer without an id gets the one of its call; neither has one where neither had', () => {
  const kept = [user(text('a')), model(call('look', 'x'), call('see')), user(answer('look'), answer('see'))];
  expect(wire(kept).slice(1)).toEqual([
    { role: 'model', parts: [call('look', 'x', SKIP), call('see')] },
    user(answer('look', 'x', { output: 'look' }), answer('see')),
  ]);
});

test('calls under one id are answered in their order', () => {
  const kept = [
    user(text('a')),
    model(call('look', 'x'), call('look', 'x')),
    user(answer('look', 'x', { n: 1 }), answer('look', 'x', { n: 2 })),
  ];
  expect(wire(kept)[2]).toEqual(user(answer('look', 'x', { n: 1 }), answer('look', 'x', { n: 2 })));
});

test('lost answers are made up, answers to nothing left out', () => {
  const kept = [
    user(text('a')),
    model(call('look', 'x', 'cw=='), call('see', 'y')),
    user(answer('see', 'y'), answer('other', 'z')),
    model(text('b')),
    user(answer('look', 'x')),
    model(call('look', 'w', 'dw==')),
  ];
  expect(wire(kept)).toEqual([
    user(text('a')),
    { role: 'model', parts: [call('look', 'x', 'cw=='), call('see', 'y')] },
    user(answer('look', 'x', LOST), answer('see', 'y')),
    { role: 'model', parts: [text('b'), call('look', 'w', 'dw==')] },
    user(answer('look', 'w', LOST)),
  ]);
});

test('a conversation that ends with the model’s words stays so', () => {
  expect(wire([user(text('a')), model(text('b'))])).toEqual([user(text('a')), { role: 'model', parts: [text('b')] }]);
});

test('an answer that is no object becomes one', () => {
  const kept = [user(text('a')), model(call('look', 'x', 'cw==')), user(answer('look', 'x', 'words'))];
  expect(wire(kept)[2]).toEqual(user(answer('look', 'x', { output: 'words' })));
});

test('calls the API would reject are repaired: no name, arguments that are no object', () => {
  const parts = [
    { functionCall: { args: { a: 1 } }, thoughtSignature: 'cw==' },
    { functionCall: { name: 'look', args: '{}', extra: 1 } },
    { functionCall: { name: 'look' } },
  ];
  expect(wire([user(text('a')), model(...parts)])[1]?.parts).toEqual([
    { functionCall: { name: 'generic_tool', args: { a: 1 } }, thoughtSignature: 'cw==' },
    { functionCall: { name: 'look', extra: 1 } },
    { functionCall: { name: 'look' } },
  ]);
  expect(wire([user(text('a')), { ...model(...parts), origin: 'there' }])[1]?.parts[0]).toMatchObject({
    thoughtSignature: SKIP,
  });
});

test('a missing signature on a first call is made up, in older loops as in the one under way', () => {
  const loop = [model(call('look', 'x'), call('look', 'y')), user(answer('look', 'x'), answer('look', 'y'))];
  const wired = wire([user(text('a')), ...loop, model(text('b')), user(text('c')), ...loop, ...loop]);
  const signatures = wired.map(({ parts }) =>
    parts.map((part) => ('thoughtSignature' in part ? part.thoughtSignature : 0)),
  );
  expect(signatures).toEqual([[0], [SKIP, 0], [0, 0], [0], [0], [SKIP, 0], [0, 0], [SKIP, 0], [0, 0]]);
});

test('a prompt after cancelled answers does not end the loop', () => {
  const kept = [user(text('a')), model(call('look', 'x')), user(answer('look', 'x')), user(text('b'))];
  expect(wire(kept)[1]?.parts).toEqual([call('look', 'x', SKIP)]);
});

test('signatures of another backend or account, and distrusted ones, are replaced wherever they stand', () => {
  const parts = [
    { text: 'so', thoughtSignature: 'cw==' },
    { text: '', thoughtSignature: 'ZQ==' },
    { text: 'plain' },
    { brandNew: 1, thoughtSignature: 'bg==' },
    call('look', 'x', 'Yw=='),
    call('look', 'y', 'ZA=='),
  ];
  const replaced = [
    { text: 'so', thoughtSignature: SKIP },
    { text: 'plain' },
    { brandNew: 1, thoughtSignature: SKIP },
    call('look', 'x', SKIP),
    call('look', 'y', SKIP),
  ];
  const said = model(...parts);
  const after = user(answer('look', 'x'), answer('look', 'y'));
  const { origin: _, ...nobodys } = said;
  for (const kept of [{ ...said, origin: 'there' }, nobodys]) {
    expect(wire([user(text('a')), kept, after])[1]?.parts).toEqual(replaced);
  }
  expect(wire([user(text('a')), said, after], 2)[1]?.parts).toEqual(replaced);
  expect(wire([user(text('a')), said, after], 1)[1]?.parts).toEqual(parts);
});

const anyPart: fc.Arbitrary<object> = fc.oneof(
  fc.record({ text: fc.constantFrom('', 'a', 'b') }),
  fc.record({ text: fc.constantFrom('', 'a'), thoughtSignature: fc.constantFrom('cw==') }),
  fc.record({ text: fc.constant('t'), thought: fc.constant(true) }),
  fc
    .tuple(fc.constantFrom('look', 'see'), fc.constantFrom('1', '2', undefined), fc.constantFrom('cw==', undefined))
    .map((one) => call(...one)),
  fc.constantFrom({ brandNew: true }, {}, { thoughtSignature: 'cw==' }, { thought: false }),
  fc.constantFrom({ functionResponse: { name: 'look', response: {} } }, { functionResponse: null }),
);
const anyAnswer = fc
  .tuple(fc.constantFrom('look', 'see', 'other'), fc.constantFrom('1', '2', '3', undefined))
  .map((one) => answer(...one));
const anyContent: fc.Arbitrary<StoredContent> = fc.oneof(
  fc.array(anyPart, { maxLength: 4 }).map((parts) => model(...parts)),
  fc.array(anyAnswer, { maxLength: 4 }).map((parts) => user(...parts)),
  fc.constant(user(text('prompt'))),
);

test('whatever was kept, what is sent is what the API takes, and sending it again changes nothing', () => {
  fc.assert(
    fc.property(fc.array(anyContent, { maxLength: 12 }), (contents) => {
      const kept = [...contents, user(text('last'))];
      const before = structuredClone(kept);
      const wired = wire(kept);
      const sent = kept.flatMap(({ parts }) => parts.map((part): WirePart => ({ ...part })));
      expect(objection(JSON.parse(JSON.stringify(wired)), sent)).toBeUndefined();
      expect(wire(wired.map((one) => ({ ...one, origin: 'here' })))).toEqual(wired);
      expect(kept).toEqual(before);
    }),
    fuzz(200),
  );
});
