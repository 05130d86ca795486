import { join } from 'node:path';
import type { StoredContent } from '../core/content.ts';
import type { Compaction, History, TurnRecord } from '../core/history.ts';
import type { Clock } from '../core/io.ts';
import type { KeptSetup } from '../core/session.ts';
import type { BlobStore } from '../platform/files/blobs.ts';
import { writeAtomicSync } from '../platform/files/write-sync.ts';
import {
  deriveTitle,
  encodeRecord,
  formatFileName,
  formatHeader,
  hasLargeMedia,
  VERSION,
  writeBlobsAndFormat,
} from './record.ts';

/** A longer answer is not saved, so that memory use stays bounded. */
const REPLY_LIMIT = 2_000_000;

export interface SaveResult {
  readonly sessionId?: string;
  readonly notices: readonly string[];
}

export const NOT_SAVED: SaveResult = { notices: [] };

interface OneShotOptions {
  readonly home: string;
  readonly clock: Clock;
  readonly version: string;
  /** Without symbolic links. */
  readonly cwd: string;
  readonly id: string;
}

interface RunRecords extends Required<Omit<History, 'appendDelta' | 'compact' | 'keepOutput'>> {
  readonly records: readonly (TurnRecord & { readonly at: number })[];
  readonly loss: string | undefined;
  readonly isAnswered: boolean;
}

export function createRunRecords(
  { now }: Clock,
  earlier: { readonly contents: readonly StoredContent[]; readonly compactions: readonly Compaction[] },
): RunRecords {
  const { compactions } = earlier;
  const contents = [...earlier.contents];
  const records: (TurnRecord & { readonly at: number })[] = [];
  let loss: string | undefined;
  return {
    contents,
    compactions,
    records,
    replyLimit: REPLY_LIMIT,
    get loss() {
      return loss;
    },
    get isAnswered() {
      return records.some(({ kind }) => kind === 'reply' || kind === 'call');
    },
    async append(record) {
      contents.push(record.content);
      records.push({ ...record, at: now() });
    },
    dropReply() {
      loss = 'this run was not saved: the answer is longer than 2 million characters';
    },
  };
}

/** The file is written in one write, so it is complete or absent. */
export function createOneShotHistory(place: OneShotOptions) {
  const run = createRunRecords(place.clock, { contents: [], compactions: [] });
  let setup: KeptSetup = {};
  return {
    id: place.id,
    contents: run.contents,
    replyLimit: run.replyLimit,
    append: run.append,
    dropReply: run.dropReply,
    keepSetup(chosen: KeptSetup) {
      setup = chosen;
    },
    /** Saves nothing if the model did not answer. */
    async save(): Promise<SaveResult> {
      if (run.loss !== undefined) return { notices: [run.loss] };
      if (!run.isAnswered) return NOT_SAVED;
      try {
        const text = await formatSession(place, setup, run.records);
        writeAtomicSync(join(place.home, 'sessions', formatFileName(run.records[0]?.at ?? 0, place.id)), text);
        return { sessionId: place.id, notices: [] };
      } catch (thrown) {
        const { formatSaveError } = await import('./record.ts');
        return { notices: [`this run was not saved: ${formatSaveError(thrown)}`] };
      }
    },
  };
}

async function formatSession(
  { id, cwd, version, home }: OneShotOptions,
  chosen: KeptSetup,
  records: RunRecords['records'],
): Promise<string> {
  const [first] = records;
  if (first === undefined) return '';
  const title = deriveTitle(first.content);
  let text = formatHeader({ v: VERSION, id, at: first.at, cwd, by: 'prompt', gmn: version, title });
  text += encodeRecord({ seq: 1, at: first.at, state: { turn: 0 }, body: { kind: 'setup', chosen } });
  let model: string | undefined;
  for (const [index, { at, ...body }] of records.entries()) {
    if ('model' in body) model = body.model;
    const line = { seq: index + 2, at, state: { turn: 1, model }, body };
    text += hasLargeMedia(body) ? await writeBlobsAndFormat(line, await openBlobs(home)) : encodeRecord(line);
  }
  return text;
}

/** Loaded only for a run with large media. */
async function openBlobs(home: string): Promise<BlobStore> {
  const { createBlobStore } = await import('../platform/files/blobs.ts');
  return createBlobStore(join(home, 'blobs'));
}
