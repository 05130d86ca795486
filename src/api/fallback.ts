import { AppError, serverError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import type { ReplyEvent } from '../core/model.ts';
import type { BuiltInModel } from '../models/table.ts';

/** The model that answers if a default, which the user did not choose, no longer exists. */
export interface Fallback {
  /** The default model. */
  readonly from: string;
  readonly to: string;
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

export function fallbackNotice({ from, to, choose }: Fallback): ReplyEvent {
  return { type: 'notice', message: `${from} is retired, using ${to} (${choose.once})` };
}

export function noModelError(cause: unknown, { from, to, choose }: Fallback): AppError {
  return serverError('api', `${from} is retired, and so is ${to} (404)`, {
    cause,
    hint: `See which models there are: gmn models --refresh; then ${choose.now}.`,
    status: 404,
    objection: 'model',
  });
}
