/** Google's library: half a megabyte that only a refresh, a service account or the metadata server needs. */
export async function loadGoogleAuth() {
  const { googleLibrary } = await import('./google-library.ts');
  return googleLibrary;
}
