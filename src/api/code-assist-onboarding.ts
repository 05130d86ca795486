import { type AppError, serverError } from '../core/error.ts';
import type { Clock } from '../core/io.ts';
import { filterObjects, isObject, toNonEmptyString } from '../core/json.ts';
import { redactKnown } from '../core/text/secrets.ts';
import type { Identity } from './backend.ts';
import { type CodeAssistEndpoint, codeAssistUrl, type Onboarding } from './code-assist.ts';
import { findAccountError, notServedError, toOneLine } from './google-error.ts';
import { callJson, type Fields, type QueryContext } from './queries.ts';

/** Five minutes at the default poll interval. */
const MAX_POLLS = 60;
const FREE_TIER = 'free-tier';

interface OnboardingOptions {
  readonly place: CodeAssistEndpoint;
  readonly caller: QueryContext;
  readonly clock: Clock;
  readonly pollMs: number;
  readonly project?: string;
}

/** Onboards a new account. Throws AppError `auth` if Google does not serve it, `api` if it lacks a project. */
export async function ensureOnboarded(options: OnboardingOptions, signal: AbortSignal): Promise<Onboarding> {
  const account = await loadCodeAssist(options, signal);
  const { secrets } = options.caller.identity;
  const ineligible = filterObjects(account.ineligibleTiers);
  const current = account.currentTier;
  if (isObject(current)) {
    const project = toNonEmptyString(account.cloudaicompanionProject) ?? options.project;
    if (project === undefined) throw ineligibleError(ineligible, secrets);
    const paid = isObject(account.paidTier) ? toNonEmptyString(account.paidTier.id) : undefined;
    return { project, tier: paid ?? toNonEmptyString(current.id) ?? 'standard-tier' };
  }
  const tiers = filterObjects(account.allowedTiers);
  if (ineligible.some(needsValidation) || (tiers.length === 0 && ineligible.length > 0))
    throw ineligibleError(ineligible, secrets);
  const tier = toNonEmptyString(tiers.find(({ isDefault }) => isDefault === true)?.id) ?? 'legacy-tier';
  const project = (await onboard(options, tier, signal)) ?? options.project;
  if (project === undefined) throw ineligibleError(ineligible, secrets);
  return { project, tier };
}

async function loadCodeAssist({ place, caller, project }: OnboardingOptions, signal: AbortSignal): Promise<Fields> {
  const body = { cloudaicompanionProject: project, metadata: clientMetadata(project) };
  const url = codeAssistUrl(place, ':loadCodeAssist');
  // VPC Service Controls block this method only; model calls may still work.
  const instead = (reasons: readonly string[]): Fields | undefined =>
    reasons.includes('SECURITY_POLICY_VIOLATED') ? { currentTier: { id: 'standard-tier' } } : undefined;
  return callJson(caller, { url, body, instead, asks: 'Code Assist' }, signal);
}

function clientMetadata(project: string | undefined): object {
  return {
    ideType: 'IDE_UNSPECIFIED',
    platform: 'PLATFORM_UNSPECIFIED',
    pluginType: 'GEMINI',
    duetProject: project,
  };
}

/** The free tier brings its own project and rejects any other. */
async function onboard(options: OnboardingOptions, tierId: string, signal: AbortSignal): Promise<string | undefined> {
  const { place, caller, clock, pollMs } = options;
  const project = tierId === FREE_TIER ? undefined : options.project;
  const body = { tierId, cloudaicompanionProject: project, metadata: clientMetadata(project) };
  const asks = 'onboarding';
  let operation = await callJson(caller, { url: codeAssistUrl(place, ':onboardUser'), body, asks }, signal);
  const name = toNonEmptyString(operation.name);
  for (let polls = 0; operation.done !== true && !operation.error && name !== undefined; polls += 1) {
    if (polls === MAX_POLLS || !/^[\w-]+(?:\/[\w-]+)*$/.test(name)) throw onboardingTimeoutError();
    await clock.sleep(pollMs, signal);
    operation = await callJson(caller, { url: codeAssistUrl(place, `/${name}`), asks }, signal);
  }
  if (operation.error) throw await onboardingError(operation.error, caller);
  const response = isObject(operation.response) ? operation.response.cloudaicompanionProject : undefined;
  return isObject(response) ? toNonEmptyString(response.id) : undefined;
}

/** A failed operation comes with status 200; its error is inside the body. https://google.aip.dev/151 */
async function onboardingError(error: unknown, { identity }: QueryContext): Promise<AppError> {
  const { tryParseGoogleError } = await import('./google-error.ts');
  const { message = '', reasons = [], links = [] } = tryParseGoogleError({ error }) ?? {};
  const detail = toOneLine(redactKnown(message, identity.secrets));
  const found = links.map((link) => redactKnown(link, identity.secrets));
  const problem = findAccountError(reasons, { detail, links: found });
  if (problem !== undefined) return problem;
  const why =
    [detail, ...reasons.map((reason) => toOneLine(reason, 60))].find((text) => text !== '') ?? 'no reason given';
  return serverError('api', `Google could not set up this account for Code Assist: ${why}`, {
    hint: 'Use an API key: gmn auth set-key (https://aistudio.google.com/apikey), or set GOOGLE_CLOUD_PROJECT.',
  });
}

function onboardingTimeoutError(): AppError {
  return serverError('api', 'Google did not finish setting up this account for Code Assist', {
    hint: 'Try again in a few minutes, or use an API key: gmn auth set-key',
  });
}

function needsValidation(tier: Fields): boolean {
  return tier.reasonCode === 'VALIDATION_REQUIRED' && typeof tier.validationUrl === 'string';
}

function ineligibleError(ineligible: readonly Fields[], secrets: Identity['secrets']): AppError {
  const reasons = ineligible.flatMap(({ reasonCode }) => toNonEmptyString(reasonCode) ?? []);
  const texts = ineligible.flatMap(({ reasonMessage, validationErrorMessage }) => {
    return toNonEmptyString(validationErrorMessage) ?? toNonEmptyString(reasonMessage) ?? [];
  });
  const detail = toOneLine(redactKnown([...new Set(texts)].join(' '), secrets));
  const links = ineligible.flatMap(({ validationUrl }) => toNonEmptyString(validationUrl) ?? []);
  const problem = findAccountError(reasons, { detail, links });
  if (problem !== undefined) return problem;
  if (ineligible.length > 0) {
    return notServedError({ detail: detail === '' ? toOneLine(reasons.join(', '), 200) : detail });
  }
  return serverError('api', 'Code Assist needs a project of yours for this account', {
    hint: 'Set GOOGLE_CLOUD_PROJECT to the id of a project with Gemini for Google Cloud, or use an API key: gmn auth set-key',
  });
}
