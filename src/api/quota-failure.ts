import type { AppError, QuotaFault, RetryAdvice } from '../core/error.ts';
import { DAY_MS, formatDuration } from '../core/text/format.ts';
import { type FailedCall, type FailureCase, formatForModel, refusalError } from './failure-case.ts';
import { type GoogleError, toOneLine, tryParseDelay } from './google-error.ts';
import { MAX_SERVER_DELAY_MS } from './retry.ts';

const CAPACITY = ['MODEL_CAPACITY_EXHAUSTED', 'MODEL_CAPACITY_EXCEEDED'];

/** A quota, a lack of money or capacity, or a server that failed; undefined if it is neither. */
export function findTransientError(failed: FailureCase): AppError | undefined {
  const { status, error } = failed;
  if (status !== 408 && status !== 429 && status !== 499 && status < 500) return undefined;
  if (status === 429 || status === 499 || status === 503) {
    const final = findFinalError(failed);
    if (final) return final;
  }
  const named = error.retryMs ?? tryParseRetryMessage(error.message) ?? tryParseRetryHeader(failed.headers);
  const retry: RetryAdvice = { afterMs: named ?? findMinuteDelay(error) };
  const isCapacity = error.reasons.some((reason) => CAPACITY.includes(reason));
  const { name, instead } = describeQuota(failed);
  const what = isCapacity
    ? `no capacity${formatForModel(failed)} right now`
    : status === 429
      ? `quota exceeded${name}`
      : 'the server failed';
  if ((retry.afterMs ?? 0) > MAX_SERVER_DELAY_MS) {
    return refusalError(failed, what, {
      hint: `The server asks to wait ${formatDuration(retry.afterMs ?? 0)}; try again then.`,
      quota: { ...toMinuteQuota(failed), waitMs: retry.afterMs },
    });
  }
  const isQuota = status === 429 && failed.model !== undefined;
  const hint = isQuota ? `Wait a little, or ${instead}.` : 'Try again later.';
  return refusalError(failed, what, { hint, retry, quota: status === 429 ? toMinuteQuota(failed) : undefined });
}

/** The first limit per minute that was violated. */
function toMinuteQuota({ error: { quotaIds, quotaLimits = {} } }: FailureCase): QuotaFault {
  const id = quotaIds.find((name) => name.includes('PerMinute'));
  const limit = id === undefined ? undefined : quotaLimits[id];
  return { per: 'minute', of: id?.includes('Token') ? 'tokens' : undefined, limit };
}

interface Subject {
  /** What the quota is of: ` for gemini-x`. */
  readonly name: string;
  /** What is not refused. */
  readonly instead: string;
}

function describeQuota(failed: FailureCase): Subject {
  const { model, asks } = failed;
  if (model === undefined) return { name: asks === undefined ? '' : ` for ${asks}`, instead: 'ask a model' };
  if (isSearchRefused(failed)) {
    return {
      name: ` for Google Search with ${toOneLine(model, 100)}`,
      instead: 'ask without Google Search (--search)',
    };
  }
  return { name: formatForModel(failed), instead: 'choose another model with -m' };
}

/** A plan without Google Search gets the words of a used-up quota, but no quota is named. */
function isSearchRefused({ usesSearch, says, error }: FailureCase): boolean {
  if (!usesSearch) return false;
  const isNamed = says('search') || error.quotaIds.some((id) => /search/i.test(id));
  return isNamed || (says('planExceeded') && error.quotaIds.length === 0 && error.retryMs === undefined);
}

export const BILLING_URL = 'https://aistudio.google.com/billing';

export function noQuotaError(failed: FailureCase): AppError {
  const { name, instead } = describeQuota(failed);
  return refusalError(failed, `no quota${name}`, {
    hint: `Your plan does not include it: ${instead}, or enable billing: ${BILLING_URL}`,
    quota: { per: 'plan' },
  });
}

