import { join } from 'node:path';
import { isObject, tryParseJson } from '../core/json.ts';
import { addUsage, type BilledCall, NO_USAGE, USAGE_KEYS, type Usage } from '../core/usage.ts';
import { readSize } from '../platform/files/directory-sync.ts';
import { readLineBatches, tryListFileNames } from '../platform/files/lines.ts';
import { tryRemoveSync, tryRenameSync } from '../platform/files/write-sync.ts';
import { USAGE_FILE, USAGE_KINDS, type UsageRecord } from './usage-log.ts';

export type UsageGrouping = 'day' | 'model' | 'directory';

export interface UsageRow {
  readonly name: string;
  readonly runs: number;
  readonly usage: Usage;
  /** In dollars, of the runs whose cost is known. */
  readonly cost: number;
  /** Runs whose cost is not known. */
  readonly unpriced: number;
}

/** In dollars; undefined if the cost of a call is not known. */
type SumCosts = (calls: readonly BilledCall[]) => number | undefined;

/** The log is rotated at about this many bytes, which is a hundred thousand runs. */
const ROTATE_BYTES = 16_000_000;
const KEPT_FILES = 3;
const OLDER = /^usage-\d+\.jsonl$/;

/** Every record since a time, oldest file first. Lines that cannot be read are skipped. Throws system errors. */
export async function* readUsage(home: string, since: number): AsyncGenerator<UsageRecord> {
  const names = tryListFileNames(home);
  const files = [...names.filter((name) => OLDER.test(name)).sort(), ...names.filter((name) => name === USAGE_FILE)];
  for (const file of files) {
    for await (const { lines } of readLineBatches(join(home, file))) {
      for (const line of lines) {
        const record = line === '' ? undefined : tryParseUsageRecord(tryParseJson(line));
        if (record !== undefined && record.at >= since) yield record;
      }
    }
  }
}

/** Undefined unless all of it is as `appendUsage` writes it: half of a run would look too cheap. */
export function tryParseUsageRecord(value: unknown): UsageRecord | undefined {
  if (!isObject(value) || !Array.isArray(value.calls)) return undefined;
  const { at, id, cwd } = value;
  const kind = USAGE_KINDS.find((each) => each === value.kind);
  if (!isTime(at) || kind === undefined || typeof id !== 'string' || typeof cwd !== 'string') return undefined;
  const calls = value.calls.map((call: unknown) => tryParseCall(call));
  return calls.every((call) => call !== undefined) && calls.length > 0 ? { at, kind, id, cwd, calls } : undefined;
}

function tryParseCall(value: unknown): BilledCall | undefined {
  if (!isObject(value) || !isObject(value.usage)) return undefined;
  const { model, at, backend, promptTokens, serviceTier, isBatch, usage } = value;
  if (typeof model !== 'string' || !isTime(at) || typeof backend !== 'string') return undefined;
  if (USAGE_KEYS.some((key) => usage[key] !== undefined && !isNonNegative(usage[key]))) return undefined;
  return {
    ...{ model, at, backend, usage },
    promptTokens: isNonNegative(promptTokens) ? promptTokens : undefined,
    serviceTier: typeof serviceTier === 'string' ? serviceTier : undefined,
    isBatch: isBatch === true ? isBatch : undefined,
  };
}

function isNonNegative(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

/** Milliseconds that a Date can hold. */
function isTime(value: unknown): value is number {
  return isNonNegative(value) && value <= 8.64e15;
}

export function createUsageTable(by: UsageGrouping, sumCosts: SumCosts) {
  const groups = new Map<string, UsageRow>();
  let total: UsageRow | undefined;
  return {
    add(record: UsageRecord) {
      for (const [name, calls] of splitRecord(record, by))
        groups.set(name, addRun(groups.get(name), name, calls, sumCosts));
      total = addRun(total, 'total', record.calls, sumCosts);
    },
    /** Days in order, other groups with the most expensive first. */
    rows: () => [...groups.values()].sort(by === 'day' ? compareNames : compareCosts),
    total: () => total,
  };
}

function splitRecord(
  { at, cwd, calls }: UsageRecord,
  by: UsageGrouping,
): readonly [name: string, calls: readonly BilledCall[]][] {
  if (by === 'directory') return [[cwd, calls]];
  if (by === 'day') return [[formatDay(at), calls]];
  return [...new Set(calls.map(({ model }) => model))].map((model) => [
    model,
    calls.filter((call) => call.model === model),
  ]);
}

/** `2026-11-17`, in the user's own time zone. */
function formatDay(at: number): string {
  const date = new Date(at);
  const [month, day] = [date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, '0'));
  return `${date.getFullYear()}-${month}-${day}`;
}

function addRun(
  before: UsageRow | undefined,
  name: string,
  calls: readonly BilledCall[],
  sumCosts: SumCosts,
): UsageRow {
  const { runs, usage, cost, unpriced } = before ?? { runs: 0, usage: NO_USAGE, cost: 0, unpriced: 0 };
  const more = sumCosts(calls);
  return {
    name,
    runs: runs + 1,
    usage: calls.reduce((sum, call) => addUsage(sum, call.usage), usage),
    cost: cost + (more ?? 0),
    unpriced: unpriced + (more === undefined ? 1 : 0),
  };
}

function compareNames(left: UsageRow, right: UsageRow): number {
  return left.name < right.name ? -1 : 1;
}

function compareCosts(left: UsageRow, right: UsageRow): number {
  return right.cost - left.cost || sumTokens(right.usage) - sumTokens(left.usage) || compareNames(left, right);
}

export function sumTokens({
  totalTokenCount,
  promptTokenCount = 0,
  candidatesTokenCount = 0,
  thoughtsTokenCount = 0,
}: Usage): number {
  return totalTokenCount ?? promptTokenCount + candidatesTokenCount + thoughtsTokenCount;
}

/** Starts a new log if this one is long, and removes the oldest. Never throws. */
export function rotateUsage(home: string, now: number): void {
  const file = join(home, USAGE_FILE);
  if ((readSize(file) ?? 0) < ROTATE_BYTES) return;
  // The time is in the name, so two processes that rotate at once do not replace each other's file.
  tryRenameSync(file, join(home, `usage-${now}.jsonl`));
  const older = tryListFileNames(home).filter((name) => OLDER.test(name));
  for (const name of older.sort().slice(0, -KEPT_FILES)) tryRemoveSync(join(home, name));
}
