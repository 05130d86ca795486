import { AppError, refused } from '../core/error.ts';
import type { HttpRequest, HttpResponse, SendHttp } from '../core/http.ts';
import type { Clock, Trace } from '../core/io.ts';
import { isObject, parseJson } from '../core/json.ts';
import type { Identity } from './identity.ts';
import { discard, readStart } from './payload.ts';

const MAX_BYTES = 16 * 1024 * 1024;

/** Everything a backend's side calls need besides their address. */
export interface Caller {
  readonly identity: Identity;
  readonly send: SendHttp;
  readonly userAgent: string;
}

/** How a call is repeated. */
export interface Patience {
  readonly clock: Clock;
  readonly random: () => number;
  readonly trace: Trace;
  /** The pause before the first retry. */
  readonly retryBaseMs: number;
  /** How many retries there may be; three unless given. */
  readonly retries?: number | undefined;
}

export interface JsonCall {
  readonly url: URL;
  /** Absent: it is a GET. */
  readonly body?: object;
  /** The model it is about, for the error. */
  readonly model?: string;
  /** What it is for where it is about none, for the error: `a list of models`. */
  readonly asks?: string;
  /** Headers besides those of every call. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Takes a refusal for an answer, by the reasons it names. */
  readonly instead?: (reasons: readonly string[]) => Fields | undefined;
}

/** A JSON object, its fields not looked at yet. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * One question, one JSON object. A 401 that a fresh credential may cure is answered with one, once. Throws AppError `auth`
 * or `api`, with `retry` where the same call may pass later.
 */
export async function callJson(
  { identity, send, userAgent }: Caller,
  call: JsonCall,
  signal: AbortSignal,
): Promise<Fields> {
  let credential: Readonly<Record<string, string>> | undefined;
  const attempt = async (renew: boolean): Promise<HttpResponse> => {
    credential = await identity.headers({ signal, renew, refused: credential });
    const type = call.body === undefined ? {} : { 'content-type': 'application/json' };
    const request: HttpRequest = {
      method: call.body === undefined ? 'GET' : 'POST',
      url: call.url,
      headers: { ...type, accept: 'application/json', 'user-agent': userAgent, ...call.headers, ...credential },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    };
    return send(request, signal);
  };
  let response = await attempt(false);
  if (response.status === 401 && identity.canRenew) {
    await discard(response.body);
    response = await attempt(true);
  }
  return readAnswer(response, identity, call);
}

async function readAnswer(response: HttpResponse, identity: Identity, call: JsonCall): Promise<Fields> {
  const { status, headers } = response;
  const text = await readStart(response.body, MAX_BYTES);
  if (status < 200 || status > 299) {
    const [{ failureOf }, { parseGoogleError }] = await Promise.all([
      import('./failure.ts'),
      import('./google-error.ts'),
    ]);
    const instead = call.instead?.(parseGoogleError(text)?.reasons ?? []);
    if (instead !== undefined) return instead;
    const { kind: credential, authHint, secrets } = identity;
    throw failureOf({ status, headers, body: text, model: call.model, asks: call.asks, credential, authHint, secrets });
  }
  const value = parseJson(text);
  if (isObject(value)) return value;
  throw refused('api', 'the server answered with something else than a JSON object', {
    hint: 'A login page or a proxy may be in between; open a web page once, or check the base URL.',
    status,
  });
}

/** Runs `task` again as its failures advise, quietly. Throws the last one. */
export async function persist<Value>(
  task: () => Promise<Value>,
  patience: Patience,
  signal: AbortSignal,
): Promise<Value> {
  const { clock, random, trace, retryBaseMs: baseMs, retries: atMost } = patience;
  const options = { baseMs, random, atMost, now: clock.now };
  for (let done = 0; ; done += 1) {
    try {
      return await task();
    } catch (thrown) {
      if (signal.aborted) throw signal.reason;
      if (!(thrown instanceof AppError)) throw thrown;
      const { finalFailure, nextRetry } = await import('./retry.ts');
      const retry = nextRetry(thrown, done, options);
      if (retry === undefined) throw finalFailure(thrown, options);
      trace(`${thrown.message}; retry ${retry.number} of ${retry.of}`);
      await clock.sleep(retry.delayMs, signal);
    }
  }
}
