import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { formatCount } from '../core/text/format.ts';
import { openRowEngine } from './local/open.ts';
import type { Journal } from './output/journal.ts';
import { createRowCodec } from './remote/codec.ts';
import { DEFAULT_LIMITS, type RemoteOptions, toRemoteTiming } from './remote/options.ts';
import { locatePlan, openPlan, type PlanStore } from './remote/plan-store.ts';
import { createRemoteEngine } from './remote/remote-engine.ts';
import { openBatchService } from './remote/service.ts';
import { settleRemote } from './remote/settle.ts';
import type { BatchOptions, BatchSetup } from './requests/batch-setup.ts';
import type { BatchCosts } from './requests/costs.ts';
import type { Engine } from './rows/row-engine.ts';

export interface EngineOptions extends Pick<BatchOptions, 'demo' | 'serviceTier'> {
  readonly engine?: 'local' | 'api';
  readonly concurrency?: number;
  readonly rpm?: number;
  readonly tpm?: number;
  readonly shardRows?: number;
  readonly ordered?: boolean;
  readonly dedupe?: boolean;
  readonly maxCost?: number;
}

export interface OpenedEngine {
  readonly engine: Engine;
  readonly state: () => { readonly pausedMs?: number; readonly inFlight?: string };
  /** The jobs of an engine whose service works on the rows even if this process ends. */
  readonly jobs?: Pick<PlanStore, 'remove' | 'close'>;
}

interface EngineParts {
  readonly app: App;
  readonly setup: BatchSetup;
  readonly journal: Journal;
  readonly costs: BatchCosts;
  readonly notify: (message: string) => void;
}

interface Refusal {
  readonly why: string;
  readonly hint: string;
}

const OWN_QUOTAS: Refusal = {
  why: 'the Batch API has quotas of its own',
  hint: 'Leave it out. How many jobs are in flight is set with --concurrency, how many rows each has with --shard-rows.',
};

const REFUSALS = {
  api: {
    ordered: {
      why: 'batch jobs end in any order',
      hint: 'Leave it out, and sort by "index" at the end: jq -sc \'sort_by(.index)[]\' out.jsonl',
    },
    dedupe: {
      why: 'a job has all its rows before the first is answered',
      hint: 'Leave it out, and remove equal rows from the input first; rows that are equal as lines: sort -u in.jsonl',
    },
    rpm: OWN_QUOTAS,
    tpm: OWN_QUOTAS,
    serviceTier: { why: 'a batch job costs half of the standard price and has no tiers', hint: 'Leave it out.' },
  },
  local: {
    shardRows: { why: 'only batch jobs have shards', hint: 'Leave it out, or add --engine api.' },
  },
} as const satisfies Record<string, { readonly [Name in keyof EngineOptions]?: Refusal }>;

export function checkEngine(options: EngineOptions): void {
  const { engine = 'local' } = options;
  for (const [name, { why, hint }] of Object.entries<Refusal>(REFUSALS[engine])) {
    const value = options[name as keyof EngineOptions];
    if (value === undefined || value === false) continue;
    const flag = `--${name.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)}`;
    throw new AppError('usage', `${flag} is not possible with --engine ${engine}: ${why}`, { hint });
  }
}

/** Rows that another engine has in flight are collected or cancelled first, so that none gets two answers. */
export async function openEngine(options: EngineOptions, parts: EngineParts): Promise<OpenedEngine> {
  const { app, journal } = parts;
  const isLocal = options.engine !== 'api';
  const place = locatePlan(journal.paths, app);
  const earlier = await openPlan(place);
  try {
    // The output was restarted since that plan was made.
    const isOther = earlier?.plan.runId !== journal.runId;
    if (earlier !== undefined && (isOther || isLocal)) await endEarlier(earlier, options, parts, isOther);
  } finally {
    await earlier?.close();
  }
  if (isLocal) {
    const { engine, throttle } = openRowEngine(options, parts);
    return { engine, state: () => ({ pausedMs: throttle.pausedUntil - app.clock.now() }) };
  }
  const { setup, costs } = parts;
  const service = await openBatchService(app, setup.opened, setup.retries);
  const store = await openPlan(place, { runId: journal.runId, settings: { schema: setup.schema?.document } });
  const spentBefore = costs.spent;
  let inFlight: string | undefined;
  const engine = createRemoteEngine({
    ...toRemoteOptions(options, parts),
    store,
    service,
    mode: 'run',
    budget:
      options.maxCost === undefined ? undefined : { max: options.maxCost, spent: () => costs.spent - spentBefore },
    onStatus({ jobs, rows }) {
      inFlight = `${formatCount(rows)} in ${formatCount(jobs)} ${jobs === 1 ? 'job' : 'jobs'}`;
    },
  });
  return { engine, state: () => ({ inFlight }), jobs: store };
}

function toRemoteOptions(
  { shardRows: rows = DEFAULT_LIMITS.rows, concurrency: jobs = DEFAULT_LIMITS.jobs, demo = false }: EngineOptions,
  { app: { clock }, setup, costs, notify }: EngineParts,
): Omit<RemoteOptions, 'store' | 'service' | 'mode'> {
  return {
    codec: createRowCodec(setup, costs, clock),
    redact: setup.redact,
    limits: { ...DEFAULT_LIMITS, rows, jobs },
    timing: toRemoteTiming(setup.opened.retryBaseMs, demo),
    clock,
    notify,
  };
}

/** `isOther`: the answers belong to an output that was restarted, so they are dropped. */
async function endEarlier(
  store: PlanStore,
  options: EngineOptions,
  parts: EngineParts,
  isOther: boolean,
): Promise<void> {
  const { app, setup, journal, notify } = parts;
  if (store.plan.shards.length === 0) return store.remove();
  const service = await openBatchService(app, setup.opened, setup.retries);
  notify('ending the batch jobs of an earlier run first');
  const { cancelled, collected } = await settleRemote(
    { ...toRemoteOptions(options, parts), store, service },
    { finish: isOther ? async () => {} : journal.write, sync: journal.sync, signal: app.signal },
  );
  notify(`${collected} of its jobs ${isOther ? 'dropped' : 'collected'}, ${cancelled} cancelled`);
}
