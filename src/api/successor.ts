import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import type { Model, ModelRequest, Reply, ReplyEvent } from '../core/model.ts';

export interface Succession {
  /** The default that may be gone. */
  readonly retired: string;
  /** What stands in for it here. */
  readonly successor: string;
  /** The successor's own sampling. Throws AppError `usage` if it cannot be asked like that. */
  readonly generationConfig: () => JsonObject;
  /** Called once the successor has answered in place of the default. */
  readonly remember: () => Promise<void>;
}

/** Whether a failure means that there is no such model. */
export function isGone(failure: AppError): boolean {
  return failure.status === 404 && failure.fault === 'api';
}

/**
 * Asks the successor where the default is gone: once, aloud, and for the rest of the run. Only for a default nobody chose.
 * `model` must not announce the default with `begin` when it is gone, so that the successor's is the only one.
 * Throws what the model throws; if the successor is gone too, an AppError `api` that says how to find another.
 */
export function withSuccessor(model: Model, succession: Succession): Model {
  const { retired, successor } = succession;
  let isRetired = false;

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ReplyEvent, Reply> {
    if (!isRetired && request.model === retired) {
      try {
        return yield* model.stream(request, signal);
      } catch (thrown) {
        if (!(thrown instanceof AppError) || !isGone(thrown)) throw thrown;
      }
      isRetired = true;
      yield { type: 'notice', message: `${retired} is retired, using ${successor} (set GMN_MODEL to choose)` };
    }
    if (request.model !== retired) return yield* explained(model.stream(request, signal), succession);
    const generationConfig = succession.generationConfig();
    const replaced = { ...request, model: successor, generationConfig };
    const reply = yield* explained(model.stream(replaced, signal), succession);
    await succession.remember();
    return reply;
  }
  return { stream };
}

async function* explained(
  events: AsyncGenerator<ReplyEvent, Reply>,
  { retired, successor }: Succession,
): AsyncGenerator<ReplyEvent, Reply> {
  try {
    return yield* events;
  } catch (thrown) {
    if (!(thrown instanceof AppError) || !isGone(thrown)) throw thrown;
    throw new AppError('api', `API error: ${retired} is retired, and so is ${successor} (404)`, {
      cause: thrown,
      hint: 'See which models there are: gmn models --refresh; then choose one with -m or GMN_MODEL.',
      status: 404,
    });
  }
}
