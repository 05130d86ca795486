import { expect, test } from 'vitest';
import { call, fakeGemini, reply, type Scripted } from './gemini.ts';

const user = (...parts: readonly object[]) => ({ role: 'user', parts });
const SIGNED = call('look', {}, { thoughtSignature: 'c2ln' });
const RESULT = { functionResponse: { name: 'look', response: { output: 'x' } } };

/** A fake Gemini that is asked these requests; the statuses, and what it says at the end of its test. */
async function ask(script: readonly Scripted[] | Scripted, ...requests: readonly object[]) {
  const atEnd: (() => unknown)[] = [];
  const { url } = await fakeGemini(
    { onTestFinished: (callback) => void atEnd.push(callback as () => unknown) },
    script,
  );
  const statuses: number[] = [];
  for (const body of requests) {
    const path = `${url}/v1beta/models/m:streamGenerateContent`;
    const response = await fetch(path, { method: 'POST', body: JSON.stringify(body) });
    await response.text();
    statuses.push(response.status);
  }
  const ended = await Promise.all(atEnd.map((callback) => callback())).then(() => 'well', String);
  return { statuses, ended };
}

const first = { contents: [user({ text: 'hi' })] };
const second = (...parts: readonly object[]) => ({
  contents: [...first.contents, { role: 'model', parts }, user(RESULT)],
});

test('requests that the API takes are answered as the script says', async () => {
  const script = [reply(SIGNED), reply('done')];
  expect(await ask(script, first, second(SIGNED))).toEqual({ statuses: [200, 200], ended: 'well' });
});

test.for<readonly [what: string, script: readonly Scripted[] | Scripted, requests: readonly object[], why: string]>([
  ['without contents', reply('x'), [{ contents: [] }], 'request 1: contents is empty'],
  ['with a signature that was not issued', reply('x'), [second(SIGNED)], 'a thought_signature nobody issued'],
  ['that lost a signature', reply(SIGNED), [first, second(call('look'))], 'has no valid thought_signature'],
  ['beyond the script', [reply('x')], [first, first], 'request 2: unexpected: POST'],
  ['that a script throws at', () => Promise.reject(new Error('not this')), [first], 'request 1: Error: not this'],
])('a request %s is refused, and fails the test', async ([, script, requests, why], _t) => {
  const { statuses, ended } = await ask(script, ...requests);
  expect([statuses.at(-1), ended]).toEqual([400, expect.stringContaining(why)]);
});

test('an answer of the script that nobody asked for fails the test', async () => {
  expect((await ask([reply('x'), reply('y')], first)).ended).toContain('1 scripted answers were not used');
});
