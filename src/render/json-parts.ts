import type { AppError } from '../core/error.ts';
import type { TurnEvent } from '../core/event.ts';
import type { JsonObject } from '../core/json.ts';

export function omitEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

export function errorFields(error: AppError, partial = ''): JsonObject {
  return {
    code: error.exitCode,
    type: error.type,
    message: error.message,
    suggestion: error.hint,
    output: findVerifyOutput(error),
    partialResponse: partial || error.answer || undefined,
  };
}

export function geminiErrorFields(error: AppError): JsonObject {
  return {
    type: error.type,
    message: error.message,
    code: error.exitCode,
    suggestion: error.hint,
    output: findVerifyOutput(error),
  };
}

function findVerifyOutput({ fault, details }: AppError): string | undefined {
  return fault === 'verify' ? details.output : undefined;
}

/** The same in both JSON formats; what was printed is of interest only if it failed. */
export function verifyFields({ command, exit, output }: Extract<TurnEvent, { type: 'verify' }>): JsonObject {
  const ok = exit.code === 0;
  return { command, ok, exitCode: exit.code, output: ok ? undefined : output };
}

/** Where a file of the answer was saved; none if it was not. Never its bytes. */
export function fileFields({ file: { saved } }: Extract<TurnEvent, { type: 'file' }>): readonly JsonObject[] {
  return saved === undefined ? [] : [{ path: saved.path, mimeType: saved.mimeType, bytes: saved.bytes }];
}

export function resultFields({ outcome }: Extract<TurnEvent, { type: 'answer' }>): JsonObject {
  return { result: outcome.response, isError: outcome.ok ? undefined : true };
}
