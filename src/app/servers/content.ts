import { extname, resolve } from 'node:path';
import type { App } from '../../core/app.ts';
import type { JsonObject } from '../../core/json.ts';
import { formatSize } from '../../core/text/format.ts';
import { visible } from '../../core/text/terminal.ts';
import type { ContentBlock, ResourceContent } from '../../mcp/client/types.ts';
import { createOutputFile, openOutputFile } from '../../platform/files/write.ts';

/** Something that is no text: what it is, and its bytes in base64. */
interface Media {
  readonly mimeType: string;
  readonly data: string;
}

/** A piece of content as text for a person; undefined if it is none. */
export function textOfBlock(block: ContentBlock): string | undefined {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'resource':
      return block.resource.text;
    case 'resource_link':
      return block.name === '' || block.name === block.uri ? block.uri : `${block.name}: ${block.uri}`;
    case 'image':
    case 'audio':
      return undefined;
  }
}

/** A piece of content as data. */
export function blockJson(block: ContentBlock): JsonObject {
  return block.type === 'resource' ? { type: block.type, resource: { ...block.resource } } : { ...block };
}

/** What is no text among the pieces, in order. */
export function mediaOf(blocks: readonly ContentBlock[]): readonly Media[] {
  return blocks.flatMap((block) => {
    if (block.type === 'image' || block.type === 'audio') return [{ mimeType: block.mimeType, data: block.data }];
    return block.type === 'resource' ? mediaOfResource(block.resource) : [];
  });
}

/** The bytes of a resource, if it is no text. */
export function mediaOfResource({ mimeType = 'application/octet-stream', blob }: ResourceContent): readonly Media[] {
  return blob === undefined ? [] : [{ mimeType, data: blob }];
}

/** One line that stands for something that is no text: its type and its size. */
export function mediaLine({ mimeType, data }: Media): string {
  return `[${visible(mimeType)}, ${formatSize(Buffer.byteLength(data, 'base64'))}; to keep it: --output-file <path>]`;
}

/** The pieces as text for a person, one after the other on lines of their own; what is no text as a line. */
export function textOfBlocks(blocks: readonly ContentBlock[], isSaved: boolean): string {
  const pieces = blocks.flatMap((block) => {
    const text = textOfBlock(block);
    if (text !== undefined) return [text];
    return isSaved ? [] : mediaOf([block]).map(mediaLine);
  });
  return pieces.map((piece) => (piece.endsWith('\n') ? piece : `${piece}\n`)).join('');
}

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
