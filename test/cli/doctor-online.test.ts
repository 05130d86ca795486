import { expect, test } from 'vitest';
import { account } from '../support/account.ts';
import { failure, fakeGemini, json, type Scripted } from '../support/gemini.ts';

const KEY = { GEMINI_API_KEY: 'hush-0123456789', LC_ALL: 'C.UTF-8' };
const LIST = json({ models: [{ name: 'models/gemini-2.5-flash' }] });

/** An answer from a server whose clock shows something else. */
function at(date: string, answer: Scripted): Scripted {
  return (response, request) => {
    response.setHeader('date', date);
    return answer(response, request);
  };
}

async function examined(me: ReturnType<typeof account>, ...args: readonly string[]) {
  const { stdout, stderr, exitCode } = await me.run(['doctor', '--json', ...args]);
  const { checks } = JSON.parse(stdout);
  const found = checks.filter(({ check }: { check: string }) => check === 'online' || check === 'clock');
  expect(stdout).not.toContain('hush');
  return {
    stderr,
    exitCode,
    lines: found.map(({ state, text }: Record<string, string>) => `${state}: ${text}`),
    remedies: found.flatMap(({ remedies }: { remedies: readonly object[] }) => remedies),
  };
}

test('without --online nobody is asked', async (t) => {
  const me = account(t, await fakeGemini(t, []), { env: KEY });
  expect(await examined(me)).toEqual({ stderr: '', exitCode: 0, lines: [], remedies: [] });
});

test('--online: the service answers, takes the credential, has the model, and the clocks agree', async (t) => {
  const google = await fakeGemini(t, [LIST, LIST]);
  const { exitCode, lines } = await examined(account(t, google, { env: KEY }), '--online');
  expect({ exitCode, lines }).toEqual({
    exitCode: 0,
    lines: [
      `ok: ${new URL(google.url).host} answers`,
      "ok: agrees with the server's",
      'ok: The Gemini API accepts it: 1 model.',
      'ok: the model gemini-2.5-flash is offered',
    ],
  });
});

test('--online: a model that is not offered', async (t) => {
  const google = await fakeGemini(t, [LIST, LIST]);
  const me = account(t, google, { env: { ...KEY, GMN_MODEL: 'gemini-3.8-flash' } });
  const { exitCode, lines, remedies } = await examined(me, '--online');
  expect(exitCode).toBe(0);
  expect(lines.at(-1)).toBe('warning: the model gemini-3.8-flash is not among the 1 that are offered');
  expect(remedies).toEqual([{ words: 'To see them', command: 'gmn models --refresh' }]);
});

test('--online: a rejected key is exit 2, and a wrong clock is reported', async (t) => {
  const google = await fakeGemini(t, [
    at('Thu, 01 Jan 2015 00:00:00 GMT', failure(401, 'UNAUTHENTICATED', 'API key not valid')),
  ]);
  const { exitCode, lines } = await examined(account(t, google, { env: KEY }), '--online');
  expect(exitCode).toBe(2);
  expect(lines[0]).toBe(`ok: ${new URL(google.url).host} answers`);
  expect(lines[1]).toMatch(/^warning: .* ahead of the server's; tokens may be refused$/);
  expect(lines[2]).toMatch(/^failure: authentication failed: /);
});

test('--online: a service that cannot be reached is exit 3', async (t) => {
  const me = account(t, { url: 'http://127.0.0.1:9' }, { env: KEY });
  const { exitCode, lines } = await examined(me, '--online');
  expect({ exitCode, lines }).toEqual({
    exitCode: 3,
    lines: [expect.stringMatching(/^failure: connection to 127\.0\.0\.1:9 refused$/)],
  });
});
