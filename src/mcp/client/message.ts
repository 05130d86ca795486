import { isObject } from '../../core/json.ts';
import type { SdkTransport } from './sdk.ts';

type Message = Parameters<SdkTransport['send']>[0];

/**
 * Whether a value is a JSON-RPC message that may be handed on. An answer must carry a number, as every request of ours
 * does: the SDK would take `null` for the first of them.
 */
export function isMessage(value: unknown): value is Message {
  if (!isObject(value) || value.jsonrpc !== '2.0') return false;
  const { id, method, params, result, error } = value;
  if (method !== undefined) {
    const isId = id === undefined || typeof id === 'string' || Number.isInteger(id);
    return typeof method === 'string' && isId && (params === undefined || isObject(params));
  }
  if (!Number.isInteger(id)) return false;
  if (result !== undefined) return error === undefined && isObject(result);
  return isObject(error) && Number.isInteger(error.code) && typeof error.message === 'string';
}
