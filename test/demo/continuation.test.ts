import { expect, test } from 'vitest';
import { ask, errorOf, events, STREAM, testDemo, texts, type WireEvent } from './support.ts';

const PROMPT = 'count to 2000';

function findToken(event: WireEvent | undefined): unknown {
  return (event?.candidates?.[0] as { continuationToken?: string } | undefined)?.continuationToken;
}

test('checkpoint gives a token with every n-th chunk, and each token the rest of the answer', async () => {
  const whole = texts(await events(await (await testDemo()).post(STREAM, ask(PROMPT))));
  expect(whole.length).toBeGreaterThan(3);
  const demo = await testDemo({ faults: ['checkpoint=2'] });
  const sent = await events(await demo.post(STREAM, ask(PROMPT)));
  expect(texts(sent)).toEqual(whole);
  const tokens = sent.map(findToken);
  expect(tokens.map((token) => token !== undefined)).toEqual(
    whole.map((_, index) => index % 2 === 1 && index + 1 < whole.length),
  );
  for (const [index, token] of tokens.entries()) {
    if (token === undefined) continue;
    const rest = await events(await demo.post(STREAM, ask(PROMPT, { continuationToken: token })));
    expect(texts(rest)).toEqual(whole.slice(index + 1));
  }
});

test('continuation ends a hop with a token, and counts only what the hop sent', async () => {
  const [last] = (await events(await (await testDemo()).post(STREAM, ask(PROMPT)))).slice(-1);
  const demo = await testDemo({ faults: ['continuation=1x1'] });
  const [first, ...none] = await events(await demo.post(STREAM, ask(PROMPT)));
  expect(none).toEqual([]);
  expect(first?.candidates).toMatchObject([{ finishReason: 'CONTINUATION' }]);
  const rest = await events(await demo.post(STREAM, ask(PROMPT, { continuationToken: findToken(first) })));
  expect(rest.at(-1)?.candidates).toMatchObject([{ finishReason: 'STOP' }]);
  const spent = [first, rest.at(-1)].map((event) => event?.usageMetadata?.candidatesTokenCount ?? 0);
  expect(spent.reduce((sum, count) => sum + count, 0)).toBe(last?.usageMetadata?.candidatesTokenCount);
});

test.each(['', 'nonsense', Buffer.from('1.0').toString('base64')])('the token %j is refused', async (token) => {
  const response = await (await testDemo()).post(STREAM, ask(PROMPT, { continuationToken: token }));
  expect(await errorOf(response)).toMatchObject({ code: 400, message: expect.stringContaining('continuation token') });
});

test('a token of another request is refused', async () => {
  const demo = await testDemo({ faults: ['checkpoint=1'] });
  const [first] = await events(await demo.post(STREAM, ask(PROMPT)));
  const other = await demo.post(STREAM, ask('count to 2001', { continuationToken: findToken(first) }));
  expect(other.status).toBe(400);
});
