import { createHash } from 'node:crypto';
import { chooseCredential } from '../../../src/auth/credential.ts';
import { resolveHomes } from '../../../src/config/home.ts';
import { AppError } from '../../../src/core/error.ts';
import type { Clock, Env } from '../../../src/core/io.ts';
import { createHttpClient } from '../../../src/platform/http/send.ts';
import { systemClock } from '../../../src/platform/runtime/clock.ts';

export interface SignedIn {
  readonly exitCode: number;
  readonly result: Readonly<Record<string, unknown>>;
}

/**
 * What a run does with a Google sign-in, and nothing else: chooses it, gets its headers, and tells that without the secrets.
 * With `isRefused` it asks once more, as after a 401.
 */
export async function signIn(env: Env, { clock = systemClock as Clock, isRefused = false } = {}): Promise<SignedIn> {
  const said: string[] = [];
  const traced: string[] = [];
  const trace = (line: string): void => void traced.push(line);
  const timers = { connectMs: 10_000, headersMs: 60_000, idleMs: 120_000 };
  const { signal } = new AbortController();
  const cwd = env.HOME ?? '/';
  const http = createHttpClient({ timers, env, trace, clock });
  const finish = (exitCode: number, result: object): SignedIn => ({ exitCode, result: { ...result, said, traced } });
  try {
    const { credential, notices } = await chooseCredential({
      ...{ version: '0.0.0', settings: { env, notices: [] }, env, cwd, clock, send: http.send, trace, signal },
      homes: () => resolveHomes(env, () => cwd),
      notify: (message) => said.push(message),
    });
    let { authorization = '' } = await credential.headers(signal);
    if (isRefused) {
      await credential.refresh?.(signal);
      authorization = (await credential.headers(signal)).authorization ?? '';
    }
    const bearer = createHash('sha256').update(authorization).digest('hex');
    return finish(0, { type: credential.type, source: credential.source, bearer, notices });
  } catch (thrown) {
    const { exitCode, message, hint, cause = '' } = AppError.from(thrown);
    return finish(exitCode, { message, hint, cause: String(cause) });
  } finally {
    http.close();
  }
}
