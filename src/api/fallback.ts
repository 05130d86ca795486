import { AppError, serverError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import type { Model, ModelRequest, Reply, ReplyEvent } from '../core/model.ts';
import type { BuiltInModel } from '../models/table.ts';

/** A default model that may be retired, and its fallback. */
export interface Fallback {
  /** The default model. */
  readonly retired: string;
  /** The fallback model. */
  readonly successor: string;
  /** How to choose another model, permanently and for this run. */
  readonly choose: BuiltInModel['choose'];
  /**
   * The fallback's own sampling settings, plus the answer format of the request. Throws AppError `usage` if the
   * fallback does not support that.
   */
  readonly generationConfig: (asked: JsonObject) => JsonObject;
  /** Called once the fallback model has answered. */
  readonly remember: () => Promise<void>;
}

/** Whether a failure means that the model does not exist. Not every 404 does: a wrong address gives one too. */
export function isModelGone(failure: unknown): boolean {
  return failure instanceof AppError && failure.objection === 'model';
}

/**
 * Streams the fallback's reply to a request for the retired default, and remembers the fallback once it has answered.
 * Throws what the model throws; if the fallback is gone too, an AppError `api` that says how to find another.
 */
export async function* streamFallback(
  model: Model,
  succession: Fallback,
  { request, signal }: { readonly request: ModelRequest; readonly signal: AbortSignal },
): AsyncGenerator<ReplyEvent, Reply> {
  const generationConfig = succession.generationConfig(request.generationConfig);
  const replaced = { ...request, model: succession.successor, generationConfig };
  let reply: Reply;
  try {
    reply = yield* model.stream(replaced, signal);
  } catch (thrown) {
    throw isModelGone(thrown) ? noModelError(thrown, succession) : thrown;
  }
  await succession.remember();
  return reply;
}

export function fallbackNotice({ retired, successor, choose }: Fallback): ReplyEvent {
  return { type: 'notice', message: `${retired} is retired, using ${successor} (${choose.once})` };
}

export function noModelError(cause: unknown, { retired, successor, choose }: Fallback): AppError {
  return serverError('api', `${retired} is retired, and so is ${successor} (404)`, {
    cause,
    hint: `See which models there are: gmn models --refresh; then ${choose.now}.`,
    status: 404,
    objection: 'model',
  });
}
