import { expect, test } from 'vitest';
import { testDemo } from './support.ts';

const PATH = '/v1beta/decisions';
const INPUT = [{ type: 'text', text: 'hello' }];
const NOUL = { q: { type: 'noul', instructions: 'Is it a greeting?' } };
const body = (changes: object = {}): object => ({
  model: 'gemini-decision-1',
  input: INPUT,
  questions: NOUL,
  ...changes,
});

test('answers are a hash of what was asked: the same again, another for another', async () => {
  const demo = await testDemo();
  const ask = async (changes: object = {}) => (await demo.post(PATH, body(changes))).json();
  const first = await ask();
  expect(first).toMatchObject({ answers: { q: { type: 'noul' } }, usage: { total_output_tokens: 0 } });
  expect(first.answers.q.noul).toBeGreaterThanOrEqual(0.01);
  expect(first.answers.q.noul).toBeLessThanOrEqual(0.99);
  expect(await ask()).toEqual(first);
  expect(await ask({ input: [{ type: 'text', text: 'bye' }] })).not.toEqual(first);
  const questions = {
    team: { type: 'choice', instructions: 'Who?', criteria: { billing: 'Charges', support: null } },
    tone: { type: 'score', instructions: 'How?', criteria: ['calm', 'furious'] },
  };
  const { team, tone } = (await ask({ questions })).answers;
  expect(['billing', 'support']).toContain(team.choice);
  expect(Math.max(...(Object.values(team.probabilities) as number[]))).toBe(team.probabilities[team.choice]);
  expect(tone.score).toBeGreaterThanOrEqual(0);
  expect(tone.score).toBeLessThanOrEqual(1);
});

test.for([
  [{ questions: {} }, 400],
  [{ questions: { 'a b': NOUL.q } }, 400],
  [{ questions: { q: { type: 'maybe', instructions: 'x' } } }, 400],
  [{ questions: { q: { type: 'noul' } } }, 400],
  [{ questions: { q: { type: 'choice', instructions: 'x', criteria: { a: null } } } }, 400],
  [{ questions: { q: { type: 'score', instructions: 'x', criteria: { a: null, b: null } } } }, 400],
  [{ input: [] }, 400],
  [{ input: [{ type: 'audio', data: 'x' }] }, 400],
  [{ contents: [] }, 400],
  [{ model: 'gemini-2.5-flash' }, 404],
] as const)('it refuses what the service refuses: %j', async ([changes, status]) => {
  expect((await (await testDemo()).post(PATH, body(changes))).status).toBe(status);
});

test.for([
  ['blocked', { prompt_feedback: { block_reason: 'SAFETY' } }],
  ['empty', { answers: {} }],
  ['decision-missing', { answers: {} }],
  ['decision-type', { answers: { q: { type: 'maybe' } } }],
  ['429', { error: { code: 429 } }],
  ['401', { error: { code: 401 } }],
  ['daily=0', { error: { code: 429 } }],
] as const)('--fault %s', async ([fault, seen]) => {
  const answer = await (await (await testDemo({ faults: [fault] })).post(PATH, body())).json();
  expect(answer).toMatchObject(seen);
  if (fault === 'empty' || fault === 'decision-missing') expect(answer.answers).toEqual({});
});
