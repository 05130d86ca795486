import { join } from 'node:path';
import { AppError } from '../core/error.ts';
import type { Clock, Env } from '../core/io.ts';
import { isObject } from '../core/json.ts';
import type { ModelRequest } from '../core/model.ts';
import { trimTrailing } from '../core/text/trim.ts';
import { modelFacts } from '../models/table.ts';
import { isRecent, readMemo, writeMemo } from '../platform/files/small-file.ts';
import { sha256 } from '../platform/runtime/native.ts';
import { type Backend, backendOf, endpointUrl, type Identity, isProject, modelPath, type Refused } from './backend.ts';

/** Project and tier of the account: remembered, else asked for. */
export interface Enrolments {
  /** Throws AppError as `enrol` does. */
  current(signal: AbortSignal): Promise<Enrolment>;
  /** What is remembered; nobody is asked. */
  remembered(): Enrolment | undefined;
  /** Asks anew. Throws AppError as `enrol` does. */
  ask(signal: AbortSignal): Promise<Enrolment>;
  /** Asks anew unless that was just done; true if the project is another now. */
  renew(signal: AbortSignal): Promise<boolean>;
}

/** Asks `enrol` at most once a day for each account, as far as the cache can be kept. */
export function enrolments(cache: EnrolmentCache, enrol: (signal: AbortSignal) => Promise<Enrolment>): Enrolments {
  let known: Enrolment | undefined;
  let isAsked = false;
  const remembered = (): Enrolment | undefined => {
    known ??= cache.read();
    return known;
  };
  const ask = async (signal: AbortSignal): Promise<Enrolment> => {
    known = await enrol(signal);
    isAsked = true;
    await cache.write(known);
    return known;
  };
  return {
    remembered,
    ask,
    current: async (signal) => remembered() ?? ask(signal),
    async renew(signal) {
      if (isAsked) return false;
      const before = known?.project;
      return (await ask(signal)).project !== before;
    },
  };
}

interface CodeAssistOptions {
  readonly place: CodeAssistPlace;
  readonly userAgent: string;
  readonly identity: Identity;
  readonly enrolments: Enrolments;
  /** The project to show where nobody is asked. */
  readonly project?: string | undefined;
  /** A name for this run; Code Assist groups requests by it. */
  readonly sessionId: string;
}

/** Gemini Code Assist, with the token of an account. A run with a remembered project makes one request. */
export function codeAssist(options: CodeAssistOptions): Backend {
  const { place, identity, userAgent, enrolments: enrolled } = options;
  const projectOf = async (signal: AbortSignal | undefined): Promise<string | undefined> =>
    signal ? (await enrolled.current(signal)).project : (enrolled.remembered()?.project ?? options.project);
  return backendOf({
    name: 'code-assist',
    identity,
    userAgent,
    draft: async (request, signal) => ({
      url: codeAssistUrl(place, ':streamGenerateContent?alt=sse'),
      body: envelope(request, await projectOf(signal), options.sessionId),
    }),
    unwrap,
    mend: async (refused, signal) =>
      (await mayBeStale(refused, enrolled.remembered()?.project)) && enrolled.renew(signal),
    notFoundHint,
  });
}

