import { type Backend, createIdentity, type Identity } from '../../api/backend.ts';
import type { FilesClient } from '../../api/files.ts';
import { geminiApi, geminiApiUrl, toStoreField } from '../../api/gemini-api.ts';
import type { Queries } from '../../api/queries.ts';
import type { App, Settings } from '../../core/app.ts';
import type { BatchesClient } from '../../core/batches.ts';
import type { AuthScheme, Credential } from '../../core/credential.ts';
import type { DecisionsClient } from '../../core/decision.ts';
import { AppError } from '../../core/error.ts';
import type { FileSupport } from '../../core/files.ts';
import type { InteractionsClient } from '../../core/interaction.ts';
import type { JsonObject } from '../../core/json.ts';
import { tryParseDuration } from '../../core/text/format.ts';
import { checkEndpoint } from '../../core/text/url.ts';
import type { Backend as BackendName } from '../../models/table.ts';
import { randomId } from '../../platform/runtime/random-id.ts';

export interface OpenedBackend {
  readonly name: BackendName;
  readonly backend: Backend;
  readonly retryBaseMs: number;
  readonly notify: (message: string) => void;
  readonly endpoint: URL;
  /** Code Assist's name for the tier of the account, if it was asked for within a day. Sends nothing. */
  readonly tier?: () => string | undefined;
  readonly queries: () => Promise<Queries>;
  readonly fileSupport: FileSupport;
  /** Absent if the backend keeps no files. */
  readonly files?: (retries?: number) => Promise<FilesClient>;
  /** Absent if the backend takes no batches. */
  readonly batches?: (retries?: number) => Promise<BatchesClient>;
  /** Absent if the backend has no decisions. */
  readonly decisions?: (retries?: number) => Promise<DecisionsClient>;
  /** Absent if the backend has no agents. */
  readonly interactions?: () => Promise<InteractionsClient>;
  /** What each request of a batch has besides. */
  readonly batchFields?: JsonObject;
}

export interface ChosenCredential {
  readonly credential: Credential;
  readonly carrier: AuthScheme;
}

interface BackendOptions {
  readonly app: App;
  readonly settings: Settings;
  readonly wanted?: BackendName;
  readonly baseUrl?: URL;
  readonly store?: boolean;
  /** Gets what is said about a long wait. */
  readonly notify: (message: string) => void;
}

/** The backends that accept a credential, its default first. */
const ACCEPTED_BY: Readonly<Record<Credential['type'], readonly BackendName[]>> = {
  'gemini-api-key': ['gemini-api'],
  'oauth-personal': ['code-assist', 'gemini-api', 'vertex'],
  'compute-default-credentials': ['code-assist', 'gemini-api', 'vertex'],
  'vertex-ai': ['vertex'],
};

/** Throws AppError `usage` if credential and backend do not fit, `config` for what the environment sets wrongly. */
export async function openBackend(chosen: ChosenCredential, options: BackendOptions): Promise<OpenedBackend> {
  const opened = await openNamedBackend(chosen, options);
  const isStoreLeftOut = options.store === true && opened.batchFields?.store === undefined;
  if (isStoreLeftOut) options.notify('--store is left out: only the Gemini API at Google’s own address takes it');
  return opened;
}

async function openNamedBackend(chosen: ChosenCredential, options: BackendOptions): Promise<OpenedBackend> {
  const { app, settings, wanted, baseUrl, store = settings.store, notify } = options;
  const { credential, carrier } = chosen;
  const name = chooseBackend(credential, wanted);
  const context: BackendContext = {
    ...{ app: { ...app, send: withEndpointHint(name, app) }, settings, credential, carrier },
    identity: createIdentity(credential, carrier, settings.env.GOOGLE_CLOUD_QUOTA_PROJECT),
    userAgent: `gmn/${app.version}`,
    retryBaseMs: parseRetryDelay(app),
    store,
    notify,
  };
  switch (name) {
    case 'gemini-api':
      return openGeminiApi(context, baseUrl === undefined ? parseEndpoint(app, 'GOOGLE_GEMINI_BASE_URL') : { baseUrl });
    case 'code-assist':
      return openCodeAssist(context);
    case 'vertex':
      return openVertex(context);
  }
}

const ENDPOINT_VARIABLES: Readonly<Record<BackendName, string>> = {
  'gemini-api': 'GOOGLE_GEMINI_BASE_URL',
  'code-assist': 'CODE_ASSIST_ENDPOINT',
  vertex: 'GOOGLE_VERTEX_BASE_URL',
};

