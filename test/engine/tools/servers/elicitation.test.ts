import { expect, test } from 'vitest';
import type { Elicitation, ElicitationAnswer } from '../../../../src/core/elicitation.ts';
import { obeySchema } from '../../../../src/engine/tools/servers/elicitation.ts';

const FORM: Elicitation = {
  kind: 'form',
  server: 'files',
  message: 'How old?',
  schema: { type: 'object', required: ['age'], properties: { age: { type: 'integer', minimum: 18 } } },
};

/** Gives these answers, the last one again and again. */
function answering(...answers: readonly ElicitationAnswer[]) {
  const messages: string[] = [];
  const elicit = obeySchema(async ({ message }) => {
    messages.push(message);
    return answers[Math.min(messages.length, answers.length) - 1] ?? { action: 'cancel' };
  });
  return { messages, ask: (question = FORM) => elicit(question, new AbortController().signal) };
}

const accept = (content: Extract<ElicitationAnswer, { action: 'accept' }>['content']): ElicitationAnswer => ({
  action: 'accept',
  content,
});

test('whoever answers is asked again with the reason, until the schema takes the answer', async () => {
  const { ask, messages } = answering(accept({}), accept({ age: 17 }), accept({ age: 18 }));
  expect(await ask()).toEqual(accept({ age: 18 }));
  expect(messages).toEqual([
    'How old?',
    'the answer: Instance does not have required property "age".\nHow old?',
    '/age: 17 is too small for a minimum of 18.\nHow old?',
  ]);
});

test('nobody is asked for ever: the fifth wrong answer cancels, and a no ends it at once', async () => {
  const stubborn = answering(accept({ age: 1 }));
  expect(await stubborn.ask()).toEqual({ action: 'cancel' });
  expect(stubborn.messages).toHaveLength(5);
  const declining = answering(accept({ age: 1 }), { action: 'decline' });
  expect(await declining.ask()).toEqual({ action: 'decline' });
});

test('a schema that cannot be used bounds nothing', async () => {
  const schema = { type: 'object', properties: { age: { $ref: '#/nowhere' }, x: { type: 'string', pattern: '(' } } };
  expect(await answering(accept({ age: 1, x: 'y' })).ask({ ...FORM, schema })).toEqual(accept({ age: 1, x: 'y' }));
});
