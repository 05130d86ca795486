import { AppError, refused } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import type { Model, ModelRequest, Reply, ReplyEvent } from '../core/model.ts';
import type { BuiltInModel } from '../models/table.ts';

/** Who follows whom, and what that takes. */
export interface Succession {
  /** The default that may be gone. */
  readonly retired: string;
  /** What stands in for it here. */
  readonly successor: string;
  /** How to choose another model: for good, and now. */
  readonly choose: BuiltInModel['choose'];
  /**
   * The successor's own sampling, with what the request asks for besides: the form of the answer. Throws AppError `usage` if
   * it cannot be asked like that.
   */
  readonly generationConfig: (asked: JsonObject) => JsonObject;
  /** Called once the successor has answered in place of the default. */
  readonly remember: () => Promise<void>;
}

/** Whether a failure means that there is no such model; a wrong address answers 404 as well. */
export function isGone(failure: unknown): boolean {
  return failure instanceof AppError && failure.objection === 'model';
}

/**
 * The successor's reply to a request for the default that is gone; remembers the successor once it has answered.
 * Throws what the model throws; if the successor is gone too, an AppError `api` that says how to find another.
 */
export async function* successorReply(
  model: Model,
  succession: Succession,
  { request, signal }: { readonly request: ModelRequest; readonly signal: AbortSignal },
): AsyncGenerator<ReplyEvent, Reply> {
  const generationConfig = succession.generationConfig(request.generationConfig);
  const replaced = { ...request, model: succession.successor, generationConfig };
  let reply: Reply;
  try {
    reply = yield* model.stream(replaced, signal);
  } catch (thrown) {
    throw isGone(thrown) ? bothGone(thrown, succession) : thrown;
  }
  await succession.remember();
  return reply;
}

/** What is told before the successor is asked. */
export function successionNotice({ retired, successor, choose }: Succession): ReplyEvent {
  return { type: 'notice', message: `${retired} is retired, using ${successor} (${choose.once})` };
}

/** The AppError `api` for a default whose successor is gone as well. */
export function bothGone(cause: unknown, { retired, successor, choose }: Succession): AppError {
  return refused('api', `${retired} is retired, and so is ${successor} (404)`, {
    cause,
    hint: `See which models there are: gmn models --refresh; then ${choose.now}.`,
    status: 404,
    objection: 'model',
  });
}
