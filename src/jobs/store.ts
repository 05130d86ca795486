import { createLimit, createSerial } from '../core/async.ts';
import type { Clock } from '../core/io.ts';
import { tryParseJson } from '../core/json.ts';
import { DAY_MS } from '../core/text/format.ts';
import { isUuid } from '../core/text/names.ts';
import type { RecordDirectory, RecordFile } from '../platform/files/records.ts';
import { checkProcess, identifySelf } from '../platform/process/identity.ts';
import {
  compareNewestFirst,
  formatJobLine,
  hasEnded,
  type JobRecord,
  type JobView,
  toEndFields,
  tryParseJobRecord,
} from './record.ts';

const MAX_AGE_MS = 7 * DAY_MS;
const STRAY_MS = DAY_MS;
export const MAX_JOBS = 1000;
const MAX_BYTES = 200_000_000;
/** A record is a few lines; a larger file is not ours. */
const MAX_RECORD_BYTES = 16_000_000;
/** Well below the limit of open files, which is low on some systems. */
const MAX_OPEN_FILES = 64;

export type JobStore = ReturnType<typeof createJobStore>;

/**
 * Shared by all servers and commands of this user; jobs outlive the process that ran them. Each job has two files: `<id>.jsonl` gets a line for each change of the record, and the last one counts; `<id>.txt`
 * has the output. Lines are appended because replacing a file makes many systems flush to disk at once, while other
 * calls wait.
 */
export function createJobStore(files: RecordDirectory, clock: Pick<Clock, 'now'>) {
  const save = async (record: JobRecord): Promise<void> =>
    files.append(`${record.job_id}.jsonl`, formatJobLine(record, identifySelf()));
  /** A killed process writes no end; its last write is the best known time. */
  const readLastChange = async (id: string): Promise<number> => {
    const found = await Promise.all([files.status(`${id}.jsonl`), files.status(`${id}.txt`)]);
    return Math.floor(Math.max(...found.map((status) => status?.changedAt ?? 0)));
  };
  const read = async (id: string): Promise<ReturnType<typeof tryParseJobRecord>> =>
    findLastJob((await files.read(`${id}.jsonl`, MAX_RECORD_BYTES)) ?? '');
  const load = async (id: string): Promise<JobRecord | undefined> => {
    // Only our own ids become part of a path.
    const found = isUuid(id) ? await read(id) : undefined;
    if (found === undefined || found.record.job_id !== id) return undefined;
    // The service goes on with research, whatever becomes of the process that asked for it.
    if (hasEnded(found.record) || found.record.kind === 'research') return found.record;
    if (found.owner !== undefined && checkProcess(found.owner) !== 'gone') return found.record;
    // The job and its process may have ended since the first read.
    const last = (await read(id))?.record ?? found.record;
    if (hasEnded(last)) return last;
    const ended = toInterrupted(last, await readLastChange(id));
    await save(ended).catch(() => {});
    return ended;
  };
  /** Ended jobs no longer change. */
  let known: ReadonlyMap<string, JobRecord> = new Map();
  const list = async (): Promise<readonly JobRecord[]> => {
    const ids = (await files.names()).flatMap((name) => (name.endsWith('.jsonl') ? [name.slice(0, -6)] : []));
    const limit = createLimit({ maxRunning: MAX_OPEN_FILES });
    const found = await Promise.all(ids.map((id) => known.get(id) ?? limit.run(() => load(id))));
    const records = found.filter((record) => record !== undefined);
    known = new Map(records.filter(hasEnded).map((record) => [record.job_id, record]));
    return records.sort(compareNewestFirst);
  };
  return {
    save,
    /** On disk when it resolves, even if the power fails. Rejects if it cannot be written. */
    async saveDurably(record: JobRecord): Promise<void> {
      await files.append(`${record.job_id}.jsonl`, formatJobLine(record, identifySelf()), { isSynced: true });
    },
    /** The whole output; it replaces what an earlier process may have written in part. */
    async saveOutput(id: string, text: string): Promise<void> {
      await files.remove(`${id}.txt`);
      await files.append(`${id}.txt`, text, { isSynced: true });
    },
    /** Asks the process that runs the job to cancel it. */
    requestCancel: (id: string) => files.append(`${id}.cancel`, ''),
    isCancelRequested: async (id: string) => (await files.status(`${id}.cancel`)) !== undefined,
    list,
    openWriter: (id: string) => createJobWriter(files, id, save),
    /** Reports a job whose process died while running as failed with INTERRUPTED. */
    async find(id: string): Promise<JobView | undefined> {
      const record = await load(id);
      return record && { record, output: (await files.read(`${id}.txt`)) ?? '' };
    },
    /** Removes ended jobs beyond the limits of age, number and size, and files that belong to no job; never a report that nobody has got. Never rejects. */
    async prune(): Promise<void> {
      let count = 0;
      let bytes = 0;
      const records = await list();
      await removeStrays(files, new Set(records.map(({ job_id }) => job_id)), clock.now());
      for (const record of records) {
        const { job_id: id, created_at } = record;
        count += 1;
        bytes += (await files.status(`${id}.txt`))?.size ?? 0;
        const isOld = clock.now() - Date.parse(created_at) > MAX_AGE_MS;
        const isOpen = !hasEnded(record) || (record.kind === 'research' && record.is_delivered !== true);
        if (isOpen || (!isOld && count <= MAX_JOBS && bytes <= MAX_BYTES)) continue;
        await Promise.all(['jsonl', 'txt', 'cancel'].map((ending) => files.remove(`${id}.${ending}`)));
      }
    },
  };
}

