import { expect, test } from 'vitest';
import { fakeGemini, reply } from '../support/gemini.ts';
import { callGmnIn, type GmnResult, place } from '../support/gmn.ts';

const textContent = (role: string, text: string) => ({ role, parts: [{ text }] });

test('--fork leaves the session as it is, and wants one', async (t) => {
  const gemini = await fakeGemini(t, [reply('November.'), reply('April.'), reply('Maybe.')]);
  const at = place(t, { gemini });
  const gmn = (...args: readonly string[]): Promise<GmnResult> => callGmnIn(t, at, args);
  const idOf = ({ stdout }: GmnResult): string => JSON.parse(stdout).sessionId;
  const first = idOf(await gmn('best month?', '-o', 'json'));
  const fork = idOf(await gmn('-c', '--fork', '--session-name', 'other', 'and the second?', '-o', 'json'));
  expect(fork).not.toBe(first);
  await gmn('-r', first, 'really?');
  expect(gemini.requests[1]?.body.contents).toEqual([
    textContent('user', 'best month?'),
    textContent('model', 'November.'),
    textContent('user', 'and the second?'),
  ]);
  expect(gemini.requests[2]?.body.contents).toEqual([
    textContent('user', 'best month?'),
    textContent('model', 'November.'),
    textContent('user', 'really?'),
  ]);
  expect((await gmn('--fork', 'x')).stderr).toBe('Error: --fork needs -c or -r\nExample: gmn -c --fork "…"\n');
  expect((await gmn('-c', '--fork', '--no-session', 'x')).stderr).toContain(
    '--fork cannot be combined with --no-session',
  );
});
