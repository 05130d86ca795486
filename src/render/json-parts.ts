import type { AppError } from '../core/error.ts';
import type { TurnEvent } from '../core/event.ts';
import type { Out } from '../core/io.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';
import { encodeInner, encodeJson } from './json-text.ts';

/** One key of an object that is written in pieces. A member whose value is undefined is omitted. */
export type Member =
  | { readonly key: string; readonly value: JsonValue | undefined }
  | { readonly key: string; readonly texts: readonly string[] }
  | { readonly key: string; readonly members: readonly Member[] };

const PIECE_LENGTH = 65_536;

/**
 * Writes one object, indented by two spaces, with a final newline: byte for byte what JSON.stringify(object, null, 2)
 * gives, but never in memory as a whole. Awaits the writer about every 64 KB.
 */
export async function writeDocument(out: Out, members: readonly Member[]): Promise<void> {
  let pending = '';
  for (const piece of documentPieces(members, '')) {
    pending += piece;
    if (pending.length < PIECE_LENGTH) continue;
    await out.write(pending);
    pending = '';
  }
  await out.write(`${pending}\n`);
}

function* documentPieces(members: readonly Member[], indent: string): Generator<string> {
  const inner = `${indent}  `;
  let opening = '{';
  for (const member of members) {
    if ('value' in member && member.value === undefined) continue;
    yield `${opening}\n${inner}${encodeJson(member.key)}: `;
    yield* memberPieces(member, inner);
    opening = ',';
  }
  yield opening === '{' ? '{}' : `\n${indent}}`;
}

function* memberPieces(member: Member, indent: string): Generator<string> {
  if ('members' in member) return yield* documentPieces(member.members, indent);
  if ('texts' in member) {
    yield '"';
    for (const text of member.texts) yield encodeInner(text);
    return yield '"';
  }
  // A raw line break is never inside a JSON string, so this indents structure only.
  yield encodeJson(member.value ?? null, 2).replaceAll('\n', () => `\n${indent}`);
}

export function omitEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

/** The fields of every error object, in their order; `suggestion` only if there is a hint. */
export function errorFields(error: AppError): JsonObject {
  return {
    code: error.exitCode,
    type: error.type,
    message: error.message,
    suggestion: error.hint,
    output: findVerifyOutput(error),
    partialResponse: error.answer || undefined,
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

type Call = Extract<TurnEvent, { type: 'call' }>;
type Answer = Extract<TurnEvent, { type: 'answer' }>;

interface ToolLog {
  call(event: Call): void;
  result(event: Answer): void;
  entries(): readonly JsonObject[];
}

export function toolLog(): ToolLog {
  const calls: Call[] = [];
  const answers = new Map<string, Answer>();
  return {
    call: (event) => void calls.push(event),
    result: (event) => void answers.set(event.id, event),
    entries: () =>
      calls.map(({ id, name, args }) => {
        const answer = answers.get(id);
        return answer === undefined ? { id, name, args } : { id, name, args, ...resultFields(answer) };
      }),
  };
}

/** `result`, and `isError` only on a failure: the same in both JSON formats. */
export function resultFields({ outcome }: Answer): JsonObject {
  return { result: outcome.response, isError: outcome.ok ? undefined : true };
}
