import type { Model, ModelRequest, Reply, ReplyEvent } from '../core/model.ts';
import type { Fallback } from './fallback.ts';

/**
 * Switches to the fallback model when the default is gone: once, with a notice, and for the rest of the run. Only for
 * a default that the user did not choose. `model` must not announce a default that is gone with `begin`, so that only
 * the fallback does. Throws what the model throws; if the fallback is gone too, an AppError `api` that says how to
 * find another.
 */
export function withFallback(model: Model, succession: Fallback): Model {
  const { retired } = succession;
  let isRetired = false;

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ReplyEvent, Reply> {
    if (!isRetired || request.model !== retired) {
      try {
        return yield* model.stream(request, signal);
      } catch (thrown) {
        const { noModelError, isModelGone, fallbackNotice } = await import('./fallback.ts');
        if (!isModelGone(thrown)) throw thrown;
        // The request names the fallback itself, remembered from an earlier run.
        if (request.model !== retired) throw noModelError(thrown, succession);
        isRetired = true;
        yield fallbackNotice(succession);
      }
    }
    const { streamFallback } = await import('./fallback.ts');
    return yield* streamFallback(model, succession, { request, signal });
  }
  return { stream };
}
