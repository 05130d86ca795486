import { isObject } from '../core/json.ts';
import type { ModelRequest } from '../core/model.ts';
import { trimTrailing } from '../core/text/trim.ts';
import { modelFacts } from '../models/table.ts';
import { type Backend, backendOf, type Refused } from './backend.ts';
import { type CodeAssistPlace, codeAssistUrl, type Enrolment } from './code-assist-place.ts';
import { modelPath } from './endpoint.ts';
import type { EnrolmentCache } from './enrolment-cache.ts';
import type { Identity } from './identity.ts';

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

export interface CodeAssistOptions {
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
