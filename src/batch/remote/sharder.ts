import { AppError } from '../../core/error.ts';
import { plural } from '../../core/text/format.ts';
import type { PendingRow } from '../rows/row-engine.ts';
import { toRequestKey } from './collect.ts';
import type { CostLimit, RemoteRun } from './options.ts';
import { isInFlight, type Plan, type Shard } from './plan.ts';
import { openShardWriter, type ShardWriter } from './shard-file.ts';

interface SharderOptions {
  readonly run: RemoteRun;
  readonly submit: (shard: Shard) => Promise<void>;
  readonly waitForRoom: () => Promise<void>;
}

interface OpenShard {
  readonly number: number;
  readonly model: string;
  readonly writer: ShardWriter;
  /** Undefined if the price is not known. */
  cost: number | undefined;
}

/** How many shards are filled at a time: each model that rows name has one. */
const MAX_OPEN = 16;

export function createSharder({ run, submit, waitForRoom }: SharderOptions) {
  const { store, codec, limits, budget } = run;
  const open = new Map<string, OpenShard>();

  async function seal(shard: OpenShard): Promise<void> {
    const { number, model, writer, cost } = shard;
    await writer.close();
    open.delete(model);
    const { rows, bytes } = writer;
    const sealed: Shard = { number, model, rows, bytes, attempt: 1, state: 'planned', cost };
    while (store.plan.shards.filter(isInFlight).length >= limits.jobs) await waitForRoom();
    // Most rows cost less than their maximum, so jobs that end may free some of the budget.
    while (!fitsBudget(cost ?? 0, store.plan, budget)) {
      if (!store.plan.shards.some(isInFlight)) throw budgetError(sealed, budget);
      await waitForRoom();
    }
    await store.update((plan) => ({
      ...plan,
      lastNumber: Math.max(plan.lastNumber, number),
      shards: [...plan.shards, sealed],
    }));
    await submit(sealed);
  }

  async function openShard(model: string, lineBytes: number, cost: number): Promise<OpenShard> {
    const before = open.get(model);
    if (before !== undefined) {
      const { rows, bytes } = before.writer;
      const canPay = fitsBudget((before.cost ?? 0) + cost, store.plan, budget);
      if (rows < limits.rows && bytes + lineBytes < limits.bytes && canPay) return before;
      await seal(before);
    }
    const [oldest] = open.values();
    if (oldest !== undefined && open.size >= MAX_OPEN) await seal(oldest);
    const number = run.nextNumber();
    const shard = { number, model, writer: await openShardWriter(store, number, run.redact), cost: 0 };
    open.set(model, shard);
    return shard;
  }

  return {
    /** Waits while too many jobs are in flight. */
    async add(row: PendingRow): Promise<void> {
      const prepared = await codec.prepare(row, run.signal);
      if (prepared instanceof AppError) {
        const { id, index, line } = row;
        return run.finish({ id, index, line, result: prepared });
      }
      if (budget !== undefined && prepared.cost === undefined) throw unknownPriceError(prepared.model);
      const line = prepared.line(toRequestKey(store.plan.runId, row.index));
      const shard = await openShard(prepared.model, Buffer.byteLength(line), prepared.cost ?? 0);
      shard.cost = shard.cost === undefined || prepared.cost === undefined ? undefined : shard.cost + prepared.cost;
      await shard.writer.add(row, line);
    },
    async finish(): Promise<void> {
      for (const shard of [...open.values()]) await seal(shard);
    },
    /** Closes the open files; rows that are in no job are asked by the next run. */
    async close(): Promise<void> {
      for (const { writer } of open.values()) await writer.close();
      open.clear();
    },
  };
}

/** Whether the budget covers `cost` besides all that is in flight. */
export function fitsBudget(cost: number, { shards }: Plan, budget: CostLimit | undefined): boolean {
  if (budget === undefined) return true;
  const inFlight = shards.filter(isInFlight).reduce((sum, shard) => sum + (shard.cost ?? 0), 0);
  return budget.spent() + inFlight + cost <= budget.max;
}

export function unknownPriceError(model: string): AppError {
  return new AppError('limit', `--max-cost: the price of ${model} is not known`, {
    hint: 'Set it under "prices" in the settings, or leave --max-cost out.',
  });
}

export function budgetError({ rows }: Shard, budget: CostLimit | undefined): AppError {
  const [max, spent] = [budget?.max ?? 0, budget?.spent() ?? 0];
  const what = `--max-cost ${max}: $${spent.toFixed(4)} spent, and the next ${plural(rows, 'row')} could cost more than is left`;
  return new AppError('limit', what, {
    hint: 'Run the same command with a higher --max-cost, or a lower --max-output-tokens: it continues where it stopped.',
  });
}
