import { basename, dirname, join } from 'node:path';
import type { App } from '../../core/app.ts';
import { createSerial } from '../../core/async.ts';
import { AppError } from '../../core/error.ts';
import { type DirectoryHandle, detectHandleMode, openDirectoryHandle } from '../../platform/files/directory-handle.ts';
import { realPath } from '../../platform/files/path.ts';
import { readDirectory, readPathStatus } from '../../platform/files/read.ts';
import { type OpenedFile, openRegularFile } from '../../platform/files/regular-file.ts';
import {
  makePrivateDirectory,
  removeEmptyDirectory,
  removeFile,
  removeFiles,
  syncDirectory,
  writeAtomic,
  writeDurably,
} from '../../platform/files/write.ts';
import { randomId } from '../../platform/runtime/random-id.ts';
import { errorCode, errorReason } from '../../platform/runtime/system.ts';
import type { RunPaths } from '../output/run-file.ts';
import { formatPlan, type Plan, tryParsePlan } from './plan.ts';

export type PlanStore = ReturnType<typeof createPlanStore>;

export interface StoredFile {
  readonly path: string;
  readonly name: string;
}

const PLAN = 'plan.json';
const MAX_PLAN_BYTES = 10_000_000;

/** What a process that was killed while it wrote the plan leaves. */
const TEMPORARY = /^\.plan\.json\.\d+\.[\da-z]+\.tmp$/;
/** Only files with names that gmn gives are ever removed. */
const SHARD = /^\d{6,16}(?:\.rows)?\.jsonl$/;

function toDigits(number: number): string {
  return String(number).padStart(6, '0');
}

/** Where a plan is, and where gmn's home has the tokens of the plans that it made. */
export interface PlanPlace {
  readonly path: string;
  readonly tokens: string;
}

export function locatePlan({ plan }: RunPaths, { homes }: Pick<App, 'homes'>): PlanPlace {
  return { path: plan, tokens: join(homes().gmn, 'batch-plans') };
}

type FreshPlan = Pick<Plan, 'runId' | 'settings'>;

/** If there is no plan, creates one from `fresh`, or returns undefined. Throws AppError `usage` for one that is not this run's. */
export function openPlan(place: PlanPlace, fresh: FreshPlan): Promise<PlanStore>;
export function openPlan(place: PlanPlace): Promise<PlanStore | undefined>;
export async function openPlan({ path, tokens }: PlanPlace, fresh?: FreshPlan): Promise<PlanStore | undefined> {
  const directory = await openPlanDirectory(path, fresh !== undefined);
  if (directory === undefined) return undefined;
  try {
    const before = await readPlan(directory);
    if (before !== undefined && readPathStatus(join(tokens, before.token))?.kind !== 'file') {
      throw notOwnError(directory.path, `${tokens} does not know it`, ' If you copied the run here, copy that, too.');
    }
    if (before !== undefined && fresh !== undefined && before.runId !== fresh.runId) {
      throw new AppError('usage', `${directory.path} belongs to another run`, {
        hint: `Remove that directory. Jobs that are still in flight are named gmn-${before.runId}-…`,
      });
    }
    const plan = before ?? (fresh && (await createPlan(fresh, tokens)));
    if (plan === undefined) {
      await directory.close();
      return undefined;
    }
    const store = createPlanStore(directory, plan, tokens);
    // Written before any shard, so that after a crash the directory is known to be gmn's.
    if (before === undefined) await store.update((unchanged) => unchanged);
    return store;
  } catch (thrown) {
    await directory.close();
    throw thrown;
  }
}

/** Its token is kept first: a plan without one is not gmn's. */
async function createPlan(fresh: FreshPlan, tokens: string): Promise<Plan> {
  const token = randomId();
  await makePrivateDirectory(tokens);
  await writeAtomic(join(tokens, token), `${fresh.runId}\n`, { mode: 0o600 });
  return { isComplete: false, lastNumber: 0, shards: [], token, ...fresh };
}

async function openPlanDirectory(path: string, isNeeded: boolean): Promise<DirectoryHandle | undefined> {
  const real = join(realPath(dirname(path)) ?? dirname(path), basename(path));
  if (isNeeded) await makePrivateDirectory(real);
  let directory: DirectoryHandle;
  try {
    directory = await openDirectoryHandle(real, detectHandleMode());
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT' && !isNeeded) return undefined;
    throw errorCode(thrown) === 'EMOVED' ? notOwnError(real, 'it is a link') : notOwnError(real, errorReason(thrown));
  }
  if (readPathStatus(directory.at('.'))?.isOurs) return directory;
  await directory.close();
  throw notOwnError(real, 'it belongs to another user');
}

