// What a run does with a Google sign-in, and nothing else: choose it, get its headers, and print that without the secrets.
// With `refresh` as its argument it asks once more, as after a 401.
import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { chooseCredential } from '../../../src/auth/credential.ts';
import { resolveHomes } from '../../../src/config/home.ts';
import { AppError } from '../../../src/core/error.ts';
import { createHttpClient } from '../../../src/platform/http/send.ts';
import { systemClock } from '../../../src/platform/runtime/clock.ts';

const { env } = process;
const said: string[] = [];
const traced: string[] = [];
const trace = (line: string): void => void traced.push(line);
const timers = { connectMs: 10_000, headersMs: 60_000, idleMs: 120_000 };
const { signal } = new AbortController();
try {
  const { credential, notices } = await chooseCredential({
    version: '0.0.0',
    settings: { env, notices: [] },
    env,
    cwd: process.cwd(),
    homes: () => resolveHomes(env, homedir),
    clock: systemClock,
    send: createHttpClient({ timers, env, trace, clock: systemClock }).send,
    trace,
    signal,
    notify: (message) => said.push(message),
  });
  const headers = await credential.headers(signal);
  if (process.argv[2] === 'refresh') await credential.refresh?.(signal);
  const refreshed = process.argv[2] === 'refresh' ? await credential.headers(signal) : headers;
  print({ type: credential.type, source: credential.source, bearer: digest(refreshed.authorization), notices });
} catch (thrown) {
  const error = AppError.from(thrown);
  process.exitCode = error.exitCode;
  print({ message: error.message, hint: error.hint, cause: String(error.cause ?? '') });
}

function print(result: object): void {
  process.stdout.write(JSON.stringify({ ...result, said, ...(env.SHOW_TRACE ? { traced } : {}) }));
}

function digest(authorization: string | undefined): string {
  return createHash('sha256')
    .update(authorization ?? '')
    .digest('hex');
}
