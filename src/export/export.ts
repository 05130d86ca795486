import { extname } from 'node:path';
import { AppError } from '../core/error.ts';
import type { SavedSession } from '../core/session.ts';
import { visible } from '../core/text/terminal.ts';
import { createNewFile } from '../platform/files/new-file.ts';
import { writingTarget } from '../platform/files/path.ts';
import { lookUp } from '../platform/files/read.ts';
import { replaceFile } from '../platform/files/write.ts';
import { reasonOf } from '../platform/runtime/system.ts';

type Export = (saved: SavedSession) => Iterable<string>;

/** Every format a session can be exported in, each loaded only when it is asked for; the keys are the endings of files. */
const formats = {
  md: async () => (await import('./markdown.ts')).markdownExport,
  json: async () => (await import('./json.ts')).jsonExport,
  html: async () => (await import('./html/page.ts')).htmlExport,
} as const satisfies Record<string, () => Promise<Export>>;

export type ExportFormat = keyof typeof formats;

/** The session in that format, in pieces to be written one after the other. The same session gives the same bytes. */
export async function exportSession(saved: SavedSession, format: ExportFormat): Promise<Iterable<string>> {
  return batches((await formats[format]())(saved));
}

/** Small enough that others have their turn before long, large enough to be worth a write. */
const BATCH_LENGTH = 8192;

function* batches(pieces: Iterable<string>): Generator<string, void> {
  let batch = '';
  for (const piece of pieces) {
    batch += piece;
    if (batch.length < BATCH_LENGTH) continue;
    yield batch;
    batch = '';
  }
  if (batch !== '') yield batch;
}

const ENDINGS: ReadonlyMap<string, ExportFormat> = new Map([
  ['.md', 'md'],
  ['.markdown', 'md'],
  ['.json', 'json'],
  ['.html', 'html'],
  ['.htm', 'html'],
]);

/** The format that the ending of a file's name stands for; undefined if it is none of them. */
export function formatOf(file: string): ExportFormat | undefined {
  return ENDINGS.get(extname(file).toLowerCase());
}

/** Where an export goes. */
interface ExportPlace {
  readonly path: string;
  /** As the person wrote it. */
  readonly name: string;
  /** Whether a file that is there is replaced. */
  readonly force: boolean;
  /** What to do if there is one and it is not. */
  readonly hint: string;
}

/**
 * Writes an export, for its owner's eyes only. Throws AppError `usage` if there is a file and `force` is not set, if what is
 * there is no regular file, and if it cannot be written; what was there is then untouched.
 */
export async function writeExport(place: ExportPlace, pieces: Iterable<string>): Promise<void> {
  const { path, force, hint } = place;
  const name = visible(place.name);
  const found = await lookUp(path, place.name);
  if (found !== undefined && found.kind !== 'file') {
    throw new AppError('usage', `${name} is not a regular file`, { hint: 'Name a file that gmn may write.' });
  }
  try {
    if (force) await replaceFile(writingTarget(path), pieces, { mode: 0o600 });
    else if (found !== undefined || (await createNewFile(path, pieces)) === 'exists') {
      throw new AppError('usage', `${name} exists`, { hint });
    }
  } catch (cause) {
    if (cause instanceof AppError && cause.fault === 'usage') throw cause;
    const why = cause instanceof AppError ? cause.message : `cannot write ${name}: ${reasonOf(cause)}`;
    throw new AppError('usage', why, { cause, hint: 'Check the free space and the permissions there.' });
  }
}
