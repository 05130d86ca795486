import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isLong } from '../support/fuzz.ts';
import { posixTest } from '../support/posix.ts';
import {
  bearerDigest,
  bundleProgram,
  CANARIES,
  filesIn,
  type Home,
  home,
  oauthDocument,
  start,
} from './support/home.ts';
import { type Answer, granting, rotating, tokenServer } from './support/token-server.ts';

let program: Awaited<ReturnType<typeof bundleProgram>>;
beforeAll(async () => {
  program = await bundleProgram();
}, 60_000);
afterAll(() => program.remove());

type T = Parameters<typeof home>[0];

/** Starts many at once and expects all of them to end with the same, newly granted token. */
async function expectAllServed(t: T, count: number, env: Home['env']): Promise<void> {
  const running = Array.from({ length: count }, () => start(t, program.path, { env }).ended);
  const endings = await Promise.all(running);
  const outcomes = new Map<string, number>();
  for (const { exitCode, output, result } of endings) {
    const outcome = exitCode === 0 ? String(result.bearer) : output;
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    for (const secret of Object.values(CANARIES)) expect(output).not.toContain(secret);
  }
  expect(Object.fromEntries(outcomes)).toEqual({ [bearerDigest('ya29.granted-1')]: count });
}

test('many processes with an expired token make one grant, and all get it', { timeout: 120_000 }, async (t) => {
  const place = home(t);
  const server = await tokenServer(t, rotating());
  await expectAllServed(t, isLong ? 100 : 24, { ...place.env, GMN_OAUTH_TOKEN_URL: server.url });
  expect(server.forms).toHaveLength(1);
  expect(JSON.parse(readFileSync(place.credentials, 'utf8'))).toMatchObject({
    refresh_token: `${CANARIES.refresh}+`,
    unknown_key: { kept: ['as', 'it', 'is'] },
  });
  expect(Object.keys(filesIn(place.gemini))).toEqual(['oauth_creds.json']);
  expect(Object.keys(filesIn(place.gmn)).filter((name) => !name.startsWith('tokens/'))).toEqual(['sign-in-note-shown']);
});

/** Writes the file as the official CLI does, emptied first, some 900 times a second, until it is told to stop. */
const REWRITER = `
const { writeFileSync } = require('node:fs');
const [path, text] = process.argv.slice(1);
let isDone = false;
process.on('SIGTERM', () => { isDone = true; });
const again = () => { writeFileSync(path, text); if (!isDone) setTimeout(again, 1); };
again();
console.log('started');
`;

test.for<[string, () => Answer]>([
  ['keeps the refresh token', granting],
  ['replaces the refresh token', rotating],
])(
  'the same while another program empties and rewrites the file, and the server %s',
  { timeout: 120_000 },
  async ([, answer], t) => {
    const place = home(t);
    const server = await tokenServer(t, answer());
    const rewriter = spawn(process.execPath, ['-e', REWRITER, place.credentials, oauthDocument()]);
    t.onTestFinished(() => void rewriter.kill('SIGKILL'));
    await once(rewriter.stdout, 'data');
    await expectAllServed(t, isLong ? 100 : 9, { ...place.env, GMN_OAUTH_TOKEN_URL: server.url });
    expect(server.forms).toHaveLength(1);
    rewriter.kill('SIGTERM');
    await once(rewriter, 'close');
    const { refresh_token: refreshToken, ...rest } = JSON.parse(readFileSync(place.credentials, 'utf8'));
    expect([CANARIES.refresh, `${CANARIES.refresh}+`]).toContain(refreshToken);
    expect(rest.unknown_key).toEqual({ kept: ['as', 'it', 'is'] });
    expect(Object.keys(filesIn(place.gemini))).toEqual(['oauth_creds.json']);
  },
);

posixTest.for<NodeJS.Signals>(['SIGKILL', 'SIGSTOP'])(
  'the others go on when the process that was refreshing gets a %s',
  { timeout: 60_000 },
  async (signal, t) => {
    const place = home(t);
    const grant = rotating();
    // The first request is never answered.
    const server = await tokenServer(t, (response, form, count) => {
      if (count > 1) grant(response, form, count);
    });
    const env = { ...place.env, GMN_OAUTH_TOKEN_URL: server.url };
    const holder = start(t, program.path, { env });
    await server.seen(1);
    holder.child.kill(signal);
    if (signal === 'SIGKILL') await holder.ended;
    await expectAllServed(t, isLong ? 20 : 8, env);
    expect(server.forms).toHaveLength(2);
  },
);

posixTest('a full disk costs the cache, not the answer, and leaves nothing half written', async (t) => {
  const place = home(t);
  const server = await tokenServer(t, granting());
  const env = { ...place.env, GMN_OAUTH_TOKEN_URL: server.url };
  // Files may be made, but not a byte written to them.
  const { ended } = start(t, program.path, { env, shell: 'ulimit -f 0; exec "$@"' });
  expect(await ended).toMatchObject({ exitCode: 0, result: { bearer: bearerDigest('ya29.granted-1') } });
  expect((await ended).result.said).toEqual([expect.stringContaining('The refreshed token could not be saved')]);
  expect(Object.keys(filesIn(place.root)).sort()).toEqual(['.gemini/oauth_creds.json', '.gmn/sign-in-note-shown']);
});