/** Adds the variable's name to the hint if the address it gives cannot be reached. */
export function withEndpointHint(name: BackendName, { env, send }: Pick<App, 'env' | 'send'>): App['send'] {
  const variable = ENDPOINT_VARIABLES[name];
  const address = env[variable];
  if (!address) return send;
  return async (request, signal) => {
    try {
      return await send(request, signal);
    } catch (thrown) {
      // An upload goes where the server says.
      const isThere = URL.canParse(address) && new URL(address).host === request.url.host;
      if (!isThere || !(thrown instanceof AppError) || thrown.fault !== 'api') throw thrown;
      throw thrown.with({ hint: `${thrown.hint ?? ''} The address is from ${variable}.`.trimStart() });
    }
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

interface BackendContext extends ChosenCredential {
  readonly app: App;
  readonly settings: Settings;
  readonly identity: Identity;
  readonly userAgent: string;
  readonly retryBaseMs: number;
  readonly store: boolean | undefined;
  readonly notify: (message: string) => void;
}

function openGeminiApi(context: BackendContext, address: { readonly baseUrl?: URL }): OpenedBackend {
  const { app, settings, identity, userAgent, retryBaseMs, store, notify } = context;
  const place = { userAgent, store, ...parseApiVersion(settings, 'GOOGLE_GENAI_API_VERSION'), ...address };
  const { send, clock, random, trace } = app;
  const client = { place, identity, userAgent, send, clock, random, trace, retryBaseMs, notify };
  return {
    name: 'gemini-api',
    ...{ retryBaseMs, notify },
    fileSupport: { hasUploads: true, hasBuckets: false, hint: '' },
    backend: geminiApi(place, identity),
    endpoint: geminiApiUrl(place, ''),
    batchFields: toStoreField(place),
    async queries() {
      const { geminiApiQueries } = await import('../../api/queries.ts');
      return geminiApiQueries(place, client);
    },
    async files(retries) {
      const { createFilesClient } = await import('../../api/files.ts');
      return createFilesClient({ ...client, retries });
    },
    async batches(retries) {
      const { createBatchesClient } = await import('../../api/batches.ts');
      return createBatchesClient({ ...client, retries });
    },
    async decisions(retries) {
      const { createDecisionsClient } = await import('../../api/decisions.ts');
      return createDecisionsClient({ ...client, retries });
    },
    async interactions() {
      const { createInteractionsClient } = await import('../../api/interactions.ts');
      return createInteractionsClient(client);
    },
  };
}

const KEY_HINT = 'Larger files need an API key: gmn auth set-key (https://aistudio.google.com/apikey)';
const BUCKET_HINT = 'Put larger files into a bucket: -f gs://<bucket>/<object>';

/** Onboarding is polled every five retry delays: five seconds by default. */
const POLL_DELAYS = 5;

async function openCodeAssist(context: BackendContext): Promise<OpenedBackend> {
  const { app, settings, credential, identity, userAgent, retryBaseMs, notify } = context;
  const { codeAssist, codeAssistUrl, createOnboardings, createOnboardingCache, parseProject } = await import(
    '../../api/code-assist.ts'
  );
  const { clock, send } = app;
  const project = parseProject(settings.env);
  const place = {
    ...parseEndpoint(app, 'CODE_ASSIST_ENDPOINT'),
    ...parseApiVersion(app, 'CODE_ASSIST_API_VERSION'),
  };
  const caller = { identity, userAgent, send };
  const endpoint = codeAssistUrl(place, '');
  const owner = { endpoint: endpoint.href, account: credential.account, project };
  const onboardings = createOnboardings(createOnboardingCache(app.homes().gmn, owner, clock), async (signal) => {
    const { ensureOnboarded } = await import('../../api/code-assist-onboarding.ts');
    return ensureOnboarded({ place, caller, clock, project, pollMs: POLL_DELAYS * retryBaseMs }, signal);
  });
  const sessionId = randomId();
  return {
    name: 'code-assist',
    ...{ retryBaseMs, notify },
    fileSupport: { hasUploads: false, hasBuckets: false, hint: KEY_HINT },
    endpoint,
    tier: () => onboardings.findCached()?.tier,
    backend: codeAssist({ place, userAgent, identity, onboardings, project, sessionId }),
    async queries() {
      const { codeAssistQueries } = await import('../../api/code-assist-queries.ts');
      return codeAssistQueries({ place, caller, onboardings, clock });
    },
  };
}

async function openVertex(context: BackendContext): Promise<OpenedBackend> {
  const { app, settings, identity, carrier, userAgent, retryBaseMs, notify } = context;
  const { parseVertexProject, vertex, vertexUrl } = await import('../../api/vertex.ts');
  const { env } = settings;
  const project = env.GOOGLE_CLOUD_PROJECT || env.GOOGLE_CLOUD_PROJECT_ID;
  const place = {
    userAgent,
    ...parseEndpoint(app, 'GOOGLE_VERTEX_BASE_URL'),
    ...parseApiVersion(settings, 'GOOGLE_GENAI_API_VERSION'),
    site: carrier === 'key' ? undefined : parseVertexProject(project, env.GOOGLE_CLOUD_LOCATION),
  };
  return {
    name: 'vertex',
    ...{ retryBaseMs, notify },
    fileSupport: { hasUploads: false, hasBuckets: true, hint: BUCKET_HINT },
    backend: vertex(place, identity),
    endpoint: vertexUrl(place, ''),
    async queries() {
      const { vertexQueries } = await import('../../api/queries.ts');
      return vertexQueries(place, { identity, userAgent, send: app.send });
    },
  };
}

/** Reads the real environment, not `settings.env`. Throws AppError `config` if a credential must not be sent there. */
function parseEndpoint({ env }: App, name: string): { readonly baseUrl?: URL } {
  const value = env[name];
  return value ? { baseUrl: checkEndpoint(value, name) } : {};
}

function parseApiVersion({ env }: Pick<Settings, 'env'>, name: string): { readonly apiVersion?: string } {
  const value = env[name];
  // `beta` is the SDK's word for what each backend uses anyway.
  if (!value || value === 'beta') return {};
  if (/^v\d\w{0,30}$/.test(value)) return { apiVersion: value };
  throw new AppError('config', `${name} is not an API version`, { hint: `Example: ${name}=v1beta` });
}

function parseRetryDelay({ env }: App): number {
  const text = env.GMN_RETRY_DELAY;
  if (text === undefined || text === '') return 1000;
  const ms = tryParseDuration(text);
  if (ms !== undefined) return ms;
  throw new AppError('config', `GMN_RETRY_DELAY: "${text}" is not a duration`, {
    hint: 'Example: GMN_RETRY_DELAY=500ms',
  });
}
