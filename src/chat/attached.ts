import type { MediaPart, Part } from '../core/content.ts';
import { AppError } from '../core/error.ts';
import { INLINE_LIMIT, INLINE_LIMIT_NAME } from '../input/attachment.ts';

/** What goes with the next prompt, once. */
export interface Attached {
  /** Paths and patterns. */
  files: readonly string[];
  /** The output of commands, notes about undone changes. */
  notes: readonly string[];
  pictures: readonly Picture[];
}

export interface Picture {
  readonly name: string;
  /** `shot.png (PNG, 640x480, 12.0 kB)`, for the terminal. */
  readonly label: string;
  readonly part: MediaPart;
}

/** Says whether there is room for them. */
export function attachPictures(attached: Attached, pictures: readonly Picture[]): string {
  const all = [...attached.pictures, ...pictures];
  const labels = pictures.map(({ label }) => label).join(', ');
  if (measureParts(all.map(({ part }) => part)) > INLINE_LIMIT) {
    return `Not attached: ${labels}. At most ${INLINE_LIMIT_NAME} can be sent; a picture grows by a third.`;
  }
  attached.pictures = all;
  return `+ ${labels}. /file - drops what is attached.`;
}

/** Throws AppError `usage` if the attached pictures are too much beside the rest of the prompt. */
export function checkRoomForPictures({ pictures }: Attached, rest: readonly Part[]): void {
  if (pictures.length > 0)
    checkRoom([...pictures.map(({ part }) => part), ...rest], 'To drop what is attached: /file -');
}

/** Throws AppError `usage` if that is more than a request may hold. */
export function checkRoom(parts: readonly Part[], hint: string): void {
  if (measureParts(parts) <= INLINE_LIMIT) return;
  throw new AppError(
    'usage',
    `the pictures and the rest are larger than ${INLINE_LIMIT_NAME}, the most that can be sent`,
    {
      hint,
    },
  );
}

/** Bytes as they are sent inline. */
function measureParts(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => {
    if ('inlineData' in part) return sum + part.inlineData.data.length;
    return sum + ('text' in part ? Buffer.byteLength(part.text) : 0);
  }, 0);
}

/** The notes and pictures. Afterwards nothing is attached. */
export function takeAttached(attached: Attached): readonly Part[] {
  const { notes, pictures } = attached;
  dropAttached(attached);
  return [
    ...notes.map((text) => ({ text })),
    ...pictures.flatMap(({ name, part }) => (pictures.length > 1 ? [{ text: `=== ${name} ===` }, part] : [part])),
  ];
}

export function dropAttached(attached: Attached): void {
  Object.assign(attached, { files: [], notes: [], pictures: [] } satisfies Attached);
}