function notOwnError(path: string, why: string, advice = ''): AppError {
  return new AppError('usage', `${path} is not a directory that gmn has made: ${why}`, {
    hint: `Move it away, or use another --output-file.${advice}`,
  });
}

async function readPlan(directory: DirectoryHandle): Promise<Plan | undefined> {
  const text = await readPlanText(directory);
  if (text === undefined) {
    const names = (await readDirectory(directory.at('.'), directory.path)).map(({ name }) => name);
    if (names.every((name) => TEMPORARY.test(name))) return undefined;
    throw notOwnError(directory.path, `it has files, and no ${PLAN}`);
  }
  const plan = tryParsePlan(text);
  if (plan !== undefined) return plan;
  throw new AppError('usage', `${join(directory.path, PLAN)} cannot be read: it says which rows are in flight`, {
    hint: 'It may be from a newer gmn. To give these rows up, remove the directory; their jobs are in AI Studio.',
  });
}

/** Undefined if there is none; an empty text, which is no plan, if it cannot be read. */
async function readPlanText(directory: DirectoryHandle): Promise<string | undefined> {
  let file: OpenedFile | undefined;
  try {
    file = await openRegularFile(directory, PLAN);
    if (file === undefined) return undefined;
    return file.size > MAX_PLAN_BYTES ? '' : Buffer.from(await file.read(0, file.size)).toString('utf8');
  } catch {
    return '';
  } finally {
    await file?.close();
  }
}

/** `<out>.batch`: the directory that says which rows are in flight at the service. It stays open, so that no link can take its place. */
function createPlanStore(directory: DirectoryHandle, plan: Plan, tokens: string) {
  let current = plan;
  const inOrder = createSerial();
  const locateFile = (name: string): StoredFile => ({ path: directory.at(name), name: join(directory.path, name) });
  /** The requests of a shard, as they are uploaded. */
  const locateRequests = (number: number) => locateFile(`${toDigits(number)}.jsonl`);
  /** The rows they belong to, in the same order. */
  const locateRows = (number: number) => locateFile(`${toDigits(number)}.rows.jsonl`);
  /** On disk when it resolves. Changes are made one after the other. */
  const update = (change: (plan: Plan) => Plan): Promise<Plan> =>
    inOrder(async () => {
      const next = change(current);
      await writePlan(directory, next);
      current = next;
      return next;
    });
  return {
    directory: directory.path,
    get plan(): Plan {
      return current;
    },
    update,
    locateRequests,
    locateRows,
    async drop(number: number): Promise<void> {
      await update((plan) => ({ ...plan, shards: plan.shards.filter((shard) => shard.number !== number) }));
      await directory.verify();
      await removeFile(locateRequests(number).path);
      await removeFile(locateRows(number).path);
    },
    /** Removes files that an earlier run left. Not while shards are being filled. */
    async prune(): Promise<void> {
      const kept = new Set(current.shards.map(({ number }) => toDigits(number)));
      await removeFiles(
        directory,
        (name) => TEMPORARY.test(name) || (SHARD.test(name) && !kept.has(name.split('.')[0] ?? '')),
      );
    },
    remove: () =>
      inOrder(async () => {
        await removeFiles(directory, (name) => TEMPORARY.test(name) || SHARD.test(name));
        // The plan last: without it, files that are left behind do no harm.
        await removeFiles(directory, (name) => name === PLAN);
        await removeFile(join(tokens, current.token));
        await directory.close();
        await removeEmptyDirectory(directory.path);
      }),
    close: () => directory.close(),
  };
}

async function writePlan(directory: DirectoryHandle, plan: Plan): Promise<void> {
  try {
    await directory.verify();
    await writeDurably(directory.at(PLAN), formatPlan(plan));
    await syncDirectory(directory.at('.'));
  } catch (cause) {
    throw new AppError('config', `cannot write ${join(directory.path, PLAN)}: ${errorReason(cause)}`, {
      cause,
      hint: 'Check the free space and the permissions there.',
    });
  }
}
