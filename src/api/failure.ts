import { type AppError, type ErrorOptions, type QuotaFault, type RetryAdvice, serverError } from '../core/error.ts';
import { DAY_MS, formatDuration } from '../core/text/format.ts';
import { redactKnown } from '../core/text/secrets.ts';
import {
  findAccountError,
  type GoogleError,
  htmlToText,
  toGoogleError,
  toOneLine,
  tryParseDelay,
  tryParseGoogleError,
} from './google-error.ts';
import { MAX_SERVER_DELAY_MS } from './retry.ts';

export interface FailedCall {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  readonly model?: string;
  /** What a call without a model was for, as in `the server does not offer …`. */
  readonly asks?: string;
  /** The caller's secrets, which must not be quoted. */
  readonly secrets: ReadonlySet<string>;
  readonly credential: CredentialKind;
  readonly authHint: string;
  readonly notFoundHint?: string;
}

/** A 403 with a key means a bad key; an account may be valid and still lack the permission. */
export type CredentialKind = 'key' | 'account';

interface FailureCase extends FailedCall {
  readonly error: GoogleError;
  readonly detail: string;
  /** `toOneLine` after redaction: a truncated secret would not be recognized. */
  readonly quote: (text: string, max?: number) => string;
}

/**
 * The AppError for a response outside 2xx, or for an error object inside a stream: `auth` if the credential is at
 * fault, else `api`; with `retry` where the same call may succeed later. Decides on status and reason fields, and on the
 * message only where the service has no field for the case: the patterns below.
 */
export function classifyResponse(refusal: FailedCall): AppError {
  const parsed = tryParseGoogleError(refusal.body);
  const error = parsed ?? toGoogleError({}, '');
  const redactSecrets = (text: string): string => redactKnown(text, refusal.secrets);
  const quote = (text: string, max?: number): string => toOneLine(redactSecrets(text), max);
  const detail = parsed === undefined ? htmlToText(redactSecrets(refusal.body)) : quote(parsed.message);
  const failed: FailureCase = { ...refusal, error, detail, quote };
  if (failed.status >= 300 && failed.status < 400) return redirectError(failed);
  return (
    findCredentialError(failed) ??
    findRequestError(failed) ??
    findTransientError(failed) ??
    refusalError(failed, 'request refused', { hint: WHO_ANSWERED })
  );
}

const WHO_ANSWERED = 'Run again with --debug to see which server answered.';

function redirectError(failed: FailureCase): AppError {
  const location = failed.headers.location ?? '';
  const target = URL.canParse(location) ? ` to ${failed.quote(new URL(location).host, 100)}` : '';
  return serverError('api', `the server redirects${target} (${failed.status}), which gmn does not follow`, {
    hint: 'A credential goes only where you send it: set the base URL to the final address.',
    status: failed.status,
  });
}

const KEY_REASON = /^API_KEY_/;

function findCredentialError(failed: FailureCase): AppError | undefined {
  const { status, error, authHint } = failed;
  const has = (reason: string): boolean => error.reasons.includes(reason);
  if (status === 401 || (status === 400 && error.reasons.some((reason) => KEY_REASON.test(reason)))) {
    return authError(failed, authHint);
  }
  if (status !== 403) return undefined;
  const problem = findAccountError(error.reasons, {
    detail: failed.detail,
    label: formatHttpStatus(failed),
    links: error.links.map((link) => redactKnown(link, failed.secrets)),
    status,
  });
  if (problem !== undefined) return problem;
  if (has('SERVICE_DISABLED'))
    return refusalError(failed, `the API is not enabled${formatProject(failed)}`, { hint: enableHint(failed) });
  if (has('SECURITY_POLICY_VIOLATED')) {
    return refusalError(failed, 'your organisation’s policy forbids this request', {
      hint: 'Ask your administrator (VPC Service Controls).',
    });
  }
  if (has('ACCESS_TOKEN_SCOPE_INSUFFICIENT')) return authError(failed, authHint);
  return (
    findPermissionError(failed) ?? (failed.credential === 'key' ? authError(failed, authHint) : deniedError(failed))
  );
}

