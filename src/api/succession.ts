import type { Model, ModelRequest, Reply, ReplyEvent } from '../core/model.ts';
import type { Succession } from './fallback.ts';

/**
 * Asks the successor where the default is gone: once, aloud, and for the rest of the run. Only for a default nobody chose.
 * `model` must not announce the default with `begin` when it is gone, so that the successor's is the only one.
 * Throws what the model throws; if the successor is gone too, an AppError `api` that says how to find another.
 */
export function withSuccessor(model: Model, succession: Succession): Model {
  const { retired } = succession;
  let isRetired = false;

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ReplyEvent, Reply> {
    if (!isRetired || request.model !== retired) {
      try {
        return yield* model.stream(request, signal);
      } catch (thrown) {
        const { bothGone, isGone, successionNotice } = await import('./fallback.ts');
        if (!isGone(thrown)) throw thrown;
        // Asked for by name: it was remembered from an earlier run.
        if (request.model !== retired) throw bothGone(thrown, succession);
        isRetired = true;
        yield successionNotice(succession);
      }
    }
    const { successorReply } = await import('./fallback.ts');
    return yield* successorReply(model, succession, { request, signal });
  }
  return { stream };
}
