import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Google's SDK, installed in `cache`, as a client of the server at `url`. */
export async function openSdk({ cache, url }) {
  const entry = join(cache, 'node_modules', '@google', 'genai', 'dist', 'node', 'index.mjs');
  const { GoogleGenAI } = await import(pathToFileURL(entry).href);
  return new GoogleGenAI({ apiKey: 'x', httpOptions: { baseUrl: url } });
}