/** What no wait of minutes ends: a plan, money that is spent, a quota of a day. */
function findFinalError(failed: FailureCase): AppError | undefined {
  const { error, says } = failed;
  const { metadata, reasons } = error;
  const { name, instead } = describeQuota(failed);
  if (says('spendingCap')) {
    return refusalError(failed, 'the monthly spending cap is reached', {
      hint: 'See and raise the cap: https://ai.studio/spend, or wait for the next month.',
      quota: { per: 'account' },
    });
  }
  if (says('credits')) {
    return refusalError(failed, 'the prepaid credits are used up', {
      hint: `Add credits: ${BILLING_URL}`,
      quota: { per: 'account' },
    });
  }
  if (reasons.includes('INSUFFICIENT_G1_CREDITS_BALANCE')) {
    return refusalError(failed, `not enough credits${formatForModel(failed)}`, {
      hint: `Add credits (billing: ${BILLING_URL}), or choose another model with -m.`,
      quota: { per: 'plan' },
    });
  }
  const isZero = metadata.quota_limit_value === '0' || error.hasZeroQuota;
  if (isZero || says('zeroLimit') || says('freeTier') || says('noQuota')) return noQuotaError(failed);
  const isNamedDaily = error.quotaIds.some((id) => /PerDay|Daily/.test(id));
  if (!isNamedDaily && !reasons.includes('QUOTA_EXHAUSTED')) {
    return isSearchRefused(failed) && error.quotaIds.length === 0 ? noQuotaError(failed) : undefined;
  }
  const isDaily = isNamedDaily && (findResetMs(failed) ?? 0) <= LONGEST_DAY_MS;
  const resets = formatReset(failed, isDaily);
  return refusalError(failed, `${isDaily ? 'daily quota exceeded' : 'quota used up'}${name}`, {
    hint: `${resets} Until then ${instead}.`,
    quota: { per: 'day', resets },
  });
}

/** A quota that resets later than this is one of a week or a month. */
const LONGEST_DAY_MS = 25 * 3_600_000;

function findResetMs({ error: { metadata }, headers }: FailureCase): number | undefined {
  const delayMs = tryParseDelay(metadata.quotaResetDelay);
  if (delayMs !== undefined) return delayMs;
  const untilMs = parseDate(metadata.quotaResetTimeStamp) - parseDate(headers.date);
  return Number.isNaN(untilMs) ? undefined : untilMs;
}

function formatReset({ error, headers, quote }: FailureCase, isDaily: boolean): string {
  const resetMs = tryParseDelay(error.metadata.quotaResetDelay);
  if (resetMs !== undefined) return `It resets in ${formatDuration(resetMs)}.`;
  const time = error.metadata.quotaResetTimeStamp;
  if (time !== undefined) return `It resets at ${quote(time, 40)}.`;
  if (!isDaily) return 'The service does not say when it resets.';
  const now = parseDate(headers.date);
  const wait = Number.isNaN(now) ? '' : `, in ${formatDuration(msUntilPacificMidnight(now))}`;
  return `It resets at midnight Pacific time${wait}.`;
}

function tryParseRetryMessage(message: string): number | undefined {
  return tryParseDelay(/\bretry in (\d[\d.]*(?:ms|s)|(?:\d+h)?(?:\d+m)?\d[\d.]*s)\b/i.exec(message)?.[1]);
}

function tryParseRetryHeader(headers: FailedCall['headers']): number | undefined {
  const value = headers['retry-after']?.trim() ?? '';
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  // Relative to the server's `date`, so that a wrong local clock does no harm.
  const delay = parseDate(value) - parseDate(headers.date);
  return Number.isNaN(delay) ? undefined : Math.max(0, delay);
}

function findMinuteDelay(error: GoogleError): number | undefined {
  return error.quotaIds.some((id) => id.includes('PerMinute')) ? MAX_SERVER_DELAY_MS : undefined;
}

/** NaN if it is absent, or no date. */
function parseDate(text = ''): number {
  return Date.parse(text);
}

/** Off by up to an hour when the clocks change. https://ai.google.dev/gemini-api/docs/rate-limits */
export function msUntilPacificMidnight(nowMs: number): number {
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: 'America/Los_Angeles', timeStyle: 'medium' });
  const [hours = 0, minutes = 0, seconds = 0] = clock.format(nowMs).split(':').map(Number);
  return DAY_MS - ((hours * 60 + minutes) * 60 + seconds) * 1000;
}
