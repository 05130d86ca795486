// A test of your own code that asks Gemini, without Gemini: npx vitest run answers.test.mjs
import { ask, GmnError } from 'gmn';
import { demo } from 'gmn/demo';
import { expect, test } from 'vitest';

/** What is tested; `server` is the only thing that a test adds. */
async function bestMonth(city, { server } = {}) {
  try {
    return await ask(`best month for ${city}?`, { server, retries: 1, timeout: '10s' }).text();
  } catch (error) {
    if (error instanceof GmnError && error.code === 'api') return 'ask again later';
    throw error;
  }
}

test('the answer comes, also if the service is overloaded once', async () => {
  const server = await demo({ faults: ['503x1'] });
  expect(await bestMonth('Kyoto', { server })).toBe('November.');
  expect(server.requests).toHaveLength(2);
  expect(server.requests[0].body.contents[0].parts).toEqual([{ text: 'best month for Kyoto?' }]);
  await server.close();
});

test('a service that stays down has an answer of its own', async () => {
  const server = await demo({ faults: ['503'] });
  expect(await bestMonth('Kyoto', { server })).toBe('ask again later');
  await server.close();
});
