import type { AppError } from '../core/error.ts';
import type { TurnEvent } from '../core/event.ts';
import type { Out } from '../core/io.ts';
import type { JsonObject } from '../core/json.ts';
import { encodeDocument, encodeJson } from './json-text.ts';

const PIECE_LENGTH = 65_536;

/**
 * Writes one object and a newline. The answer is the value of its first `key`, which must be an empty text there; it is
 * never one text in memory, since it may be 256 MB. Awaits the writer about every 64 KB.
 */
export async function writeDocument(
  out: Out,
  document: JsonObject,
  key: 'response' | 'partialResponse',
  answer: readonly string[],
): Promise<void> {
  const encoded = encodeDocument(document);
  // Not in the text of another field, where its quotes would be escaped.
  const opening = `"${key}": "`;
  const start = encoded.indexOf(opening) + opening.length;
  let pending = encoded.slice(0, start);
  for (const text of answer) {
    pending += encodeJson(text).slice(1, -1);
    if (pending.length < PIECE_LENGTH) continue;
    await out.write(pending);
    pending = '';
  }
  await out.write(pending + encoded.slice(start));
}

export function errorFields(error: AppError, partial?: string): JsonObject {
  return {
    code: error.exitCode,
    type: error.type,
    message: error.message,
    suggestion: error.hint,
    output: findVerifyOutput(error),
    partialResponse: partial ?? (error.answer || undefined),
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
