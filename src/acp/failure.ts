import { AppError, type Fault } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { errorFields } from '../render/json-parts.ts';

const INTERNAL = -32603;
/** https://agentclientprotocol.com/protocol/v1/schema#errorcode */
const CODES: Readonly<Partial<Record<Fault, number>>> = { auth: -32000, usage: -32602, interrupted: -32800 };

/** What the protocol's error says. `data` is the error object of gmn's JSON formats. */
export function toErrorFields(thrown: unknown): { code: number; message: string; data: JsonObject } {
  const error = AppError.from(thrown);
  const isUnknown = error.fault === 'usage' && error.details.code === 'SESSION_NOT_FOUND';
  const code = isUnknown ? -32002 : (CODES[error.fault] ?? INTERNAL);
  return { code, message: describeFailure(error), data: errorFields(error) };
}

/** Clients show the message alone. */
export function describeFailure({ message, hint }: AppError): string {
  return hint === undefined ? message : `${message.replace(/[.:]$/, '')}. ${hint}`;
}

export function sessionNotFoundError(): AppError {
  return new AppError('usage', 'there is no such session', {
    hint: 'session/list has those that there are.',
    code: 'SESSION_NOT_FOUND',
  });
}
