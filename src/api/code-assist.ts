import { join } from 'node:path';
import { AppError } from '../core/error.ts';
import type { Clock, Env } from '../core/io.ts';
import { isObject } from '../core/json.ts';
import type { ModelRequest } from '../core/model.ts';
import { DAY_MS } from '../core/text/format.ts';
import { trimTrailing } from '../core/text/trim.ts';
import { findModelFacts } from '../models/table.ts';
import { isRecent, readCache, writeCache } from '../platform/files/small-file.ts';
import { sha256 } from '../platform/runtime/native.ts';
import {
  type Backend,
  createBackend,
  type ErrorResponse,
  endpointUrl,
  type Identity,
  isProjectName,
  modelPath,
  toRequestBody,
} from './backend.ts';

export interface Onboardings {
  current(signal: AbortSignal): Promise<Onboarding>;
  findCached(): Onboarding | undefined;
  /** Always requests it. Throws AppError as `ensureOnboarded` does. */
  ask(signal: AbortSignal): Promise<Onboarding>;
  /** Requests it again unless this run already did; true if the project has changed. */
  refresh(signal: AbortSignal): Promise<boolean>;
}

/** Requests the account's project at most once a day, as far as the cache can be written. */
export function createOnboardings(
  cache: OnboardingCache,
  onboard: (signal: AbortSignal) => Promise<Onboarding>,
): Onboardings {
  let known: Onboarding | undefined;
  let hasAsked = false;
  const findCached = (): Onboarding | undefined => {
    known ??= cache.read();
    return known;
  };
  const ask = async (signal: AbortSignal): Promise<Onboarding> => {
    known = await onboard(signal);
    hasAsked = true;
    await cache.write(known);
    return known;
  };
  return {
    findCached,
    ask,
    current: async (signal) => findCached() ?? ask(signal),
    async refresh(signal) {
      if (hasAsked) return false;
      const before = known?.project;
      return (await ask(signal)).project !== before;
    },
  };
}

interface CodeAssistOptions {
  readonly place: CodeAssistEndpoint;
  readonly userAgent: string;
  readonly identity: Identity;
  readonly onboardings: Onboardings;
  /** The project for a preview, where no request may be sent. */
  readonly project?: string;
  /** Identifies this run; Code Assist groups requests by it. */
  readonly sessionId: string;
}

export function codeAssist(options: CodeAssistOptions): Backend {
  const { place, identity, userAgent, onboardings } = options;
  const findProject = async (signal: AbortSignal | undefined): Promise<string | undefined> =>
    signal ? (await onboardings.current(signal)).project : (onboardings.findCached()?.project ?? options.project);
  return createBackend({
    name: 'code-assist',
    identity,
    userAgent,
    draft: async (request, signal) => ({
      url: codeAssistUrl(place, ':streamGenerateContent?alt=sse'),
      body: wrapRequest(request, await findProject(signal), options.sessionId),
    }),
    unwrap: (event) => (isObject(event) && isObject(event.response) ? event.response : event),
    repair: async (refused, signal) =>
      (await isProjectStale(refused, onboardings.findCached()?.project)) && onboardings.refresh(signal),
    notFoundHint,
  });
}

