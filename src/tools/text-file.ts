import { plural } from '../core/text/format.ts';
import { NEW_TEXT_FILE, type TextFile } from '../core/text/text-file.ts';
import type { Place } from './workspace/fence.ts';
import { MAX_FILE_BYTES, tooLargeToWriteError } from './workspace/workspace.ts';

export function encodeText(place: Place, before: TextFile | undefined, text: string): Uint8Array {
  const bytes = (before ?? NEW_TEXT_FILE).encode(text);
  if (bytes.length > MAX_FILE_BYTES) throw tooLargeToWriteError(place);
  return bytes;
}

export function formatCutLinks(count: number): string {
  return count === 0 ? '' : ` The file had ${plural(count, 'other hard link')}: the old content is still there.`;
}
