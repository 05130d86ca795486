import { expect, test } from 'vitest';
import type { TurnRecord } from '../../src/core/history.ts';
import { type Item, splitTurns } from '../../src/export/transcript.ts';
import { answer, call, cutReply, followUp, PNG, prompt, reply, sessionOf } from './samples.ts';

function turns(...records: readonly TurnRecord[]) {
  return [...splitTurns(sessionOf(records).records)];
}

function stepsAfter(...records: readonly TurnRecord[]): readonly Item[] {
  return turns(prompt('x'), ...records)[0]?.steps ?? [];
}

const calling = (name: string, id?: string) => ({
  functionCall: { name, args: {}, ...(id === undefined ? {} : { id }) },
});
const answers = (steps: readonly Item[]) =>
  steps.map((step) => ('answer' in step ? [step.type, step.name, step.answer?.response] : [step.type]));

test('a turn is a prompt and all that comes before the next one', () => {
  const found = turns(prompt('one'), reply('a'), prompt('two'), prompt('three'), call('b', calling('x')), reply('c'));
  expect(found.map(({ number, prompt: asked, steps }) => [number, asked, steps.length])).toEqual([
    [1, [{ type: 'text', text: 'one' }], 1],
    [2, [{ type: 'text', text: 'two' }], 0],
    [3, [{ type: 'text', text: 'three' }], 3],
  ]);
});

test('what gmn asked by itself belongs to the turn before it', () => {
  const media = { inlineData: { mimeType: 'image/png', data: PNG } };
  const found = turns(prompt('one'), reply('a'), followUp('npm test fails', media), reply('b'), prompt('two'));
  expect(found.map(({ number, prompt: asked, steps }) => [number, asked, steps])).toEqual([
    [
      1,
      [{ type: 'text', text: 'one' }],
      [
        { type: 'text', text: 'a' },
        { type: 'followUp', text: 'npm test fails' },
        { type: 'media', mimeType: 'image/png', data: PNG },
        { type: 'text', text: 'b' },
      ],
    ],
    [2, [{ type: 'text', text: 'two' }], []],
  ]);
});

test('a session that begins with what gmn asked loses nothing', () => {
  expect(turns(followUp('a'), reply('b')).map(({ prompt: asked, steps }) => [asked, steps.length])).toEqual([[[], 2]]);
});

test('a turn has its time, the model that answered last and the tokens of all its calls', () => {
  const [, second] = turns(prompt('one'), prompt('two'), call(calling('x')), { ...reply('a'), model: 'gemini-3-pro' });
  expect(second).toMatchObject({
    at: Date.UTC(2026, 0, 31, 9, 6, 12, 345),
    model: 'gemini-3-pro',
    usage: { promptTokenCount: 2100, candidatesTokenCount: 55, thoughtsTokenCount: 5, totalTokenCount: 2160 },
  });
});

test('a session that does not begin with a prompt loses nothing', () => {
  expect(turns(reply('a'), prompt('b')).map(({ prompt: asked, steps }) => [asked.length, steps.length])).toEqual([
    [0, 1],
    [1, 0],
  ]);
});

test('answers find their calls by id, in whatever order they come', () => {
  const steps = stepsAfter(
    call(calling('a', 'a-1'), calling('b', 'b-1')),
    answer('b', { output: 'of b' }),
    answer('a', { output: 'of a' }),
  );
  expect(answers(steps)).toEqual([
    ['call', 'a', { output: 'of a' }],
    ['call', 'b', { output: 'of b' }],
  ]);
});

test('calls without an id get their answers in order', () => {
  const steps = stepsAfter(
    call(calling('a'), calling('a')),
    answer('a', { output: '1' }),
    answer('a', { output: '2' }),
  );
  expect(answers(steps)).toEqual([
    ['call', 'a', { output: '1' }],
    ['call', 'a', { output: '2' }],
  ]);
});

test('an answer to no call stands for itself, and a call without an answer has none', () => {
  const steps = stepsAfter(call(calling('a', 'other')), answer('a', { output: 'x' }), reply('b'));
  expect(answers(steps)).toEqual([['call', 'a', undefined], ['answer', 'a', { output: 'x' }], ['text']]);
});

test('an answer is never given to a call of an earlier reply', () => {
  const steps = stepsAfter(call(calling('a')), call(calling('b')), answer('b', { output: 'x' }));
  expect(answers(steps)).toEqual([
    ['call', 'a', undefined],
    ['call', 'b', { output: 'x' }],
  ]);
});

test('several answers in one record each take the media that follow them', () => {
  const media = { inlineData: { mimeType: 'image/png', data: PNG } };
  const second = { functionResponse: { id: 'b-1', name: 'b', response: { output: 'y' } } };
  const steps = stepsAfter(call(calling('a', 'a-1'), calling('b', 'b-1')), answer('a', { output: 'x' }, media, second));
  expect(steps.map((step) => ('answer' in step ? step.answer?.media.length : undefined))).toEqual([1, 0]);
});

test('pieces of one text are joined within a record and not beyond it', () => {
  const steps = stepsAfter(
    call('a', 'b', { text: 'c', thought: true }, { text: 'd', thought: true }, ''),
    reply('e', 'f'),
  );
  expect(steps).toEqual([
    { type: 'text', text: 'ab' },
    { type: 'thought', text: 'cd' },
    { type: 'text', text: 'ef' },
  ]);
});

test('how an answer ended is noted unless it ended well', () => {
  const last = (record: TurnRecord) => stepsAfter(record).at(-1);
  expect(last(reply('a'))).toEqual({ type: 'text', text: 'a' });
  expect(last(cutReply('a'))).toEqual({ type: 'note', text: 'The answer was cut off here.' });
  expect(last({ ...reply('a'), finishReason: 'SAFETY' })).toEqual({
    type: 'note',
    text: 'The answer ended with SAFETY.',
  });
});

test('a part of a kind we do not read is kept whole', () => {
  const part = JSON.parse('{"newKind":{"code":"1"}}');
  expect(stepsAfter(reply(part))).toEqual([{ type: 'other', part }]);
});

test('code that the service ran, its output and the pages it read are items of their own', () => {
  const parts = JSON.parse(
    '[{"executableCode":{"language":"PYTHON","code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}},{"executableCode":{"code":3}}]',
  );
  const pages = [{ kind: 'page', url: 'https://a.example/', ok: false, status: 'PAYWALL' }] as const;
  expect(stepsAfter({ ...reply(...parts), pages })).toEqual([
    { type: 'code', language: 'python', code: '1' },
    { type: 'output', ok: true, outcome: 'OUTCOME_OK', output: '2' },
    { type: 'code', language: '', code: '' },
    { type: 'note', text: 'The service read https://a.example/ (paywall).' },
  ]);
});
