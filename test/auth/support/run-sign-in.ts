import { readFileSync } from 'node:fs';
import { expect, type TestContext } from 'vitest';
import { CANARIES, type Home, home } from './home.ts';
import { quickClock } from './input.ts';
import { signIn } from './sign-in.ts';
import { type Answer, tokenServer } from './token-server.ts';

/** Signs in once with a token server of its own; no secret may show in what is told, the trace included. */
export async function runSignIn(
  t: Pick<TestContext, 'onTestFinished'>,
  answer: Answer,
  { place = home(t), isRefused = false, tokenUrl }: { place?: Home; isRefused?: boolean; tokenUrl?: string } = {},
) {
  const server = await tokenServer(t, answer);
  const before = readFileSync(place.credentials, 'utf8');
  const env = { ...place.env, GMN_OAUTH_TOKEN_URL: tokenUrl ?? server.url };
  const ended = await signIn(env, { clock: quickClock(), isRefused });
  const told = JSON.stringify(ended);
  for (const secret of [...Object.values(CANARIES), 'ya29.granted']) expect(told).not.toContain(secret);
  return { ended, server, place, before, after: readFileSync(place.credentials, 'utf8') };
}
