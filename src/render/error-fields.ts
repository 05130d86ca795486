import type { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';

/** The fields every error object has, in their order; `suggestion` only if there is a next step to name. */
export function errorFields(error: AppError): JsonObject {
  const { answer: partialResponse } = error;
  return {
    code: error.exitCode,
    type: error.type,
    message: error.message,
    ...suggestion(error),
    ...(partialResponse ? { partialResponse } : {}),
  };
}

/** The same in the official CLI's order. */
export function geminiErrorFields(error: AppError): JsonObject {
  return { type: error.type, message: error.message, code: error.exitCode, ...suggestion(error) };
}

function suggestion({ hint }: AppError): JsonObject {
  return hint === undefined ? {} : { suggestion: hint };
}