function wrapRequest(request: ModelRequest, project: string | undefined, sessionId: string): object {
  return {
    // Code Assist takes the bare id; `modelPath` is used for its check.
    model: decodeURIComponent(modelPath(request.model).replace(/^models\//, '')),
    project,
    user_prompt_id: sessionId,
    request: { ...toRequestBody(request), session_id: sessionId },
  };
}

const ACCOUNT_REASONS: readonly string[] = ['SECURITY_POLICY_VIOLATED', 'ACCESS_TOKEN_SCOPE_INSUFFICIENT'];

const PRECONDITIONS: readonly string[] = ['FAILED_PRECONDITION', 'INVALID_ARGUMENT'];

async function isProjectStale({ status, body }: ErrorResponse, project: string | undefined): Promise<boolean> {
  if (status !== 400 && status !== 403 && status !== 404) return false;
  const { isAccountReason, tryParseGoogleError } = await import('./google-error.ts');
  const error = tryParseGoogleError(body);
  // A 404 without a Google error body means a wrong address.
  if (error === undefined) return status === 403;
  // These concern the account itself: another project would not help.
  const isAccount = error.reasons.some((reason) => isAccountReason(reason) || ACCOUNT_REASONS.includes(reason));
  if (isAccount) return false;
  if (status !== 400 || error.reasons.includes('RESOURCE_PROJECT_INVALID')) return true;
  const text = [error.message, ...Object.values(error.metadata)].join(' ');
  const names = text.split(/[^\w.:-]+/).map((word) => trimTrailing(word.replace(/^[.:-]+/, ''), '.:-'));
  const isNamed = /\bproject\b/i.test(text) || (project !== undefined && names.includes(project));
  return PRECONDITIONS.includes(error.status ?? '') && isNamed;
}

function notFoundHint(model: string): string {
  const isPreview = findModelFacts(model)?.status === 'preview' || /-preview/.test(model);
  const why = isPreview ? 'It is a preview model, to which this account may have no access on Code Assist. ' : '';
  return `${why}To see the models of this account: gmn models --refresh; or use an API key: gmn auth set-key`;
}

const CODE_ASSIST_URL = 'https://cloudcode-pa.googleapis.com';
const API_VERSION = 'v1internal';

export interface CodeAssistEndpoint {
  /** Validated by the caller; Google's own if absent. */
  readonly baseUrl?: URL;
  /** Validated by the caller; `v1internal` if absent. */
  readonly apiVersion?: string;
}

export function codeAssistUrl({ baseUrl, apiVersion = API_VERSION }: CodeAssistEndpoint, rest: string): URL {
  return endpointUrl(baseUrl ?? new URL(CODE_ASSIST_URL), `${apiVersion}${rest}`);
}

export interface Onboarding {
  readonly project: string;
  readonly tier: string;
}

/** Throws AppError `config` if it is no valid project, or a project number, which Code Assist does not accept. */
export function parseProject(env: Env): string | undefined {
  const name = env.GOOGLE_CLOUD_PROJECT ? 'GOOGLE_CLOUD_PROJECT' : 'GOOGLE_CLOUD_PROJECT_ID';
  const project = env[name];
  if (!project) return undefined;
  if (!isProjectName(project)) {
    throw new AppError('config', `${name} cannot be the name of a project`, { hint: `Fix or unset ${name}.` });
  }
  if (!/^\d+$/.test(project)) return project;
  throw new AppError('config', `${name} is a project number (${project}); Code Assist takes only a project id`, {
    hint: `Set ${name} to the id, e.g. my-project-123. To see yours: gcloud projects list`,
  });
}

export interface OnboardingCache {
  /** Undefined if there is no entry, or no valid one. Never throws. */
  read(): Onboarding | undefined;
  /** Best effort: a failed write is ignored. */
  write(onboarding: Onboarding): Promise<void>;
}

interface OnboardingOwner {
  readonly endpoint: string;
  readonly account: string;
  readonly project: string | undefined;
}

interface CacheEntry extends Onboarding {
  readonly time: number;
}

type CacheEntries = ReadonlyMap<string, CacheEntry>;

export function createOnboardingCache(
  home: string,
  owner: OnboardingOwner,
  clock: Pick<Clock, 'now'>,
): OnboardingCache {
  const file = join(home, 'code-assist.json');
  const key = sha256(JSON.stringify([owner.endpoint, owner.account, owner.project ?? ''])).slice(0, 16);
  const readRecent = (): CacheEntries => {
    const entries = [...(readCache(file, tryParseEntries) ?? [])];
    return new Map(entries.filter(([, { time }]) => isRecent(time, clock.now(), DAY_MS)));
  };
  return {
    read: () => readRecent().get(key),
    async write({ project, tier }) {
      const accounts = Object.fromEntries([...readRecent(), [key, { project, tier, time: clock.now() }]]);
      await writeCache(file, { version: 1, accounts });
    },
  };
}

function tryParseEntries(value: unknown): CacheEntries | undefined {
  if (!isObject(value) || value.version !== 1 || !isObject(value.accounts)) return undefined;
  return new Map(
    Object.entries(value.accounts).flatMap(([key, entry]) => {
      if (!isObject(entry)) return [];
      const { project, tier, time } = entry;
      if (typeof project !== 'string' || project === '' || typeof tier !== 'string' || typeof time !== 'number') {
        return [];
      }
      return [[key, { project, tier, time }] as const];
    }),
  );
}