function envelope(request: ModelRequest, project: string | undefined, sessionId: string): object {
  const { contents, systemInstruction, tools, safetySettings, generationConfig } = request;
  return {
    // The name stands here bare; the check is the same as where it stands in a path.
    model: decodeURIComponent(modelPath(request.model).replace(/^models\//, '')),
    project,
    user_prompt_id: sessionId,
    request: { contents, systemInstruction, tools, safetySettings, generationConfig, session_id: sessionId },
  };
}

function unwrap(event: unknown): unknown {
  return isObject(event) && isObject(event.response) ? event.response : event;
}

/** Refusals that speak of the account itself: no other project would help. */
const NOT_THE_PROJECT: readonly string[] = [
  'VALIDATION_REQUIRED',
  'TOS_VIOLATION',
  'UNSUPPORTED_CLIENT',
  'SECURITY_POLICY_VIOLATED',
  'ACCESS_TOKEN_SCOPE_INSUFFICIENT',
];

const PRECONDITIONS: readonly string[] = ['FAILED_PRECONDITION', 'INVALID_ARGUMENT'];

/** Whether another project might have been served: not allowed, not there, or objected to by name. */
async function mayBeStale({ status, body }: Refused, project: string | undefined): Promise<boolean> {
  if (status !== 400 && status !== 403 && status !== 404) return false;
  const { parseGoogleError } = await import('./google-error.ts');
  const error = parseGoogleError(body);
  // A 404 without an error of Google's is a wrong address.
  if (error === undefined) return status === 403;
  if (error.reasons.some((reason) => NOT_THE_PROJECT.includes(reason))) return false;
  if (status !== 400) return true;
  const words = [error.message, ...Object.values(error.metadata)].join(' ');
  const names = words.split(/[^\w.:-]+/).map((word) => trimTrailing(word.replace(/^[.:-]+/, ''), '.:-'));
  const isNamed = /\bproject\b/i.test(words) || (project !== undefined && names.includes(project));
  return PRECONDITIONS.includes(error.status ?? '') && isNamed;
}

function notFoundHint(model: string): string {
  const isPreview = modelFacts(model)?.status === 'preview' || /-preview/.test(model);
  const why = isPreview ? 'It is a preview model, to which this account may have no access on Code Assist. ' : '';
  return `${why}Which models the account has: gmn models --refresh; or use an API key: gmn auth set-key`;
}

const CODE_ASSIST_URL = 'https://cloudcode-pa.googleapis.com';
const API_VERSION = 'v1internal';

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

/**
 * The project the environment names. Throws AppError `config` for what cannot be one, and for a project number, which
 * Code Assist does not take.
 */
export function projectFrom(env: Env): string | undefined {
  const name = env.GOOGLE_CLOUD_PROJECT ? 'GOOGLE_CLOUD_PROJECT' : 'GOOGLE_CLOUD_PROJECT_ID';
  const project = env[name];
  if (!project) return undefined;
  if (!isProject(project)) {
    throw new AppError('config', `${name} cannot be the name of a project`, { hint: `Mend or unset ${name}.` });
  }
  if (!/^\d+$/.test(project)) return project;
  throw new AppError('config', `${name} is a project number (${project}); Code Assist takes only a project id`, {
    hint: `Set ${name} to the id, e.g. my-project-123. To see yours: gcloud projects list`,
  });
}

const DAY_MS = 86_400_000;

/** What one account was told at Code Assist, kept for a day. */
export interface EnrolmentCache {
  /** Undefined if nothing is known, or nothing that can be believed. Never throws. */
  read(): Enrolment | undefined;
  /** It is only a memory aid: if it cannot be written, nothing happens. */
  write(enrolment: Enrolment): Promise<void>;
}

/** Whose enrolment it is: another server, account or wish is another matter. */
interface EnrolmentOwner {
  readonly endpoint: string;
  /** `Credential.account` */
  readonly account: string;
  readonly project: string | undefined;
}

interface Entry extends Enrolment {
  /** Milliseconds since the epoch. */
  readonly time: number;
}

type Entries = ReadonlyMap<string, Entry>;

/** The cache in gmn's home, one private file for all accounts. */
export function enrolmentCache(home: string, owner: EnrolmentOwner, clock: Pick<Clock, 'now'>): EnrolmentCache {
  const file = join(home, 'code-assist.json');
  const key = sha256(JSON.stringify([owner.endpoint, owner.account, owner.project ?? ''])).slice(0, 16);
  const recent = (): Entries => {
    const entries = [...(readMemo(file, parseEntries) ?? [])];
    return new Map(entries.filter(([, { time }]) => isRecent(time, clock.now(), DAY_MS)));
  };
  return {
    read: () => recent().get(key),
    async write({ project, tier }) {
      const accounts = Object.fromEntries([...recent(), [key, { project, tier, time: clock.now() }]]);
      await writeMemo(file, { version: 1, accounts });
    },
  };
}

function parseEntries(value: unknown): Entries | undefined {
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
