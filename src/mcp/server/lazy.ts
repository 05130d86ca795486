import type { Sdk } from './sdk.ts';

/** The MCP SDK: a third of a megabyte that only a server needs. */
export async function loadSdk(): Promise<Sdk> {
  const { sdk } = await import('./sdk.ts');
  return sdk;
}
