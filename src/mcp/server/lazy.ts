import type { Sdk } from './sdk.ts';
import type { SdkHttp } from './sdk-http.ts';

/** The MCP SDK is a third of a megabyte that only a server needs. */
export async function loadSdk(): Promise<Sdk> {
  const { sdk } = await import('./sdk.ts');
  return sdk;
}

export async function loadSdkHttp(): Promise<SdkHttp> {
  const { sdkHttp } = await import('./sdk-http.ts');
  return sdkHttp;
}
