import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { formatCount } from '../core/text/format.ts';
import type { BilledCall } from '../core/usage.ts';
import { openRowEngine } from './local/open.ts';
import type { Journal } from './output/journal.ts';
import {
  createRowCodec,
  locatePlan,
  toBatchPrices,
  toPlanSettings,
  toRemoteLimits,
  toRemoteTiming,
} from './remote/codec.ts';
import { openBatchService } from './remote/open-service.ts';
import { openPlan, type PlanStore } from './remote/plan-store.ts';
import { createRemoteEngine, type RemoteOptions } from './remote/remote-engine.ts';
import { settleRemote } from './remote/settle.ts';
import type { Prices } from './requests/price.ts';
import type { BatchOptions, BatchSetup } from './requests/setup.ts';
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
  /** The service works on the rows even if this process ends. */
  readonly isRemote: boolean;
  readonly state: () => { readonly pausedMs?: number; readonly inFlight?: string };
  end(): Promise<void>;
  close(): Promise<void>;
}

interface EngineParts {
  readonly app: App;
  readonly setup: BatchSetup;
  readonly journal: Journal;
  readonly prices: Prices;
  readonly onCall: (call: BilledCall) => void;
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
  const { journal } = parts;
  const store = await openPlan(locatePlan(journal.paths, parts.app));
  try {
    // The output was restarted since that plan was made.
    const isOther = store?.plan.runId !== journal.runId;
    if (store !== undefined && isOther) await endEarlier(store, options, parts, 'drop');
    else if (store !== undefined && options.engine !== 'api') await endEarlier(store, options, parts, 'keep');
  } finally {
    await store?.close();
  }
  return options.engine === 'api' ? openRemoteEngine(options, parts) : openLocalEngine(options, parts);
}

function openLocalEngine(options: EngineOptions, { app, setup, notify }: EngineParts): OpenedEngine {
  const { clock } = app;
  const { engine, throttle } = openRowEngine(options, { app, setup, notify });
  return {
    engine,
    isRemote: false,
    state: () => ({ pausedMs: throttle.pausedUntil - clock.now() }),
    end: async () => {},
    close: async () => {},
  };
}

async function openRemoteEngine(options: EngineOptions, parts: EngineParts): Promise<OpenedEngine> {
  const { app, setup, journal, prices } = parts;
  const fresh = { runId: journal.runId, settings: toPlanSettings(setup) };
  const service = await openBatchService(app, setup.opened, setup.retries);
  const store = await openPlan(locatePlan(journal.paths, app), fresh);
  let inFlight: string | undefined;
  let spent = 0;
  // An answer that cannot be used is billed, too.
  const onCall = (call: BilledCall): void => {
    parts.onCall(call);
    spent += prices.sum([call]) ?? (options.demo ? 0 : (prices.estimate(call.usage, call.model) ?? 0));
  };
  const engine = createRemoteEngine({
    ...toRemoteOptions(options, { ...parts, onCall }, { store, service }),
    mode: 'run',
    budget: options.maxCost === undefined ? undefined : { max: options.maxCost, spent: () => spent },
    onStatus({ jobs, rows }) {
      inFlight = `${formatCount(rows)} in ${formatCount(jobs)} ${jobs === 1 ? 'job' : 'jobs'}`;
    },
  });
  return {
    engine,
    isRemote: true,
    state: () => ({ inFlight }),
    end: store.remove,
    close: store.close,
  };
}

function toRemoteOptions(
  options: EngineOptions,
  { app, setup, prices, onCall, notify }: EngineParts,
  parts: Pick<RemoteOptions, 'store' | 'service'>,
): Omit<RemoteOptions, 'mode'> {
  return {
    ...parts,
    ...{ clock: app.clock, notify, redact: setup.redact },
    codec: createRowCodec(setup, { prices: toBatchPrices(prices), onCall, clock: app.clock }),
    limits: toRemoteLimits(options),
    timing: toRemoteTiming(setup.opened.retryBaseMs, options.demo ?? false),
  };
}

/** `drop`: the answers belong to an output that was restarted. */
async function endEarlier(
  store: PlanStore,
  options: EngineOptions,
  parts: EngineParts,
  answers: 'keep' | 'drop',
): Promise<void> {
  const { app, setup, journal, notify } = parts;
  if (store.plan.shards.length === 0) return store.remove();
  const service = await openBatchService(app, setup.opened, setup.retries);
  notify('ending the batch jobs of an earlier run first');
  const { cancelled, collected } = await settleRemote(toRemoteOptions(options, parts, { store, service }), {
    finish: async (row) => (answers === 'keep' ? journal.write(row) : undefined),
    ...{ sync: journal.sync, signal: app.signal },
  });
  const kept = answers === 'keep' ? 'collected' : 'dropped';
  notify(`${collected} of its jobs ${kept}, ${cancelled} cancelled`);
}
