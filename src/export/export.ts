import { extname, resolve } from 'node:path';
import { AppError } from '../core/error.ts';
import type { SavedSession } from '../core/session.ts';
import { sanitize } from '../core/text/terminal.ts';
import { inspectPath } from '../platform/files/read.ts';
import { createExclusive, createWriteError, WRITE_HINT, writeAtomic } from '../platform/files/write.ts';
import { resolveWritingTarget } from '../platform/files/writing-target.ts';

type Exporter = (saved: SavedSession) => Iterable<string>;

const formats = {
  md: async () => (await import('./markdown.ts')).exportMarkdown,
  json: async () => (await import('./json.ts')).exportJson,
  html: async () => (await import('./html/page.ts')).exportHtml,
} as const satisfies Record<string, () => Promise<Exporter>>;

export type ExportFormat = keyof typeof formats;

/** Pieces to write in order. The same session gives the same bytes. */
export async function exportSession(saved: SavedSession, format: ExportFormat): Promise<Iterable<string>> {
  return joinBatches((await formats[format]())(saved));
}

/** In characters: small enough not to block the event loop, large enough to be worth a write. */
const BATCH_LENGTH = 8192;

function* joinBatches(pieces: Iterable<string>): Generator<string, void> {
  let batch = '';
  for (const piece of pieces) {
    batch += piece;
    if (batch.length < BATCH_LENGTH) continue;
    yield batch;
    batch = '';
  }
  if (batch !== '') yield batch;
}

const EXTENSIONS: ReadonlyMap<string, ExportFormat> = new Map([
  ['.md', 'md'],
  ['.markdown', 'md'],
  ['.json', 'json'],
  ['.html', 'html'],
  ['.htm', 'html'],
]);

export function findFormat(file: string): ExportFormat | undefined {
  return EXTENSIONS.get(extname(file).toLowerCase());
}

interface ExportTarget {
  readonly name: string;
  readonly cwd: string;
  readonly force: boolean;
  readonly hint: string;
}

/**
 * The file is readable by its owner only. Throws AppError `usage` if it exists and `force` is not set, if the path is
 * not a regular file, and if it cannot be written; an existing file is then untouched.
 */
export async function writeExport(place: ExportTarget, pieces: Iterable<string>): Promise<void> {
  const { force, hint } = place;
  const path = resolve(place.cwd, place.name);
  const name = sanitize(place.name);
  const found = await inspectPath(path, place.name);
  if (found !== undefined && found.kind !== 'file') {
    throw new AppError('usage', `${name} is not a regular file`, { hint: 'Name a file that gmn may write.' });
  }
  try {
    if (found !== undefined && !force) throw new AppError('usage', `${name} exists`, { hint });
    const target = resolveWritingTarget(place.name, place.cwd);
    if (force) await writeAtomic(target, pieces, { mode: 0o600 });
    else if ((await createExclusive(target, pieces, { mode: 0o600 })) === 'exists') {
      throw new AppError('usage', `${name} exists`, { hint });
    }
  } catch (cause) {
    if (cause instanceof AppError && cause.fault === 'usage') throw cause;
    if (cause instanceof AppError) throw new AppError('usage', cause.message, { cause, hint: cause.hint });
    throw createWriteError('usage', { name, cause, hint: WRITE_HINT });
  }
}
