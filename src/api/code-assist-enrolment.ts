import { type AppError, refused } from '../core/error.ts';
import type { Clock } from '../core/io.ts';
import { isObject, objectsOf, stringOf } from '../core/json.ts';
import { concealed } from '../core/text/secrets.ts';
import type { Identity } from './backend.ts';
import { type CodeAssistPlace, codeAssistUrl, type Enrolment } from './code-assist.ts';
import { accountTrouble, oneLine } from './google-error.ts';
import { type Caller, callJson, type Fields } from './queries.ts';

/** Five minutes at the default poll interval. */
const MAX_POLLS = 60;
const FREE_TIER = 'free-tier';

interface EnrolOptions {
  readonly place: CodeAssistPlace;
  readonly caller: Caller;
  readonly clock: Clock;
  readonly pollMs: number;
  readonly project?: string | undefined;
}

/**
 * Finds project and tier of the account; onboards it if it is new. Throws AppError: `auth` if Google does not serve
 * the account, `api` if it is not eligible, has no project, or the server fails.
 */
export async function enrol(options: EnrolOptions, signal: AbortSignal): Promise<Enrolment> {
  const account = await load(options, signal);
  const { secrets } = options.caller.identity;
  const ineligible = objectsOf(account.ineligibleTiers);
  const current = account.currentTier;
  if (isObject(current)) {
    const project = stringOf(account.cloudaicompanionProject) ?? options.project;
    if (project === undefined) throw notServed(ineligible, secrets);
    const paid = isObject(account.paidTier) ? stringOf(account.paidTier.id) : undefined;
    return { project, tier: paid ?? stringOf(current.id) ?? 'standard-tier' };
  }
  const tiers = objectsOf(account.allowedTiers);
  if (ineligible.some(needsValidation) || (tiers.length === 0 && ineligible.length > 0))
    throw notServed(ineligible, secrets);
  const tier = stringOf(tiers.find(({ isDefault }) => isDefault === true)?.id) ?? 'legacy-tier';
  const project = (await onboard(options, tier, signal)) ?? options.project;
  if (project === undefined) throw notServed(ineligible, secrets);
  return { project, tier };
}

async function load({ place, caller, project }: EnrolOptions, signal: AbortSignal): Promise<Fields> {
  const body = { cloudaicompanionProject: project, metadata: metadata(project) };
  const url = codeAssistUrl(place, ':loadCodeAssist');
  // VPC Service Controls block this method only; model calls may still work.
  const instead = (reasons: readonly string[]): Fields | undefined =>
    reasons.includes('SECURITY_POLICY_VIOLATED') ? { currentTier: { id: 'standard-tier' } } : undefined;
  return callJson(caller, { url, body, instead, asks: 'Code Assist' }, signal);
}

function metadata(project: string | undefined): object {
  return {
    ideType: 'IDE_UNSPECIFIED',
    platform: 'PLATFORM_UNSPECIFIED',
    pluginType: 'GEMINI',
    ...(project === undefined ? {} : { duetProject: project }),
  };
}

/** The free tier brings its own project and rejects any other. */
async function onboard(options: EnrolOptions, tierId: string, signal: AbortSignal): Promise<string | undefined> {
  const { place, caller, clock, pollMs } = options;
  const project = tierId === FREE_TIER ? undefined : options.project;
  const body = { tierId, cloudaicompanionProject: project, metadata: metadata(project) };
  const asks = 'onboarding';
  let operation = await callJson(caller, { url: codeAssistUrl(place, ':onboardUser'), body, asks }, signal);
  const name = stringOf(operation.name);
  for (let polls = 0; operation.done !== true && !operation.error && name !== undefined; polls += 1) {
    if (polls === MAX_POLLS || !/^[\w-]+(?:\/[\w-]+)*$/.test(name)) throw notOnboarded();
    await clock.sleep(pollMs, signal);
    operation = await callJson(caller, { url: codeAssistUrl(place, `/${name}`), asks }, signal);
  }
  if (operation.error) throw await onboardingFailed(operation.error, caller);
  const response = isObject(operation.response) ? operation.response.cloudaicompanionProject : undefined;
  return isObject(response) ? stringOf(response.id) : undefined;
}

/** A failed operation comes with status 200; its error is inside the body. https://google.aip.dev/151 */
async function onboardingFailed(error: unknown, { identity }: Caller): Promise<AppError> {
  const { parseGoogleError } = await import('./google-error.ts');
  const { message = '', reasons = [], links = [], metadata = {} } = parseGoogleError({ error }) ?? {};
  const words = oneLine(concealed(message, identity.secrets));
  const found = [...links, metadata.validation_link ?? ''].map((link) => concealed(link, identity.secrets));
  const trouble = accountTrouble(reasons, { words, links: found });
  if (trouble !== undefined) return trouble;
  const why = [words, ...reasons.map((reason) => oneLine(reason, 60))].find((text) => text !== '') ?? 'no reason given';
  return refused('api', `Google could not set up this account for Code Assist: ${why}`, {
    hint: 'Use an API key: gmn auth set-key (https://aistudio.google.com/apikey), or set GOOGLE_CLOUD_PROJECT.',
  });
}

function notOnboarded(): AppError {
  return refused('api', 'Google did not finish setting up this account for Code Assist', {
    hint: 'Try again in a few minutes, or use an API key: gmn auth set-key',
  });
}

function needsValidation(tier: Fields): boolean {
  return tier.reasonCode === 'VALIDATION_REQUIRED' && typeof tier.validationUrl === 'string';
}

function notServed(ineligible: readonly Fields[], secrets: Identity['secrets']): AppError {
  const reasons = ineligible.flatMap(({ reasonCode }) => stringOf(reasonCode) ?? []);
  const texts = ineligible.flatMap(({ reasonMessage, validationErrorMessage }) => {
    return stringOf(validationErrorMessage) ?? stringOf(reasonMessage) ?? [];
  });
  const words = oneLine(concealed([...new Set(texts)].join(' '), secrets));
  const links = ineligible.flatMap(({ validationUrl }) => stringOf(validationUrl) ?? []);
  const trouble = accountTrouble(reasons, { words, links });
  if (trouble !== undefined) return trouble;
  if (ineligible.length > 0) {
    const why = words === '' ? oneLine(reasons.join(', '), 200) : words;
    return refused('api', `Code Assist does not serve this account: ${why}`, {
      hint: 'Use an API key: gmn auth set-key (https://aistudio.google.com/apikey), or set GOOGLE_CLOUD_PROJECT.',
    });
  }
  return refused('api', 'Code Assist needs a project of yours for this account', {
    hint: 'Set GOOGLE_CLOUD_PROJECT to the id of a project with Gemini for Google Cloud, or use an API key: gmn auth set-key',
  });
}
