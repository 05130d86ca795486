import { extname } from 'node:path';
import type { App } from '../../../core/app.ts';
import type { JsonObject } from '../../../core/json.ts';
import { formatSize } from '../../../core/text/format.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import type { ContentBlock, ResourceContent } from '../../../mcp/client/types.ts';
import { createOutputFile, openOutputFile } from '../../../platform/files/write.ts';

interface Media {
  readonly mimeType: string;
  readonly data: string;
}

export function formatBlock(block: ContentBlock): string | undefined {
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

export function toBlockJson(block: ContentBlock): JsonObject {
  return block.type === 'resource' ? { type: block.type, resource: { ...block.resource } } : { ...block };
}

export function collectMedia(blocks: readonly ContentBlock[]): readonly Media[] {
  return blocks.flatMap((block) => {
    if (block.type === 'image' || block.type === 'audio') return [{ mimeType: block.mimeType, data: block.data }];
    return block.type === 'resource' ? toMedia(block.resource) : [];
  });
}

export function toMedia({ mimeType = 'application/octet-stream', blob }: ResourceContent): readonly Media[] {
  return blob === undefined ? [] : [{ mimeType, data: blob }];
}

export function formatMediaLine({ mimeType, data }: Media): string {
  return `[${sanitize(mimeType)}, ${formatSize(Buffer.byteLength(data, 'base64'))}; to keep it: --output-file <path>]`;
}

export function formatBlocks(blocks: readonly ContentBlock[], isSaved: boolean): string {
  const pieces = blocks.flatMap((block) => {
    const text = formatBlock(block);
    if (text !== undefined) return [text];
    return isSaved ? [] : collectMedia([block]).map(formatMediaLine);
  });
  return pieces.map((piece) => (piece.endsWith('\n') ? piece : `${piece}\n`)).join('');
}

export type SaveMedia = (media: readonly Media[]) => Promise<readonly string[]>;

/** The named file is replaced; further media go beside it as `name-2.png`, never over a file. Throws AppError `usage`. */
export async function createMediaTarget(path: string | undefined, { cwd }: Pick<App, 'cwd'>): Promise<SaveMedia> {
  if (path === undefined) return async () => [];
  const named = await openOutputFile(path, cwd);
  return async (media) => {
    if (media.length === 0) return [`there is nothing to save: ${sanitize(path)} was not written`];
    const notices: string[] = [];
    let number = 1;
    for (const { mimeType, data } of media) {
      const bytes = Buffer.from(data, 'base64');
      let name = path;
      if (notices.length === 0) await named.write(bytes);
      else {
        do {
          number += 1;
          name = numberPath(path, number);
        } while ((await createOutputFile(name, cwd, bytes)) === 'exists');
      }
      notices.push(`wrote ${sanitize(name)} (${sanitize(mimeType)}, ${formatSize(bytes.length)})`);
    }
    return notices;
  };
}

function numberPath(path: string, number: number): string {
  const extension = extname(path);
  return `${path.slice(0, path.length - extension.length)}-${number}${extension}`;
}
