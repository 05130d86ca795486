import type { HttpRequest } from '../core/http.ts';
import { isObject } from '../core/json.ts';
import type { ModelRequest } from '../core/model.ts';
import { modelFacts } from '../core/models.ts';
import type { Backend, Refused } from './backend.ts';
import { type CodeAssistPlace, codeAssistUrl, type Enrolment } from './code-assist-enrolment.ts';
import { modelPath } from './endpoint.ts';
import type { EnrolmentCache } from './enrolment-cache.ts';
import { parseGoogleError } from './google-error.ts';
import type { Identity } from './identity.ts';

/** Project and tier of the account: remembered, else asked for. */
export interface Enrolments {
  /** Throws AppError as `enrol` does. */
  current(signal: AbortSignal): Promise<Enrolment>;
  /** What is remembered; nobody is asked. */
  remembered(): Promise<Enrolment | undefined>;
  /** Asks anew. Throws AppError as `enrol` does. */
  ask(signal: AbortSignal): Promise<Enrolment>;
  /** Asks anew unless that was just done; true if the project is another now. */
  renew(signal: AbortSignal): Promise<boolean>;
}

/** Asks `enrol` at most once a day for each account, as far as the cache can be kept. */
export function enrolments(cache: EnrolmentCache, enrol: (signal: AbortSignal) => Promise<Enrolment>): Enrolments {
  let known: Enrolment | undefined;
  let isAsked = false;
  const remembered = async (): Promise<Enrolment | undefined> => {
    known ??= await cache.read();
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
    current: async (signal) => (await remembered()) ?? ask(signal),
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
  const { place, identity } = options;
  const draft = (request: ModelRequest, project: string | undefined): HttpRequest => ({
    method: 'POST',
    url: codeAssistUrl(place, ':streamGenerateContent?alt=sse'),
    headers: { 'content-type': 'application/json', 'user-agent': options.userAgent },
    body: JSON.stringify(envelope(request, project, options.sessionId)),
  });
  return {
    name: 'code-assist',
    credential: identity.kind,
    authHint: identity.authHint,
    canRenew: identity.canRenew,
    async prepare(request, headerOptions) {
      // The token first: without one there is no need to ask for the project.
      const headers = await identity.headers(headerOptions);
      const { project } = await options.enrolments.current(headerOptions.signal);
      const drafted = draft(request, project);
      return { ...drafted, headers: { ...drafted.headers, ...headers } };
    },
    preview: async (request) => draft(request, (await options.enrolments.remembered())?.project ?? options.project),
    unwrap,
    conceal: identity.conceal,
    mend: async (refused, signal) => mayBeStale(refused) && options.enrolments.renew(signal),
    notFoundHint,
  };
}

function envelope(request: ModelRequest, project: string | undefined, sessionId: string): object {
  const { contents, systemInstruction, generationConfig } = request;
  return {
    // The id stands here bare; the check is the same as where it stands in a path.
    model: decodeURIComponent(modelPath(request.model).replace(/^models\//, '')),
    project,
    user_prompt_id: sessionId,
    request: { contents, systemInstruction, generationConfig, session_id: sessionId },
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

/** Whether another project might have been served: not allowed, or not there. */
function mayBeStale({ status, body }: Refused): boolean {
  if (status === 404) return true;
  const reasons = parseGoogleError(body)?.reasons ?? [];
  return status === 403 && !reasons.some((reason) => NOT_THE_PROJECT.includes(reason));
}

function notFoundHint(model: string): string {
  const isPreview = modelFacts(model)?.status === 'preview' || /-preview/.test(model);
  const why = isPreview ? 'It is a preview model, to which this account may have no access on Code Assist. ' : '';
  return `${why}Which models the account has: gmn models --refresh; or use an API key: gmn auth set-key`;
}
