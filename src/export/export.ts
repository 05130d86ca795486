import { extname } from 'node:path';
import type { SavedSession } from '../core/session.ts';

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
