import type { HttpRequest, HttpResponse, HttpTimers } from '../../core/io.ts';
import { onAbort } from '../runtime/abort.ts';
import { keepHeapSmall } from '../runtime/native.ts';
import { bodyFeed, startTimeLimit } from './body.ts';
import { networkError, type Peer, type Phase, timeoutError } from './failure.ts';

/** Beyond this size, low memory use matters more than speed. */
const LONG_RESPONSE_BYTES = 1024 * 1024;

export interface RequestContext {
  readonly request: HttpRequest;
  readonly signal: AbortSignal;
  readonly timers: HttpTimers;
  readonly onHeaders?: (status: number) => void;
  readonly onSentAgain?: () => void;
  readonly onClose?: (bytes: number) => void;
}

interface Transport {
  /** For error messages: the proxy until a tunnel is open, then the server. */
  peer(phase: Phase): Peer;
  pause(): void;
  resume(): void;
  /** Closes the connection without an error; may be called more than once. */
  destroy(): void;
}

/** Its members are called in order, nothing after `fail` or `end`. Failures become AppErrors `api`. */
export function openExchange(context: RequestContext, transport: Transport) {
  const { request, timers } = context;
  let resolve: (response: HttpResponse) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const answer = new Promise<HttpResponse>((onResponse, onReason) => {
    resolve = onResponse;
    reject = onReason;
  });
  let phase: Phase = 'connect';
  let isSent = false;
  let received = 0;
  let { idleMs } = timers;
  const watch = openWatch(context, stop);
  const onTimeout = (ms: number) => () =>
    stop(timeoutError(phase, ms, transport.peer(phase), isSent ? undefined : true));
  const feed = bodyFeed(
    { pause: transport.pause, resume: transport.resume, destroy: close },
    { ms: () => idleMs, expire: () => timeoutError('body', idleMs, transport.peer('body')) },
  );
  watch.limit(timers.connectMs, onTimeout(timers.connectMs));

  function stop(reason: unknown): void {
    reject(reason);
    feed.abort(reason);
  }

  function close(): void {
    watch.end(received);
    transport.destroy();
  }

  return {
    answer,
    onConnected() {
      if (phase !== 'connect') return;
      phase = 'headers';
      watch.limit(timers.headersMs, onTimeout(timers.headersMs));
      if (!isSent) request.onSent?.();
      isSent = true;
    },
    /** The request is sent again on a new connection. */
    onReconnecting() {
      phase = 'connect';
      watch.limit(timers.connectMs, onTimeout(timers.connectMs));
    },
    /** `bytes` of the body were sent. */
    progress(bytes: number) {
      request.onProgress?.(bytes);
      if (phase === 'headers') watch.limit(timers.headersMs, onTimeout(timers.headersMs));
    },
    headers(status: number, headers: Readonly<Record<string, string | string[] | undefined>>) {
      phase = 'body';
      watch.limit(0, () => {});
      context.onHeaders?.(status);
      const setIdleTimeout = (ms: number): void => {
        idleMs = ms;
      };
      resolve({ status, headers: joinHeaderValues(headers), body: feed.body, setIdleTimeout });
    },
    data(chunk: Uint8Array) {
      if (received < LONG_RESPONSE_BYTES && received + chunk.length >= LONG_RESPONSE_BYTES) keepHeapSmall();
      received += chunk.length;
      feed.push(chunk);
    },
    end() {
      watch.end(received);
      feed.end();
    },
    fail(error: unknown) {
      if (watch.isOver()) return;
      const failure = networkError(error, phase, transport.peer(phase), isSent ? undefined : true);
      reject(failure);
      feed.fail(failure);
      close();
    },
  };
}

function openWatch({ signal, onClose }: RequestContext, stop: (reason: unknown) => void) {
  let stopTimer = (): void => {};
  let isOver = false;
  const unfollow = onAbort(signal, () => stop(signal.reason));
  return {
    /** Replaces the previous limit; `0` is none. */
    limit(ms: number, expire: () => void) {
      stopTimer();
      stopTimer = startTimeLimit(ms, expire);
    },
    end(receivedBytes: number) {
      if (isOver) return;
      isOver = true;
      stopTimer();
      unfollow();
      onClose?.(receivedBytes);
    },
    isOver: () => isOver,
  };
}

function joinHeaderValues(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const single: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(headers)) single[name] = Array.isArray(value) ? value.join(', ') : value;
  return single;
}

/** A longer upload is written in slices of this size, so that its progress restarts the timeout. */
export const SLICE_BYTES = 64 * 1024;

export function toBytes(body: NonNullable<HttpRequest['body']>): Buffer {
  return typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}