/** Output in memory and, in the order of the calls, on disk. Nothing rejects: a full disk does not affect the memory. */
function createJobWriter(files: RecordDirectory, id: string, saveQueued: (record: JobRecord) => Promise<void>) {
  let recordFile: RecordFile | undefined;
  let outputFile: RecordFile | undefined;
  let text = '';
  let isWhole = true;
  const inOrder = createSerial();
  const attempt = (write: () => Promise<void>): Promise<void> =>
    inOrder(() =>
      write().catch(() => {
        isWhole = false;
      }),
    );
  const write = async (record: JobRecord): Promise<void> => {
    // Queued jobs have no open file, since there may be any number of them.
    if (record.status === 'running') recordFile ??= await files.open(`${id}.jsonl`);
    if (recordFile === undefined) return saveQueued(record);
    recordFile.append(formatJobLine(record, identifySelf()));
  };
  return {
    text: () => text,
    add(delta: string): void {
      text += delta;
      void attempt(async () => {
        outputFile ??= await files.open(`${id}.txt`);
        outputFile.append(delta);
      });
    },
    /** Writes the record after the output so far; false if this or an earlier write failed. */
    async save(record: JobRecord): Promise<boolean> {
      await attempt(() => write(record));
      if (hasEnded(record)) await Promise.all([recordFile?.close(), outputFile?.close()]);
      return isWhole;
    },
    waitForWrites: (): Promise<void> => inOrder(async () => {}),
  };
}

/** After a day nobody can be writing half-written or damaged files any more. */
async function removeStrays(files: RecordDirectory, known: ReadonlySet<string>, now: number): Promise<void> {
  for (const name of await files.names()) {
    if (known.has(name.replace(/\.(?:jsonl|txt|cancel)$/, ''))) continue;
    const changedAt = (await files.status(name))?.changedAt ?? now;
    if (now - changedAt > STRAY_MS) await files.remove(name);
  }
}

/** Skips a line that was cut off: the one before it counts. */
function findLastJob(text: string): ReturnType<typeof tryParseJobRecord> {
  for (const line of text.split('\n').reverse()) {
    const job = tryParseJobRecord(tryParseJson(line));
    if (job !== undefined) return job;
  }
  return undefined;
}

function toInterrupted(record: JobRecord, at: number): JobRecord {
  return {
    ...record,
    status: 'failed',
    ...toEndFields(record, at),
    error: 'the server that ran it ended before the job did',
    code: 'INTERRUPTED',
  };
}
