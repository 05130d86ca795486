import { readFileSync } from 'node:fs';
import { expect, type TestContext } from 'vitest';
import { CANARIES, type Home, home, start } from './home.ts';
import { type Answer, tokenServer } from './token-server.ts';

/** Runs the program once against a token server of its own; no secret may show in what it prints, its trace included. */
export async function runSignIn(
  t: Pick<TestContext, 'onTestFinished'>,
  program: string,
  options: { readonly answer: Answer; readonly place?: Home; readonly args?: readonly string[] },
) {
  const { answer, place = home(t), args = [] } = options;
  const server = await tokenServer(t, answer);
  const before = readFileSync(place.credentials, 'utf8');
  const env = { ...place.env, GMN_OAUTH_TOKEN_URL: server.url, SHOW_TRACE: '1' };
  const ended = await start(t, program, { env, args }).ended;
  for (const secret of [...Object.values(CANARIES), 'ya29.granted']) expect(ended.output).not.toContain(secret);
  return { ended, server, place, before, after: readFileSync(place.credentials, 'utf8') };
}
