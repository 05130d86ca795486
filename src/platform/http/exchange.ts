import type { HttpRequest, HttpResponse, HttpTimers } from '../../core/io.ts';
import { onAbort } from '../runtime/abort.ts';
import { keepYoungGenerationSmall } from '../runtime/native.ts';
import { bodyFeed, timeLimit } from './body.ts';
import { networkFailure, type Peer, type Phase, timeoutFailure } from './failure.ts';

/** From here on, memory matters more than the last bit of speed. */
const LONG_ANSWER_BYTES = 1024 * 1024;

/** One request on its way: what both transports need. */
export interface Dispatch {
  readonly request: HttpRequest;
  readonly signal: AbortSignal;
  readonly timers: HttpTimers;
  readonly onHeaders?: (status: number) => void;
  /** Called once, when the exchange is over, with the bytes received. */
  readonly onClose?: (bytes: number) => void;
}

/** What a transport reports, in this order. Nothing is expected after the first `fail` or `end`. */
interface Exchange {
  readonly answer: Promise<HttpResponse>;
  connected(): void;
  /** Part of the request went out: the wait for the answer starts anew. */
  progress(): void;
  headers(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void;
  data(chunk: Uint8Array): void;
  end(): void;
  fail(error: unknown): void;
}

/** The transport's side of an exchange. */
interface Line {
  /** Who is at the other end; asked when something fails, as it may change while a tunnel is dug. */
  peer(phase: Phase): Peer;
  pause(): void;
  resume(): void;
  /** Closes the connection, quietly and more than once if need be. */
  destroy(): void;
}

/**
 * Keeps the timers, the abort signal and the body of one exchange. Every failure becomes AppError `api` in plain words;
 * an abort rejects with the signal's reason.
 */
export function openExchange(dispatch: Dispatch, line: Line): Exchange {
  const { request, timers } = dispatch;
  const { promise: answer, resolve, reject } = withResolvers<HttpResponse>();
  let phase: Phase = 'connect';
  let received = 0;
  let { idleMs } = timers;
  const watch = openWatch(dispatch, stop);
  const late = (ms: number) => () => stop(timeoutFailure(phase, ms, line.peer(phase)));
  const feed = bodyFeed(
    { pause: line.pause, resume: line.resume, destroy: close },
    { ms: () => idleMs, expire: () => timeoutFailure('body', idleMs, line.peer('body')) },
  );
  watch.limit(timers.connectMs, late(timers.connectMs));

  function stop(reason: unknown): void {
    reject(reason);
    feed.abort(reason);
  }

  function close(): void {
    watch.end(received);
    line.destroy();
  }

  return {
    answer,
    connected() {
      if (phase !== 'connect') return;
      phase = 'headers';
      watch.limit(timers.headersMs, late(timers.headersMs));
      request.onSent?.();
    },
    progress() {
      if (phase === 'headers') watch.limit(timers.headersMs, late(timers.headersMs));
    },
    headers(status, headers) {
      phase = 'body';
      watch.limit(0, () => {});
      dispatch.onHeaders?.(status);
      const hasten = (ms: number): void => {
        idleMs = ms;
      };
      resolve({ status, headers: singleValues(headers), body: feed.body, hasten });
    },
    data(chunk) {
      if (received < LONG_ANSWER_BYTES && received + chunk.length >= LONG_ANSWER_BYTES) keepYoungGenerationSmall();
      received += chunk.length;
      feed.push(chunk);
    },
    end() {
      watch.end(received);
      feed.end();
    },
    fail(error) {
      if (watch.isOver()) return;
      const failure = networkFailure(error, phase, line.peer(phase));
      reject(failure);
      feed.fail(failure);
      close();
    },
  };
}

interface Watch {
  /** Replaces the limit of the phase before; `0` is none. */
  limit(ms: number, expire: () => void): void;
  end(receivedBytes: number): void;
  isOver(): boolean;
}

/** The timer and the abort listener, which must both go when the exchange is over. */
function openWatch({ signal, onClose }: Dispatch, stop: (reason: unknown) => void): Watch {
  let stopTimer = (): void => {};
  let isOver = false;
  const unfollow = onAbort(signal, () => stop(signal.reason));
  return {
    limit(ms, expire) {
      stopTimer();
      stopTimer = timeLimit(ms, expire);
    },
    end(receivedBytes) {
      if (isOver) return;
      isOver = true;
      stopTimer();
      unfollow();
      onClose?.(receivedBytes);
    },
    isOver: () => isOver,
  };
}

function singleValues(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const single: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(headers)) single[name] = Array.isArray(value) ? value.join(', ') : value;
  return single;
}

function withResolvers<T>(): {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
} {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<T>((onValue, onReason) => {
    resolve = onValue;
    reject = onReason;
  });
  return { promise, resolve, reject };
}

const SLICE_BYTES = 64 * 1024;

/** The body in pieces, for uploads long enough that their progress must be seen. `sent` is called as each is taken. */
export function* slices(body: Buffer, sent: () => void): Generator<Uint8Array> {
  for (let start = 0; start < body.length; start += SLICE_BYTES) {
    sent();
    yield body.subarray(start, start + SLICE_BYTES);
  }
}

/** Above this an upload is sent in slices. */
export const LONG_BODY_BYTES = 256 * 1024;
