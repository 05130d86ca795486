import { fileURLToPath } from 'node:url';

/** The path of a `file:` address; undefined for any other. */
export function tryParseFileUrl(uri: string): string | undefined {
  try {
    return fileURLToPath(new URL(uri));
  } catch {
    return undefined;
  }
}
