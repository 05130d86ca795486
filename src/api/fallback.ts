import { AppError, serverError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import type { ReplyEvent } from '../core/model.ts';
import type { BuiltInModel } from '../models/table.ts';

export interface Substitute {
  readonly to: string;
  /** Plus the answer format of the request. Throws AppError `usage` if it does not support that. */
  readonly generationConfig: (asked: JsonObject) => JsonObject;
  readonly remember?: () => Promise<void>;
}

/** The model that answers if a default, which the user did not choose, no longer exists. */
export interface Fallback extends Substitute {
  readonly from: string;
  readonly choose: BuiltInModel['choose'];
}

export function isOverloaded({ fault, details }: AppError): boolean {
  return fault === 'api' && (details.status === 429 || details.status === 503 || details.status === 529);
}

/** Whether a failure means that the model does not exist. Not every 404 does: a wrong address gives one too. */
export function isModelGone(failure: unknown): boolean {
  return failure instanceof AppError && failure.fault === 'api' && failure.details.objection === 'model';
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
