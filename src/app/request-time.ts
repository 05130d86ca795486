import type { Model } from '../core/model.ts';
import { type Deadline, deadline } from '../platform/runtime/clock.ts';
import { timedOut } from './agent.ts';

/** The time that each request of a model may take; that of tools and people does not count. */
interface RequestTime {
  /** When the request under way will be given up, in milliseconds since the epoch; undefined: never. */
  readonly endsAt: () => number | undefined;
  /** The same model, each of whose requests is given up in time: it then throws AppError `api`. */
  limit(model: Model): Model;
}

/** So many milliseconds for each request; 0: as long as it takes. */
export function requestTime(timeoutMs: number): RequestTime {
  let current: Deadline | undefined;
  return {
    endsAt: () => current?.endsAt(),
    limit: (model) => ({
      async *stream(request, signal) {
        const limit = deadline(signal, timeoutMs, () => timedOut(timeoutMs));
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
