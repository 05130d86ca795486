import { extname, resolve } from 'node:path';
import type { App } from '../../core/app.ts';
import { formatSize } from '../../core/text/size.ts';
import { visible } from '../../core/text/terminal.ts';
import { createOutputFile, openOutputFile } from '../../platform/files/output-file.ts';
import type { Media } from './content.ts';

/** Saves what is no text; says, in words for the person, what was written where. Throws AppError `usage` if it cannot be written. */
export type SaveMedia = (media: readonly Media[]) => Promise<readonly string[]>;

/**
 * The place of `--output-file`, before anything is asked for. What the person named is replaced; further pieces go beside it
 * as `name-2.png` and so on, under names that are free: how many there are, the server decides. Throws AppError `usage` if
 * it cannot be written.
 */
export async function openMediaPlace(path: string | undefined, { cwd }: Pick<App, 'cwd'>): Promise<SaveMedia> {
  if (path === undefined) return async () => [];
  const named = await openOutputFile(resolve(cwd, path), path);
  return async (media) => {
    if (media.length === 0) return [`there is nothing to save: ${visible(path)} was not written`];
    const said: string[] = [];
    let number = 1;
    for (const { mimeType, data } of media) {
      const bytes = Buffer.from(data, 'base64');
      let name = path;
      if (said.length === 0) await named.write(bytes);
      else {
        do {
          number += 1;
          name = numbered(path, number);
        } while ((await createOutputFile(resolve(cwd, name), name, bytes)) === 'exists');
      }
      said.push(`wrote ${visible(name)} (${visible(mimeType)}, ${formatSize(bytes.length)})`);
    }
    return said;
  };
}

function numbered(path: string, number: number): string {
  const ending = extname(path);
  return `${path.slice(0, path.length - ending.length)}-${number}${ending}`;
}
