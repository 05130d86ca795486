import { codeAssist, codeAssistUrl, enrolmentCache, enrolments, projectFrom } from '../api/code-assist.ts';
import { type BackendContext, endpointFrom, type OpenedBackend, versionFrom } from './opened-backend.ts';

/** Onboarding is polled every five retry delays: five seconds by default. */
const POLL_PAUSES = 5;

/** Code Assist for the token's account. Throws AppError `config` for an endpoint or project it cannot use. */
export function openCodeAssist(context: BackendContext): OpenedBackend {
  const { app, settings, identity, userAgent, retryBaseMs } = context;
  const { clock, send } = app;
  const project = projectFrom(settings.env);
  const place = {
    ...endpointFrom(app, 'CODE_ASSIST_ENDPOINT'),
    ...versionFrom(app, 'CODE_ASSIST_API_VERSION'),
  };
  const caller = { identity, userAgent, send };
  const owner = { endpoint: codeAssistUrl(place, '').href, account: context.account(), project };
  const enrolled = enrolments(enrolmentCache(app.homes().gmn, owner, clock), async (signal) => {
    const { enrol } = await import('../api/code-assist-enrolment.ts');
    return enrol({ place, caller, clock, project, pollMs: POLL_PAUSES * retryBaseMs }, signal);
  });
  return {
    name: 'code-assist',
    retryBaseMs,
    backend: codeAssist({ place, userAgent, identity, enrolments: enrolled, project, sessionId: uuid(app.random) }),
    async inquiries() {
      const { codeAssistInquiries } = await import('../api/code-assist-queries.ts');
      return codeAssistInquiries({ place, caller, enrolments: enrolled, clock });
    },
  };
}

/** A v4 UUID, not cryptographically random: it is no secret. */
function uuid(random: () => number): string {
  const digit = (from: number, count: number): string => (from + Math.floor(random() * count)).toString(16);
  return 'xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx'.replace(/[xy]/g, (kind) => (kind === 'x' ? digit(0, 16) : digit(8, 4)));
}
