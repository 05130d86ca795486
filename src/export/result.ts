import type { JsonObject } from '../core/json.ts';

/** What a tool gave in words. */
export interface PlainResult {
  readonly text: string;
  readonly isError: boolean;
}

/** The words of a response that is nothing else: `{ output }` or `{ error }`; undefined if there is more to it. */
export function plainResult(response: JsonObject): PlainResult | undefined {
  const [entry, ...rest] = Object.entries(response).filter(([, value]) => value !== undefined);
  if (entry === undefined || rest.length > 0) return undefined;
  const [name, value] = entry;
  if (typeof value !== 'string' || (name !== 'output' && name !== 'error')) return undefined;
  return { text: value, isError: name === 'error' };
}
