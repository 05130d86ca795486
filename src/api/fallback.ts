import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import type { ReplyEvent } from '../core/model.ts';
import type { BuiltInModel } from '../models/table.ts';
import { joinClauses } from './retry.ts';

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
  if (fault !== 'api' || details.quota?.per === 'account') return false;
  return details.status === 429 || details.status === 503 || details.status === 529;
}

/** Whether a failure means that the model does not exist. Not every 404 does: a wrong address gives one too. */
export function isModelGone(failure: unknown): boolean {
  return failure instanceof AppError && failure.fault === 'api' && failure.details.objection === 'model';
}

/** With Google's own words: whether the model is retired, or only not open to this account, is not always told apart. */
export function fallbackNotice(failure: AppError, { to, choose }: Fallback): ReplyEvent {
  return { type: 'notice', message: joinClauses(failure.shortMessage, `using ${to} (${choose.once})`) };
}

export function noModelError(failure: AppError, { from, choose }: Fallback): AppError {
  const { hint = '' } = failure;
  const why = hint === '' || hint.includes('gmn models --refresh') ? '' : `${hint}. `;
  return failure.with({
    message: joinClauses(failure.message, `it was asked instead of ${from}`),
    shortMessage: joinClauses(failure.shortMessage, `it was asked instead of ${from}`),
    hint: `${why}See which models there are: gmn models --refresh; then ${choose.now}.`,
  });
}
