import type { App } from '../core/app.ts';
import { createHttpClient } from '../platform/http/send.ts';

/** How long the first byte of an answer may take: as long as the flex tier may. */
const SLOW_HEADERS_MS = 900_000;

/** A client for answers that take minutes before they begin. `GMN_HEADERS_TIMEOUT` still decides if it is set. */
export function createSlowClient({ env, httpTimers, trace, clock }: App): App['send'] {
  if (env.GMN_HEADERS_TIMEOUT) return createHttpClient({ timers: httpTimers, env, trace, clock }).send;
  return createHttpClient({ timers: { ...httpTimers, headersMs: SLOW_HEADERS_MS }, env, trace, clock }).send;
}
