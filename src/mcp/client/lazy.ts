/** The MCP SDK is a third of a megabyte that only a run with a server needs. */
export async function loadSdk() {
  const { sdk } = await import('./sdk.ts');
  return sdk;
}
