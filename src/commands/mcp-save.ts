import { extname, resolve } from 'node:path';
import type { App } from '../core/app.ts';
import { formatSize } from '../core/size.ts';
import { visible } from '../core/visible.ts';
import { saveFile } from '../platform/saved-file.ts';
import type { Media } from './mcp-content.ts';

/**
 * Writes what is no text to the file of `--output-file`, further pieces beside it as `name-2.png` and so on; says, in
 * words for the person, what was written where. Throws AppError `usage` if it cannot be written.
 */
export async function saveMedia(
  media: readonly Media[],
  path: string | undefined,
  { cwd }: Pick<App, 'cwd'>,
): Promise<readonly string[]> {
  if (path === undefined) return [];
  if (media.length === 0) return [`there is nothing to save: ${visible(path)} was not written`];
  const said: string[] = [];
  for (const [index, { mimeType, data }] of media.entries()) {
    const name = index === 0 ? path : numbered(path, index + 1);
    const bytes = Buffer.from(data, 'base64');
    await saveFile(resolve(cwd, name), bytes, name);
    said.push(`wrote ${visible(name)} (${visible(mimeType)}, ${formatSize(bytes.length)})`);
  }
  return said;
}

function numbered(path: string, number: number): string {
  const ending = extname(path);
  return `${path.slice(0, path.length - ending.length)}-${number}${ending}`;
}
