import { codeAssist, codeAssistUrl, createOnboardings, openOnboardingCache, parseProject } from '../api/code-assist.ts';
import { type BackendContext, type OpenedBackend, parseApiVersion, parseEndpoint } from './opened-backend.ts';

/** Onboarding is polled every five retry delays: five seconds by default. */
const POLL_DELAYS = 5;

/** Code Assist for the token's account. Throws AppError `config` for an endpoint or project it cannot use. */
export function openCodeAssist(context: BackendContext): OpenedBackend {
  const { app, settings, identity, userAgent, retryBaseMs } = context;
  const { clock, send } = app;
  const project = parseProject(settings.env);
  const place = {
    ...parseEndpoint(app, 'CODE_ASSIST_ENDPOINT'),
    ...parseApiVersion(app, 'CODE_ASSIST_API_VERSION'),
  };
  const caller = { identity, userAgent, send };
  const owner = { endpoint: codeAssistUrl(place, '').href, account: context.account(), project };
  const onboardings = createOnboardings(openOnboardingCache(app.homes().gmn, owner, clock), async (signal) => {
    const { ensureOnboarded } = await import('../api/code-assist-enrolment.ts');
    return ensureOnboarded({ place, caller, clock, project, pollMs: POLL_DELAYS * retryBaseMs }, signal);
  });
  return {
    name: 'code-assist',
    retryBaseMs,
    backend: codeAssist({
      place,
      userAgent,
      identity,
      enrolments: onboardings,
      project,
      sessionId: createUuid(app.random),
    }),
    async inquiries() {
      const { codeAssistQueries } = await import('../api/code-assist-queries.ts');
      return codeAssistQueries({ place, caller, enrolments: onboardings, clock });
    },
  };
}

/** A v4 UUID, not cryptographically random: it is no secret. */
function createUuid(random: () => number): string {
  const digit = (from: number, count: number): string => (from + Math.floor(random() * count)).toString(16);
  return 'xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx'.replace(/[xy]/g, (kind) => (kind === 'x' ? digit(0, 16) : digit(8, 4)));
}
