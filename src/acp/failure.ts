import { AppError, type Fault } from '../core/error.ts';
import { errorFields } from '../render/json-parts.ts';
import { type RequestError, sdk } from './sdk.ts';

const INTERNAL = -32603;
const NOT_FOUND = -32002;

/** https://agentclientprotocol.com/protocol/v1/schema#errorcode */
const CODES: Readonly<Partial<Record<Fault, number>>> = { auth: -32000, usage: -32602, interrupted: -32800 };

/** The protocol's error for what went wrong. `data` is the error object of gmn's JSON formats. */
export function toProtocolError(thrown: unknown): RequestError {
  if (thrown instanceof sdk.RequestError) return thrown;
  const error = AppError.from(thrown);
  const isUnknown = error.fault === 'usage' && error.details.code === 'SESSION_NOT_FOUND';
  const code = isUnknown ? NOT_FOUND : (CODES[error.fault] ?? INTERNAL);
  return new sdk.RequestError(code, describeFailure(error), errorFields(error));
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
