import { isObject, parseJson } from '../../core/json.ts';
import type { SdkMessage } from '../server/sdk.ts';
import { paramsFault } from './params.ts';

/** The revision that a client means which names none. */
const OLDEST = '2024-11-05';

const UNKNOWN_CLIENT = { name: 'unknown', version: '0' } as const;

/** A message for the protocol, or the error to answer with. */
export type Read = { readonly message: SdkMessage } | { readonly answer: SdkMessage };

/** Reads one JSON-RPC message. `initialize` without a revision is filled up as the oldest clients mean it. */
export function readMessage(text: string): Read {
  const value = parseJson(text);
  if (value === undefined) return refused(undefined, -32700, 'Parse error: this is not JSON');
  return checkedMessage(value);
}

function checkedMessage(value: unknown): Read {
  if (Array.isArray(value))
    return refused(undefined, -32600, 'Invalid Request: send one message at a time, not a batch');
  if (!isObject(value) || value.jsonrpc !== '2.0') return refused(value, -32600, 'Invalid Request: not JSON-RPC 2.0');
  const { id, method, params } = value;
  if (id !== undefined && !isId(id))
    return refused(undefined, -32600, 'Invalid Request: id must be a string or a whole number');
  if (method === undefined)
    return isResponse(value) ? taken(value) : refused(value, -32600, 'Invalid Request: no method');
  if (typeof method !== 'string') return refused(value, -32600, 'Invalid Request: method must be a string');
  if (params !== undefined && !isObject(params))
    return refused(value, -32602, 'Invalid params: params must be an object');
  const given = method === 'initialize' ? greeting(params ?? {}) : params;
  const fault = id === undefined ? undefined : paramsFault(method, given ?? {});
  if (fault !== undefined) return refused(value, -32602, `Invalid params: ${fault}`);
  return taken(given === undefined ? value : { ...value, params: given });
}

/** The answer to a line that was not kept. */
export const TOO_LONG = refused(undefined, -32600, 'Invalid Request: the message is longer than 32 MB').answer;

function isId(id: unknown): id is string | number {
  return typeof id === 'string' || Number.isSafeInteger(id);
}

function isResponse({ id, result, error }: Readonly<Record<string, unknown>>): boolean {
  return id !== undefined && (isObject(result) || isObject(error));
}

function greeting(params: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { protocolVersion = OLDEST, capabilities = {}, clientInfo = {}, ...rest } = params;
  return { ...rest, protocolVersion, capabilities, clientInfo: isObject(clientInfo) ? client(clientInfo) : clientInfo };
}

/** Nothing hangs on who it says it is. */
function client({ name, version, ...rest }: Readonly<Record<string, unknown>>): object {
  return {
    ...rest,
    name: typeof name === 'string' ? name : UNKNOWN_CLIENT.name,
    version: typeof version === 'string' ? version : UNKNOWN_CLIENT.version,
  };
}

function refused(value: unknown, code: number, message: string): { readonly answer: SdkMessage } {
  const given = isObject(value) ? value.id : undefined;
  const id = isId(given) ? given : null;
  return { answer: parseMessage({ jsonrpc: '2.0', id, error: { code, message } }) };
}

function taken(value: object): Read {
  return { message: parseMessage(value) };
}

/** Its frame was looked at here; what is in it, the SDK checks. */
function parseMessage(value: object): SdkMessage {
  return value as SdkMessage;
}