const KEY_RESTRICTION = /^API_KEY_\w+_BLOCKED$/;
const DENIED_PROJECT = /^(?:CONSUMER_(?:SUSPENDED|INVALID)|USER_PROJECT_DENIED)$/;
/** "Your project has been denied access. Please contact support." */
const DENIED_TEXT = /\bproject\b.{0,40}\bdenied access\b|\bconsumer\b.{0,80}\bsuspended\b/i;

/** "Permission 'aiplatform.endpoints.predict' denied on resource …" */
const ROLE_TEXT = /\bpermission '[\w.]{1,100}' denied\b/i;

/** Whether the key, the project or the model is refused; undefined if the answer does not say. */
function findPermissionError(failed: FailureCase): AppError | undefined {
  const { error, credential } = failed;
  if (error.reasons.some((reason) => KEY_RESTRICTION.test(reason))) {
    return authError(
      failed,
      'The key is restricted: change what it may be used for at https://console.cloud.google.com/apis/credentials, or make another one.',
    );
  }
  if (error.reasons.includes('BILLING_DISABLED')) {
    return refusalError(failed, `billing is off${formatProject(failed)}`, { hint: BILLING_HINT });
  }
  if (error.reasons.some((reason) => DENIED_PROJECT.test(reason)) || DENIED_TEXT.test(error.message)) {
    if (credential === 'account') return deniedError(failed);
    return authError(
      failed,
      'Google refuses the project of this key: use a key of another project, or ask Google about this one.',
    );
  }
  // Without the role no model can be used; the answer names the one that was asked for.
  const isRole = error.reasons.includes('IAM_PERMISSION_DENIED') || ROLE_TEXT.test(error.message);
  const model = findNamedModel(failed);
  if (isRole || model === undefined) return undefined;
  return refusalError(failed, `model ${toOneLine(model, 100)} refused`, {
    hint: `This ${credential} may not use it: choose another with -m. See which there are: gmn models --refresh`,
  });
}

function deniedError(failed: FailureCase): AppError {
  return refusalError(failed, `permission denied${formatProject(failed)}`, {
    hint: 'Check that the account may use this project (GOOGLE_CLOUD_PROJECT) and model.',
  });
}

function findNamedModel({ model, error: { message, metadata } }: FailureCase): string | undefined {
  const name = model?.slice(model.lastIndexOf('/') + 1);
  return name && [message, metadata.resource, metadata.model].some((text) => text?.includes(name)) ? model : undefined;
}

function formatProject({ error, quote }: FailureCase): string {
  const project = error.metadata.consumer ?? error.metadata.project;
  return project === undefined ? '' : ` for ${quote(project, 100)}`;
}

function enableHint({ error, quote }: FailureCase): string {
  const url = error.metadata.activationUrl;
  return url?.startsWith('https://console.')
    ? `Enable it: ${quote(url)}`
    : 'Enable the API in the Google Cloud console.';
}

/** Only the message names the field. https://ai.google.dev/gemini-api/docs/thought-signatures */
const SIGNATURE = /thought[_ ]?signature/i;
/** "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)." */
const LENGTH = /\btokens?\b.{0,60}\bexceeds?\b|\bexceeds?\b.{0,60}\btokens?\b/i;
/** "Request payload size exceeds the limit: 20971520 bytes.", "1001 pages, which exceeds the supported limit" */
const SIZE =
  /\b(?:size|bytes|pages?)\b.{0,60}\bexceed|\bexceed(?:s|ed|ing)?\b.{0,60}\b(?:size|bytes|pages?|[KMG]i?B)\b/i;
/** "User location is not supported for the API use." */
const LOCATION = /\blocation is not supported\b/i;
const LOCATION_HINT =
  'See where it is offered: https://ai.google.dev/gemini-api/docs/available-regions. Vertex AI is offered in other regions, too: GOOGLE_GENAI_USE_VERTEXAI=true with GOOGLE_CLOUD_LOCATION=global';

