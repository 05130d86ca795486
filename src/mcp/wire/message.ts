import { isObject } from '../../core/json.ts';
import type { SdkTransport } from '../client/sdk.ts';

type Message = Parameters<SdkTransport['send']>[0];

/** Whether a value is a JSON-RPC message that may be handed on. */
export function isMessage(value: unknown): value is Message {
  if (!isObject(value) || value.jsonrpc !== '2.0') return false;
  const { id, method, params, result, error } = value;
  if (method !== undefined) {
    return typeof method === 'string' && (id === undefined || isId(id)) && (params === undefined || isObject(params));
  }
  if (!isId(id)) return false;
  if (result !== undefined) return error === undefined && isObject(result);
  return isObject(error) && Number.isInteger(error.code) && typeof error.message === 'string';
}

/** Which of our requests are not answered yet. The SDK takes `"1"` for 1 and `null` for 0; here an id is what it is. */
export function openRequests() {
  const ids = new Set<string | number>();
  return {
    sent(message: Message): void {
      if ('method' in message && 'id' in message) ids.add(message.id);
    },
    isOpen: (id: string | number): boolean => ids.has(id),
    /** False for an answer to nothing, or the second to the same. */
    isExpected(message: Message): boolean {
      if ('method' in message) return true;
      return message.id !== undefined && ids.delete(message.id);
    },
  };
}

function isId(id: unknown): boolean {
  return typeof id === 'string' || Number.isInteger(id);
}
