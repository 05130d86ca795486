import { join } from 'node:path';
import { AppError } from '../../core/error.ts';
import { isObject, type JsonObject, toJsonObject, tryParseJson } from '../../core/json.ts';
import { readFileState } from '../../platform/files/read.ts';
import {
  makePrivateDirectory,
  removeEmptyDirectory,
  removeFile,
  removeFiles,
  writeAtomic,
} from '../../platform/files/write.ts';

const FORMAT = 'gmn-batch-plan';
const VERSION = 1;

/**
 * - `planned`: its files are on disk here.
 * - `uploaded`: the service has the file of its requests.
 * - `creating`: its job is about to be created. After a crash, only the service knows whether it was.
 * - `created`: the service works on `job`, or has ended it.
 * - `cancelled`: another program cancelled the job; the next run asks again.
 * - `collected`: all its rows are in the output or in another shard; what is left at the service is to be deleted.
 */
export type ShardState = 'planned' | 'uploaded' | 'creating' | 'created' | 'cancelled' | 'collected';

/** Rows that are one job. */
export interface Shard {
  /** From 1; never used twice. */
  readonly number: number;
  readonly model: string;
  readonly rows: number;
  readonly bytes: number;
  /** How often these rows have been asked for, this time included. */
  readonly attempt: number;
  readonly state: ShardState;
  /** What its rows may cost at most, in US dollars, if that is known. */
  readonly cost?: number;
  /** `files/<id>` of the requests. */
  readonly file?: string;
  /** When the job was about to be created, in milliseconds since the epoch. */
  readonly intentAt?: number;
  /** `batches/<id>` */
  readonly job?: string;
  /** `files/<id>` of the results. */
  readonly results?: string;
}

export interface Plan {
  readonly runId: string;
  /** Whether every row of the input has been put into a shard. */
  readonly isComplete: boolean;
  readonly lastNumber: number;
  /** What is needed to finish rows without the command line they were asked with. */
  readonly settings: JsonObject;
  readonly shards: readonly Shard[];
}

/** `<out>.batch`: the directory that says which rows are in flight at the service. */
export interface PlanStore {
  readonly directory: string;
  readonly plan: Plan;
  /** On disk when it resolves. Changes are made one after the other. */
  update(change: (plan: Plan) => Plan): Promise<Plan>;
  requestsPath(number: number): string;
  rowsPath(number: number): string;
  /** Takes a shard out of the plan, and removes its files. */
  drop(number: number): Promise<void>;
  /** Removes files that an earlier run left. Not while shards are being filled. */
  prune(): Promise<void>;
  /** Removes everything. */
  remove(): Promise<void>;
}

function toPlanDirectory(output: string): string {
  return `${output}.batch`;
}

/** The name of a job. Unique, so that it can be looked up in the list of all jobs. */
export function toDisplayName(runId: string, { number, attempt }: Pick<Shard, 'number' | 'attempt'>): string {
  return `gmn-${runId}-${number}${attempt === 1 ? '' : `-${attempt}`}`;
}

/**
 * Reads the plan beside an output. If there is none, creates one from `fresh`, or returns undefined. Throws AppError `usage`
 * if it cannot be read, or belongs to another run.
 */
export function openPlan(output: string, fresh: Pick<Plan, 'runId' | 'settings'>): Promise<PlanStore>;
export function openPlan(output: string): Promise<PlanStore | undefined>;
export async function openPlan(
  output: string,
  fresh?: Pick<Plan, 'runId' | 'settings'>,
): Promise<PlanStore | undefined> {
  const directory = toPlanDirectory(output);
  const path = join(directory, 'plan.json');
  const before = await readPlan(path);
  if (before !== undefined && fresh !== undefined && before.runId !== fresh.runId) {
    throw new AppError('usage', `${directory} belongs to another run of ${output}`, {
      hint: `Remove that directory. Jobs that are still in flight are named gmn-${before.runId}-…`,
    });
  }
  const plan = before ?? (fresh && { isComplete: false, lastNumber: 0, shards: [], ...fresh });
  if (plan === undefined) return undefined;
  await makePrivateDirectory(directory);
  let current: Plan = plan;
  let writing: Promise<unknown> = Promise.resolve();
  const requestsPath = (number: number): string => join(directory, `${toDigits(number)}.jsonl`);
  const rowsPath = (number: number): string => join(directory, `${toDigits(number)}.rows.jsonl`);
  const update = (change: (plan: Plan) => Plan): Promise<Plan> => {
    const written = writing
      .catch(() => {})
      .then(async () => {
        const next = change(current);
        const document = { format: FORMAT, version: VERSION, ...next };
        await writeAtomic(path, `${JSON.stringify(document, null, 1)}\n`, { mode: 0o600 });
        current = next;
        return next;
      });
    writing = written;
    return written;
  };
  // Written before any shard, so that after a crash the directory is known to be gmn's.
  if (before === undefined) await update((unchanged) => unchanged);
  return {
    directory,
    get plan() {
      return current;
    },
    update,
    async drop(number) {
      await update((plan) => ({ ...plan, shards: plan.shards.filter((shard) => shard.number !== number) }));
      await removeFile(requestsPath(number));
      await removeFile(rowsPath(number));
    },
    requestsPath,
    rowsPath,
    async prune() {
      const kept = new Set(current.shards.map(({ number }) => toDigits(number)));
      await removeFiles(directory, (name) => !name.startsWith('plan.json') && !kept.has(name.split('.')[0] ?? ''));
    },
    async remove() {
      await writing.catch(() => {});
      await removeFiles(directory, (name) => name.endsWith('.jsonl'));
      // The plan last: without it, files that are left behind do no harm.
      await removeFiles(directory, () => true);
      await removeEmptyDirectory(directory);
    },
  };
}

function toDigits(number: number): string {
  return String(number).padStart(6, '0');
}

async function readPlan(path: string): Promise<Plan | undefined> {
  const state = await readFileState(path);
  if (state.kind === 'absent') return undefined;
  const value = state.kind === 'text' ? tryParseJson(state.text) : undefined;
  if (isObject(value) && value.format === FORMAT && value.version === VERSION && Array.isArray(value.shards)) {
    return {
      runId: String(value.runId),
      isComplete: value.isComplete === true,
      lastNumber: Number(value.lastNumber),
      settings: toJsonObject(value.settings),
      // Written by gmn, as `Shard`.
      shards: value.shards as readonly Shard[],
    };
  }
  throw new AppError('usage', `${path} cannot be read: it says which rows are in flight`, {
    hint: 'It may be from a newer gmn. To give these rows up, remove the directory; their jobs are in AI Studio.',
  });
}

export function replaceShard(plan: Plan, shard: Shard): Plan {
  return { ...plan, shards: plan.shards.map((other) => (other.number === shard.number ? shard : other)) };
}

export function isInFlight({ state }: Shard): boolean {
  return state !== 'collected' && state !== 'cancelled';
}