function findTokenLimit(message: string): number | undefined {
  const digits = /\bmaximum\b[^()]{0,80}\((\d{1,9})\)/i.exec(message)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function findRequestError(failed: FailureCase): AppError | undefined {
  const { status } = failed;
  const { message } = failed.error;
  if (status === 404) return notFoundError(failed);
  if (status === 413 || status === 431) return tooLargeError(failed);
  if (status !== 400) return undefined;
  if (LENGTH.test(message)) {
    return refusalError(failed, "the prompt is longer than the model's window", {
      hint: 'Send less at once. To see how long it is: --count-tokens',
      objection: 'length',
      windowTokens: findTokenLimit(message),
    });
  }
  if (LOCATION.test(message)) {
    return refusalError(failed, 'the Gemini API is not offered where this request came from', { hint: LOCATION_HINT });
  }
  if (FREE_TIER.test(message)) return noQuotaError(failed);
  if (SIZE.test(message)) return tooLargeError(failed);
  return refusalError(failed, 'invalid request', {
    hint: failed.model === undefined ? WHO_ANSWERED : 'Check the prompt, the attachments and the flags.',
    objection: SIGNATURE.test(message) ? 'signature' : undefined,
  });
}

function tooLargeError(failed: FailureCase): AppError {
  return refusalError(failed, 'the request is too large', { hint: 'Send fewer or smaller files.' });
}

const ENDPOINT_HINT =
  'Check the address: GOOGLE_GEMINI_BASE_URL, CODE_ASSIST_ENDPOINT or GOOGLE_VERTEX_BASE_URL if set, and GOOGLE_CLOUD_LOCATION on Vertex AI.';

/** Any web server answers 404: it concerns the model only with Google's `NOT_FOUND`, or if it names the model. */
function notFoundError(failed: FailureCase): AppError {
  const { model, asks = 'this call', error, notFoundHint } = failed;
  if (model === undefined) return refusalError(failed, `the server does not offer ${asks}`, { hint: ENDPOINT_HINT });
  if (error.status !== 'NOT_FOUND' && findNamedModel(failed) === undefined) {
    return refusalError(failed, 'there is nothing at this address', { hint: ENDPOINT_HINT });
  }
  return refusalError(failed, `model ${toOneLine(model, 100)} not found`, {
    hint: notFoundHint ?? 'See which models there are: gmn models --refresh',
    objection: 'model',
  });
}

const CAPACITY = ['MODEL_CAPACITY_EXHAUSTED', 'MODEL_CAPACITY_EXCEEDED'];

function findTransientError(failed: FailureCase): AppError | undefined {
  const { status, error } = failed;
  if (status !== 408 && status !== 429 && status !== 499 && status < 500) return undefined;
  if (status === 429 || status === 499 || status === 503) {
    const final = findQuotaError(failed);
    if (final) return final;
  }
  const named = error.retryMs ?? tryParseRetryMessage(error.message) ?? tryParseRetryHeader(failed.headers);
  const retry: RetryAdvice = { afterMs: named ?? findMinuteDelay(error) };
  const isCapacity = error.reasons.some((reason) => CAPACITY.includes(reason));
  const what = isCapacity
    ? `no capacity${formatForModel(failed)} right now`
    : status === 429
      ? `quota exceeded${formatForModel(failed)}`
      : 'the server failed';
  if ((retry.afterMs ?? 0) > MAX_SERVER_DELAY_MS) {
    return refusalError(failed, what, {
      hint: `The server asks to wait ${formatDuration(retry.afterMs ?? 0)}; try again then.`,
      quota: { ...toMinuteQuota(failed), waitMs: retry.afterMs },
    });
  }
  const isQuota = status === 429 && failed.model !== undefined;
  const hint = isQuota ? 'Wait a little, or choose another model with -m.' : 'Try again later.';
  return refusalError(failed, what, { hint, retry, quota: status === 429 ? toMinuteQuota(failed) : undefined });
}

/** The first limit per minute that was violated. */
function toMinuteQuota({ error: { quotaIds, quotaLimits = {} } }: FailureCase): QuotaFault {
  const id = quotaIds.find((name) => name.includes('PerMinute'));
  const limit = id === undefined ? undefined : quotaLimits[id];
  return { per: 'minute', of: id?.includes('Token') ? 'tokens' : undefined, limit };
}

function formatForModel({ model }: FailureCase): string {
  return model === undefined ? '' : ` for ${toOneLine(model, 100)}`;
}

const BILLING_HINT = 'Set up billing at https://aistudio.google.com/billing, or choose another model with -m.';
/** "Your prepayment credits are depleted." */
const CREDITS = /\bprepa(?:id|yment)\b.{0,40}\bdepleted\b/i;
/** "Gemini 9 doesn't have a free quota tier.", "free tier is not available in your country" */
const FREE_TIER = /\bfree (?:quota )?tier\b.{0,20}\bnot available\b|n[o']t have a free (?:quota )?tier\b/i;
const ZERO = /\blimit: ?0(?![.\d\w])/;

function noQuotaError(failed: FailureCase): AppError {
  return refusalError(failed, `no quota${formatForModel(failed)}`, {
    hint: 'Your plan does not include this model: choose another with -m, or enable billing.',
    quota: { per: 'plan' },
  });
}

function findQuotaError(failed: FailureCase): AppError | undefined {
  const { error } = failed;
  const { message, metadata, reasons } = error;
  if (ZERO.test(message) || FREE_TIER.test(message) || metadata.quota_limit_value === '0') return noQuotaError(failed);
  if (CREDITS.test(message) || reasons.includes('INSUFFICIENT_G1_CREDITS_BALANCE')) {
    return refusalError(failed, `not enough credits${formatForModel(failed)}`, {
      hint: 'Add credits (billing: https://aistudio.google.com/billing), or choose another model with -m.',
      quota: { per: 'plan' },
    });
  }
  const isNamedDaily = error.quotaIds.some((id) => /PerDay|Daily/.test(id));
  if (!isNamedDaily && !reasons.includes('QUOTA_EXHAUSTED')) return undefined;
  const isDaily = isNamedDaily && (findResetMs(failed) ?? 0) <= LONGEST_DAY_MS;
  const resets = formatReset(failed, isDaily);
  return refusalError(failed, `${isDaily ? 'daily quota exceeded' : 'quota used up'}${formatForModel(failed)}`, {
    hint: `${resets} Until then choose another model with -m.`,
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

function formatHttpStatus({ status, error, quote }: FailureCase): string {
  return error.status === undefined ? `${status}` : `${status} ${quote(error.status, 60)}`;
}

function authError(failed: FailureCase, hint: string): AppError {
  const detail = failed.detail === '' ? 'the server refused the credential' : failed.detail;
  return serverError('auth', `${detail} (${formatHttpStatus(failed)})`, { hint, status: failed.status });
}

function refusalError(failed: FailureCase, what: string, options: ErrorOptions<'api'>): AppError {
  const detail = failed.detail === '' ? '' : `: ${failed.detail}`;
  return serverError('api', `${what} (${formatHttpStatus(failed)})${detail}`, { ...options, status: failed.status });
}

export function classifyStreamError(refusal: Omit<FailedCall, 'status' | 'headers'>): AppError {
  const code = tryParseGoogleError(refusal.body)?.code ?? 0;
  return classifyResponse({ ...refusal, headers: {}, status: code >= 400 && code <= 599 ? code : 500 });
}

/** Off by up to an hour when the clocks change. https://ai.google.dev/gemini-api/docs/rate-limits */
export function msUntilPacificMidnight(nowMs: number): number {
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: 'America/Los_Angeles', timeStyle: 'medium' });
  const [hours = 0, minutes = 0, seconds = 0] = clock.format(nowMs).split(':').map(Number);
  return DAY_MS - ((hours * 60 + minutes) * 60 + seconds) * 1000;
}
