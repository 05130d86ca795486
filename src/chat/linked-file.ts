import type { Part } from '../core/content.ts';
import { isAttachment, toAttachment } from '../input/attachment.ts';
import type { Chat } from './chat.ts';

/** A longer file is not sent along: the model reads it in parts. */
const MAX_BYTES = 262_144;

/**
 * What a file of the workspace holds, for a prompt that mentions it; the model may change it then. None for others, for directories, and for
 * files that may hold secrets: the model has tools for these, which ask.
 */
export async function readLinkedFile(path: string, { changes, run }: Chat): Promise<readonly Part[]> {
  const opened = await changes.workspace.open(path).catch(() => undefined);
  if (opened === undefined) return [];
  const { place, file } = opened;
  try {
    if (file.size > MAX_BYTES) return [];
    const bytes = await file.read(0, file.size);
    const item = toAttachment(bytes, place.name, { support: run.facts.model.fileSupport });
    if (!isAttachment(item)) return [];
    await changes.markShown(place.path, bytes);
    const heading = `=== ${place.name} ===`;
    if ('text' in item) return [{ text: `${heading}\n${item.text}` }];
    return 'data' in item ? [{ text: heading }, { inlineData: { mimeType: item.mimeType, data: item.data } }] : [];
  } finally {
    await file.close();
  }
}
