import { createIdentity } from '../api/backend.ts';
import { geminiApi } from '../api/gemini-api.ts';
import type { App, Settings } from '../core/app.ts';
import type { AuthScheme, Credential } from '../core/credential.ts';
import { AppError } from '../core/error.ts';
import { parseDuration } from '../core/text/format.ts';
import type { Backend as BackendName } from '../models/table.ts';
import { type BackendContext, type OpenedBackend, parseApiVersion, parseEndpoint } from './opened-backend.ts';

/** A credential and its auth scheme, as chosen by `chooseCredential`. */
export interface ChosenCredential {
  readonly credential: Credential;
  readonly carrier: AuthScheme;
}

/** The backends that accept a credential, its default first. */
const ACCEPTED_BY: Readonly<Record<Credential['type'], readonly BackendName[]>> = {
  'gemini-api-key': ['gemini-api'],
  'oauth-personal': ['code-assist', 'gemini-api', 'vertex'],
  'compute-default-credentials': ['code-assist', 'gemini-api', 'vertex'],
  'vertex-ai': ['vertex'],
};

/**
 * Opens the backend for a credential, or the one that `wanted` names. Backends other than the Gemini API are loaded on
 * demand. Throws AppError: `usage` if credential and backend do not fit, `config` for an endpoint, project or location
 * that is missing or wrong.
 */
export async function openBackend(
  bearer: ChosenCredential,
  { app, settings, wanted }: { readonly app: App; readonly settings: Settings; readonly wanted?: BackendName },
): Promise<OpenedBackend> {
  const context = createBackendContext(bearer, app, settings);
  switch (chooseBackend(bearer.credential, wanted)) {
    case 'gemini-api':
      return openGeminiApi(context, parseEndpoint(app, 'GOOGLE_GEMINI_BASE_URL'));
    case 'code-assist':
      return (await import('./code-assist-backend.ts')).openCodeAssist(context);
    case 'vertex':
      return (await import('./vertex-backend.ts')).openVertex(context);
  }
}

/** Throws AppError `config` for an invalid `GMN_RETRY_DELAY`. */
export function createBackendContext(
  { credential, carrier }: ChosenCredential,
  app: App,
  settings: Settings,
): BackendContext {
  return {
    app,
    settings,
    carrier,
    identity: createIdentity(credential, carrier, settings.env.GOOGLE_CLOUD_QUOTA_PROJECT),
    account: () => credential.account,
    userAgent: `gmn/${app.version}`,
    retryBaseMs: parseRetryDelay(app),
  };
}

/** The Gemini API at the given address. Throws AppError `config` for an invalid version. */
export function openGeminiApi(context: BackendContext, { baseUrl }: { readonly baseUrl?: URL }): OpenedBackend {
  const { userAgent } = context;
  const version = parseApiVersion(context.settings, 'GOOGLE_GENAI_API_VERSION');
  const place = { userAgent, ...version, ...(baseUrl === undefined ? {} : { baseUrl }) };
  return {
    name: 'gemini-api',
    retryBaseMs: context.retryBaseMs,
    backend: geminiApi(place, context.identity),
    async inquiries() {
      const { geminiApiQueries } = await import('../api/queries.ts');
      return geminiApiQueries(place, { ...context, send: context.app.send });
    },
  };
}

function chooseBackend({ type, source }: Credential, wanted: BackendName | undefined): BackendName {
  const taken = ACCEPTED_BY[type];
  if (wanted === undefined) return taken[0] ?? 'gemini-api';
  if (taken.includes(wanted)) return wanted;
  throw new AppError('usage', `--backend ${wanted} does not take the credential ${type} (${source})`, {
    hint: `It works with: --backend ${taken.join(' or ')}. To use another credential: --auth`,
  });
}

function parseRetryDelay({ env }: App): number {
  const text = env.GMN_RETRY_DELAY;
  if (text === undefined || text === '') return 1000;
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  throw new AppError('config', `GMN_RETRY_DELAY: "${text}" is not a duration`, {
    hint: 'Example: GMN_RETRY_DELAY=500ms',
  });
}
