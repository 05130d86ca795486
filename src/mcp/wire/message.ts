import { isObject, tryParseJson } from '../../core/json.ts';

/** A base64 image of 20 MB fits. */
export const MAX_MESSAGE_BYTES = 32_000_000;

type Params = { readonly [key: string]: unknown };

interface JsonRpcRequest {
  jsonrpc: '2.0';
  id: string | number;
  method: string;
  params?: Params;
}

interface JsonRpcNotification {
  jsonrpc: '2.0';
  method: string;
  params?: Params;
}

interface JsonRpcResult {
  jsonrpc: '2.0';
  id: string | number;
  result: { [key: string]: unknown };
}

interface JsonRpcError {
  jsonrpc: '2.0';
  id?: string | number;
  error: { code: number; message: string; data?: unknown };
}

/** https://www.jsonrpc.org/specification, as MCP uses it: without batches. */
export type JsonRpcMessage = JsonRpcRequest | JsonRpcNotification | JsonRpcResult | JsonRpcError;

export function isMessage(value: unknown): value is JsonRpcMessage {
  if (!isObject(value) || value.jsonrpc !== '2.0') return false;
  const { id, method, params, result, error } = value;
  if (method !== undefined) {
    return typeof method === 'string' && (id === undefined || isId(id)) && (params === undefined || isObject(params));
  }
  if (!isId(id)) return false;
  if (result !== undefined) return error === undefined && isObject(result);
  return isObject(error) && Number.isInteger(error.code) && typeof error.message === 'string';
}

/** The SDK takes `"1"` for 1 and `null` for 0; here ids are compared exactly. */
export function trackRequests() {
  const ids = new Set<string | number>();
  return {
    noteSent(message: JsonRpcMessage): void {
      if ('method' in message && 'id' in message) ids.add(message.id);
    },
    isInFlight: (id: string | number): boolean => ids.has(id),
    /** False for a response to no request, or the second to the same one. */
    noteResponse(message: JsonRpcMessage): boolean {
      if ('method' in message) return true;
      return message.id !== undefined && ids.delete(message.id);
    },
  };
}

function isId(id: unknown): boolean {
  return typeof id === 'string' || Number.isInteger(id);
}

const OLDEST_VERSION = '2024-11-05';

export type ParsedMessage = { readonly message: JsonRpcMessage } | { readonly response: JsonRpcMessage };

/** Completes an `initialize` that lacks the protocol version or the client's name, as the oldest clients mean it. */
export function parseMessage(text: string): ParsedMessage {
  const parsed = parseEnvelope(text, isObject);
  if (!('message' in parsed) || !('method' in parsed.message)) return parsed;
  const { message } = parsed;
  const { method, params } = message;
  const given = method === 'initialize' ? completeInitialize(params ?? {}) : params;
  const fault = 'id' in message ? findParamsProblem(method, given ?? {}) : undefined;
  if (fault !== undefined) return rejectMessage(message, -32602, `Invalid params: ${fault}`);
  return acceptMessage(given === undefined ? message : { ...message, params: given });
}

/** Checks what all protocols on JSON-RPC share. `isResult` says what the result of a response may be. */
export function parseEnvelope(text: string, isResult: (value: unknown) => boolean): ParsedMessage {
  const value = tryParseJson(text);
  if (value === undefined) return rejectMessage(undefined, -32700, 'Parse error: this is not JSON');
  if (Array.isArray(value))
    return rejectMessage(undefined, -32600, 'Invalid Request: send one message at a time, not a batch');
  if (!isObject(value) || value.jsonrpc !== '2.0')
    return rejectMessage(value, -32600, 'Invalid Request: not JSON-RPC 2.0');
  const { id, method, params } = value;
  if (id !== undefined && !isRequestId(id))
    return rejectMessage(undefined, -32600, 'Invalid Request: id must be a string or a whole number');
  if (method === undefined)
    return isResponseMessage(value, isResult)
      ? acceptMessage(value)
      : rejectMessage(value, -32600, 'Invalid Request: no method');
  if (typeof method !== 'string') return rejectMessage(value, -32600, 'Invalid Request: method must be a string');
  if (params !== undefined && !isObject(params))
    return rejectMessage(value, -32602, 'Invalid params: params must be an object');
  return acceptMessage(value);
}

