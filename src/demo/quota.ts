import type { Clock } from '../core/io.ts';
import type { JsonObject } from '../core/json.ts';
import type { FaultBook } from './fault.ts';
import { type Backend, type ErrorResponse, faultResponse, violatedQuotaResponse } from './google-error.ts';

const MINUTE_MS = 60_000;
/** `503-burst=n` refuses n requests each time that this many were answered. */
const BURST_EVERY = 100;

export type QuotaBook = ReturnType<typeof createQuotaBook>;

interface ModelCall {
  readonly backend: Backend;
  readonly model: string;
  readonly promptTokens: () => number;
}

interface Usage {
  minute: number;
  requests: number;
  tokens: number;
  day: string;
  today: number;
}

/** Quotas of each model: requests and input tokens in a minute of the clock, requests in a day of California. */
export function createQuotaBook(faults: FaultBook, clock: Clock) {
  const takeLimit = (name: 'rpm' | 'tpm' | 'daily' | '503-burst') => faults.take([name])?.amount;
  const limits = { rpm: takeLimit('rpm'), tpm: takeLimit('tpm'), daily: takeLimit('daily') };
  const nextBurst = createBurst(takeLimit('503-burst'));
  const used = new Map<string, Usage>();
  const hasLimits = Object.values(limits).some((limit) => limit !== undefined);
  return {
    /** Counts one model call, or says why it is refused. A refused call counts for nothing. */
    admit({ backend, model, promptTokens }: ModelCall): ErrorResponse | undefined {
      if (nextBurst()) return faultResponse({ fault: '503', backend, model });
      if (!hasLimits) return undefined;
      const now = clock.now();
      const usage = findUsage(used, model, now);
      const tokens = limits.tpm === undefined ? 0 : promptTokens();
      const violations: JsonObject[] = [];
      const check = (kind: keyof typeof limits, wanted: number): void => {
        const limit = limits[kind];
        if (limit !== undefined && wanted > limit) violations.push({ ...QUOTAS[kind], quotaValue: String(limit) });
      };
      check('daily', usage.today + 1);
      check('rpm', usage.requests + 1);
      check('tpm', usage.tokens + tokens);
      if (violations.length > 0) {
        const isDaily = violations[0]?.quotaId === QUOTAS.daily.quotaId;
        const retryMs = isDaily ? undefined : MINUTE_MS - (now % MINUTE_MS);
        return violatedQuotaResponse({ backend, model, violations, retryMs });
      }
      usage.requests += 1;
      usage.today += 1;
      usage.tokens += tokens;
      return undefined;
    },
  };
}

const QUOTAS = {
  rpm: {
    quotaMetric: 'generate_content_free_tier_requests',
    quotaId: 'GenerateRequestsPerMinutePerProjectPerModel-FreeTier',
  },
  tpm: {
    quotaMetric: 'generate_content_free_tier_input_token_count',
    quotaId: 'GenerateContentInputTokensPerModelPerMinute-FreeTier',
  },
  daily: {
    quotaMetric: 'generate_content_free_tier_requests',
    quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier',
  },
} as const;

function findUsage(used: Map<string, Usage>, model: string, now: number): Usage {
  const usage = used.get(model) ?? { minute: -1, requests: 0, tokens: 0, day: '', today: 0 };
  used.set(model, usage);
  const minute = Math.floor(now / MINUTE_MS);
  if (usage.minute === minute) return usage;
  Object.assign(usage, { minute, requests: 0, tokens: 0 });
  const day = formatPacificDay(now);
  if (usage.day !== day) Object.assign(usage, { day, today: 0 });
  return usage;
}

/** Called at most once a minute for each model, and not while this file is loaded: making the formatter takes 17 ms. */
function formatPacificDay(now: number): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone: 'America/Los_Angeles', dateStyle: 'short' }).format(now);
}

function createBurst(length: number | undefined): () => boolean {
  let count = 0;
  return () => {
    if (length === undefined) return false;
    count += 1;
    const isRefused = count > BURST_EVERY;
    if (count >= BURST_EVERY + length) count = 0;
    return isRefused;
  };
}
