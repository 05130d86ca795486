import { AppError } from '../core/error.ts';
import type { Clock, Env } from '../core/io.ts';
import { isObject } from '../core/json.ts';
import { accountTrouble } from './account-trouble.ts';
import { endpointUrl } from './endpoint.ts';
import { type Caller, callJson, type Fields } from './json-call.ts';
import { oneLine } from './server-text.ts';

const CODE_ASSIST_URL = 'https://cloudcode-pa.googleapis.com';
const API_VERSION = 'v1internal';
/** Five minutes at the usual pace. */
const MAX_POLLS = 60;
const FREE_TIER = 'free-tier';

/** Where Code Assist is. */
export interface CodeAssistPlace {
  /** Already checked; Google's own if absent. */
  readonly baseUrl?: URL;
  /** Already checked; `v1internal` if absent. */
  readonly apiVersion?: string;
}

/** The URL of a method (`:loadCodeAssist`) or an operation (`/operations/…`) of Code Assist. */
export function codeAssistUrl({ baseUrl, apiVersion = API_VERSION }: CodeAssistPlace, rest: string): URL {
  return endpointUrl(baseUrl ?? new URL(CODE_ASSIST_URL), `${apiVersion}${rest}`);
}

/** What an account is at Code Assist. */
export interface Enrolment {
  /** The project its requests are charged to. */
  readonly project: string;
  readonly tier: string;
}

export interface EnrolOptions {
  readonly place: CodeAssistPlace;
  readonly caller: Caller;
  readonly clock: Clock;
  /** Between two looks at an onboarding under way. */
  readonly pollMs: number;
  /** The person's own project, if they named one. */
  readonly project?: string | undefined;
}

/** The project the environment names. Throws AppError `config` for a project number, which Code Assist does not take. */
export function projectFrom(env: Env): string | undefined {
  const name = env.GOOGLE_CLOUD_PROJECT ? 'GOOGLE_CLOUD_PROJECT' : 'GOOGLE_CLOUD_PROJECT_ID';
  const project = env[name];
  if (!project) return undefined;
  if (!/^\d+$/.test(project)) return project;
  throw new AppError('config', `${name} is a project number (${project}); Code Assist takes only a project id`, {
    hint: `Set ${name} to the id, e.g. my-project-123. To see yours: gcloud projects list`,
  });
}

/**
 * Project and tier of the account, which is onboarded if it is new. Throws AppError: `auth` if Google does not serve the
 * account, `api` if it is not eligible, has no project, or the server fails.
 */
export async function enrol(options: EnrolOptions, signal: AbortSignal): Promise<Enrolment> {
  const account = await load(options, signal);
  const ineligible = objectsOf(account.ineligibleTiers);
  const current = account.currentTier;
  if (isObject(current)) {
    const project = textOf(account.cloudaicompanionProject) ?? options.project;
    if (project === undefined) throw notServed(ineligible);
    const paid = isObject(account.paidTier) ? textOf(account.paidTier.id) : undefined;
    return { project, tier: paid ?? textOf(current.id) ?? 'standard-tier' };
  }
  const tiers = objectsOf(account.allowedTiers);
  if (ineligible.some(needsValidation) || (tiers.length === 0 && ineligible.length > 0)) throw notServed(ineligible);
  const tier = textOf(tiers.find(({ isDefault }) => isDefault === true)?.id) ?? 'legacy-tier';
  const project = (await onboard(options, tier, signal)) ?? options.project;
  if (project === undefined) throw notServed(ineligible);
  return { project, tier };
}

async function load({ place, caller, project }: EnrolOptions, signal: AbortSignal): Promise<Fields> {
  const body = { cloudaicompanionProject: project, metadata: metadata(project) };
  const url = codeAssistUrl(place, ':loadCodeAssist');
  // Behind VPC Service Controls this one method is closed, yet the model may answer.
  const instead = (reasons: readonly string[]): Fields | undefined =>
    reasons.includes('SECURITY_POLICY_VIOLATED') ? { currentTier: { id: 'standard-tier' } } : undefined;
  return callJson(caller, { url, body, instead }, signal);
}

function metadata(project: string | undefined): object {
  return {
    ideType: 'IDE_UNSPECIFIED',
    platform: 'PLATFORM_UNSPECIFIED',
    pluginType: 'GEMINI',
    ...(project === undefined ? {} : { duetProject: project }),
  };
}

/** The free tier brings its own project, and refuses another. */
async function onboard(options: EnrolOptions, tierId: string, signal: AbortSignal): Promise<string | undefined> {
  const { place, caller, clock, pollMs } = options;
  const project = tierId === FREE_TIER ? undefined : options.project;
  const body = { tierId, cloudaicompanionProject: project, metadata: metadata(project) };
  let operation = await callJson(caller, { url: codeAssistUrl(place, ':onboardUser'), body }, signal);
  const name = textOf(operation.name);
  for (let polls = 0; operation.done !== true && name !== undefined; polls += 1) {
    if (polls === MAX_POLLS || !/^[\w-]+(?:\/[\w-]+)*$/.test(name)) throw notOnboarded();
    await clock.sleep(pollMs, signal);
    operation = await callJson(caller, { url: codeAssistUrl(place, `/${name}`) }, signal);
  }
  const response = isObject(operation.response) ? operation.response.cloudaicompanionProject : undefined;
  return isObject(response) ? textOf(response.id) : undefined;
}

function notOnboarded(): AppError {
  return new AppError('api', 'API error: Google did not finish setting up this account for Code Assist', {
    hint: 'Try again in a few minutes, or use an API key: gmn auth set-key',
  });
}

function needsValidation(tier: Fields): boolean {
  return tier.reasonCode === 'VALIDATION_REQUIRED' && typeof tier.validationUrl === 'string';
}

function notServed(ineligible: readonly Fields[]): AppError {
  const reasons = ineligible.flatMap(({ reasonCode }) => textOf(reasonCode) ?? []);
  const texts = ineligible.flatMap(({ reasonMessage, validationErrorMessage }) => {
    return textOf(validationErrorMessage) ?? textOf(reasonMessage) ?? [];
  });
  const words = oneLine([...new Set(texts)].join(' '));
  const links = ineligible.flatMap(({ validationUrl }) => textOf(validationUrl) ?? []);
  const trouble = accountTrouble(reasons, { words, links });
  if (trouble !== undefined) return trouble;
  if (ineligible.length > 0) {
    const why = words === '' ? oneLine(reasons.join(', '), 200) : words;
    return new AppError('api', `API error: Code Assist does not serve this account: ${why}`, {
      hint: 'Use an API key: gmn auth set-key (https://aistudio.google.com/apikey), or set GOOGLE_CLOUD_PROJECT.',
    });
  }
  return new AppError('api', 'API error: Code Assist needs a project of yours for this account', {
    hint: 'Set GOOGLE_CLOUD_PROJECT to the id of a project with Gemini for Google Cloud, or use an API key: gmn auth set-key',
  });
}

function objectsOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
