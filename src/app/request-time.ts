import type { Model } from '../core/model.ts';
import { createDeadline, type Deadline } from '../platform/runtime/clock.ts';
import { timeoutError } from './agent.ts';

/** A deadline for each model request; time spent in tools and on questions does not count. */
interface RequestDeadline {
  /** The deadline of the request in flight, in milliseconds since the epoch; undefined: none. */
  readonly endsAt: () => number | undefined;
  /** The model with a deadline on each request; a late request throws AppError `api`. */
  limit(model: Model): Model;
}

/** 0 means no deadline. */
export function createRequestDeadline(timeoutMs: number): RequestDeadline {
  let current: Deadline | undefined;
  return {
    endsAt: () => current?.endsAt(),
    limit: (model) => ({
      async *stream(request, signal) {
        const limit = createDeadline(signal, timeoutMs, () => timeoutError(timeoutMs));
        current = limit;
        try {
          return yield* model.stream(request, limit.signal);
        } finally {
          limit.clear();
        }
      },
    }),
  };
}