const PLAIN_MEMBERS = /(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*/.source;
const OPENING = new RegExp(
  `^[\\s\\uFEFF]*\\{${PLAIN_MEMBERS}"id"\\s*:\\s*(-?\\d+|"[^"\\\\]*")\\s*,${PLAIN_MEMBERS}"(params|result|error)"`,
);

/**
 * Of a message of which only the beginning was read. If that has the id, as in what most programs send, a request is answered and a response
 * has failed; nobody waits for ever.
 */
export function rejectTooLong(head: string): ParsedMessage {
  const [, given = 'null', member] = OPENING.exec(head) ?? [];
  const id = tryParseJson(given);
  const rejected = rejectMessage({ id }, -32600, 'Invalid Request: the message is longer than 32 MB');
  return member === 'params' || member === undefined ? rejected : { message: rejected.response };
}

function isRequestId(id: unknown): id is string | number {
  return typeof id === 'string' || Number.isSafeInteger(id);
}

function isResponseMessage(
  { id, result, error }: Readonly<Record<string, unknown>>,
  isResult: (value: unknown) => boolean,
): boolean {
  return id !== undefined && (isResult(result) || isObject(error));
}

function completeInitialize(params: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { protocolVersion = OLDEST_VERSION, capabilities = {}, clientInfo = {}, ...rest } = params;
  return {
    ...rest,
    protocolVersion,
    capabilities,
    clientInfo: isObject(clientInfo) ? completeClientInfo(clientInfo) : clientInfo,
  };
}

function completeClientInfo({ name, version, ...rest }: Readonly<Record<string, unknown>>): object {
  return {
    ...rest,
    name: typeof name === 'string' ? name : 'unknown',
    version: typeof version === 'string' ? version : '0',
  };
}

export function rejectMessage(value: unknown, code: number, message: string): { readonly response: JsonRpcMessage } {
  const given = isObject(value) ? value.id : undefined;
  const id = isRequestId(given) ? given : null;
  return { response: { jsonrpc: '2.0', id, error: { code, message } } as JsonRpcMessage };
}

function acceptMessage(value: object): ParsedMessage {
  // Only the envelope is checked here; the SDK checks the rest.
  return { message: value as JsonRpcMessage };
}

interface ParamCheck {
  readonly what: string;
  readonly fits: (value: unknown) => boolean;
}

const TEXT: ParamCheck = { what: 'a string', fits: (value) => typeof value === 'string' };
const OBJECT: ParamCheck = { what: 'an object', fits: isObject };
const TEXTS: ParamCheck = {
  what: 'an object of strings',
  fits: (value) => isObject(value) && Object.values(value).every(TEXT.fits),
};

function toOptional({ what, fits }: ParamCheck): ParamCheck {
  return { what, fits: (value) => value === undefined || fits(value) };
}

const LIST_PARAMS = { cursor: toOptional(TEXT) };

/** Params of the requests we handle. Checked here because the SDK reports a problem in many lines. */
const PARAMS: Readonly<Record<string, Readonly<Record<string, ParamCheck>>>> = {
  initialize: { protocolVersion: TEXT, capabilities: OBJECT, clientInfo: OBJECT },
  'tools/list': LIST_PARAMS,
  'tools/call': { name: TEXT, arguments: toOptional(OBJECT) },
  'prompts/list': LIST_PARAMS,
  'prompts/get': { name: TEXT, arguments: toOptional(TEXTS) },
  'resources/list': LIST_PARAMS,
  'resources/templates/list': LIST_PARAMS,
  'resources/read': { uri: TEXT },
};

function findParamsProblem(method: string, params: Readonly<Record<string, unknown>>): string | undefined {
  const wanted = Object.hasOwn(PARAMS, method) ? (PARAMS[method] ?? {}) : {};
  const wrong = Object.entries(wanted).find(([name, { fits }]) => !fits(params[name]));
  return wrong && `${wrong[0]} must be ${wrong[1].what}`;
}
