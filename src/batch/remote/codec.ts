import { join } from 'node:path';
import { formatBatchLine } from '../../api/batches.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { Clock } from '../../core/io.ts';
import type { BilledCall } from '../../core/usage.ts';
import type { AnswerFormat } from '../../engine/answer/output-schema.ts';
import { DEFAULT_OUTPUT } from '../../engine/limits/budget.ts';
import { toBilledCall } from '../../engine/model/model.ts';
import type { RunPaths } from '../output/run-file.ts';
import type { Prices } from '../requests/price.ts';
import { guessTokens } from '../requests/row-request.ts';
import type { BatchSetup } from '../requests/setup.ts';
import type { RemoteTiming } from './jobs.ts';
import { MIN_FILE_LIFE_MS } from './open-service.ts';
import type { PlanSettings } from './plan.ts';
import type { PlanPlace } from './plan-store.ts';
import type { RowCodec } from './service.ts';
import { DEFAULT_LIMITS, type RemoteLimits } from './sharder.ts';

/** The Batch API costs half of the usual price. */
const BATCH_SHARE = 0.5;

export function toBatchPrices({ sum, estimate }: Prices): Prices {
  return {
    sum: (calls) => sum(calls.map((call) => ({ ...call, isBatch: true }))),
    estimate(usage, model) {
      const cost = estimate(usage, model);
      return cost === undefined ? undefined : BATCH_SHARE * cost;
    },
  };
}

/** These are in retry delays, of a second each unless GMN_RETRY_DELAY is set. */
const POLL_DELAYS = 10;
const MAX_POLL_DELAYS = 300;
/** The list of jobs may lag by 30 s, and a request may arrive a little after it was sent. */
const LAG_DELAYS = 35;
/** The offline model answers at once, so waiting for it is kept short. */
const DEMO_SPEEDUP = 20;

export function toRemoteTiming(retryBaseMs: number, isDemo: boolean): RemoteTiming {
  const unit = isDemo ? retryBaseMs / DEMO_SPEEDUP : retryBaseMs;
  return { pollMs: POLL_DELAYS * unit, maxPollMs: MAX_POLL_DELAYS * unit, lagMs: LAG_DELAYS * unit };
}

export function toRemoteLimits(options: { readonly shardRows?: number; readonly concurrency?: number }): RemoteLimits {
  const { shardRows: rows = DEFAULT_LIMITS.rows, concurrency: jobs = DEFAULT_LIMITS.jobs } = options;
  return { ...DEFAULT_LIMITS, rows, jobs };
}

interface Billing {
  readonly prices: Prices;
  readonly onCall: (call: BilledCall) => void;
  readonly clock: Clock;
}

/** Converts lines of a batch to results. An answer that does not match the schema is an error that can be retried. */
export function createAnswerCodec(
  schema: AnswerFormat['schema'],
  { prices, onCall, clock }: Billing,
): Pick<RowCodec, 'toResult'> {
  return {
    toResult({ reply, counted }, { ms, attempts }) {
      // An answer that cannot be used is billed, too.
      const calls = counted ? [{ ...toBilledCall(counted, 'gemini-api', clock.now()), isBatch: true }] : [];
      for (const call of calls) onCall(call);
      if (reply instanceof AppError) return reply;
      const { text, model, usage, finishReason } = reply;
      const cost = prices.sum(calls);
      try {
        return {
          ...(schema === undefined ? { response: text } : { json: schema.parse(text) }),
          ...{ model, usage, ms, attempts, cost },
          finishReason: finishReason === 'STOP' ? undefined : finishReason,
        };
      } catch (thrown) {
        return AppError.from(thrown).with({ retry: {} });
      }
    },
  };
}

export function createRowCodec(setup: BatchSetup, billing: Billing): RowCodec {
  return {
    ...createAnswerCodec(setup.schema, billing),
    async prepare(row, signal) {
      try {
        const request = await setup.toRequest(row);
        const provided = await setup.provide(request, { signal, minLifeMs: MIN_FILE_LIFE_MS });
        const { model, generationConfig } = provided;
        const { maxOutputTokens = DEFAULT_OUTPUT } = generationConfig;
        const prompt = guessTokens(request);
        const output = Number(maxOutputTokens);
        const usage = { promptTokenCount: prompt, candidatesTokenCount: output, totalTokenCount: prompt + output };
        return {
          model,
          line: (key) => formatBatchLine(key, provided, setup.opened.batchFields),
          cost: billing.prices.estimate(usage, model),
        };
      } catch (thrown) {
        // Only this row is wrong.
        if (thrown instanceof AppError && thrown.fault === 'usage') return thrown;
        throw thrown;
      }
    },
  };
}

export function locatePlan({ plan }: RunPaths, { homes }: Pick<App, 'homes'>): PlanPlace {
  return { path: plan, tokens: join(homes().gmn, 'batch-plans') };
}

/** What is needed to finish rows without the command line they were asked with. */
export function toPlanSettings({ schema }: BatchSetup): PlanSettings {
  return schema === undefined ? {} : { schema: schema.document };
}
