import { SECRET_HEADERS } from '../../api/backend.ts';
import { geminiModel } from '../../api/call.ts';
import type { Fallback, Substitute } from '../../api/fallback.ts';
import type { FilesClient } from '../../api/files.ts';
import type { Queries } from '../../api/queries.ts';
import type { CredentialChoice } from '../../auth/choice.ts';
import { chooseCredential } from '../../auth/credential.ts';
import type { ConfiguredModel } from '../../config/model-configs.ts';
import type { App, Settings } from '../../core/app.ts';
import { loadOnce } from '../../core/async.ts';
import type { BatchesClient } from '../../core/batches.ts';
import type { Credential } from '../../core/credential.ts';
import type { DecisionsClient } from '../../core/decision.ts';
import { AppError } from '../../core/error.ts';
import type { Notify } from '../../core/event.ts';
import type { FileSupport } from '../../core/files.ts';
import type { InteractionsClient } from '../../core/interaction.ts';
import type { HttpRequest } from '../../core/io.ts';
import { type JsonObject, omitUndefined } from '../../core/json.ts';
import type { CountedCall, Model, ModelRequest } from '../../core/model.ts';
import type { BilledCall } from '../../core/usage.ts';
import { cacheDefault, DEFAULT_NAME, defaultChoice, readCachedDefault, resolveModel } from '../../models/choice.ts';
import { createGenerationConfig } from '../../models/generation.ts';
import {
  assumeModelFacts,
  type Backend as BackendName,
  BUILT_IN,
  findOfficeGap,
  IMAGE_BUILT_IN,
  isSlowModel,
} from '../../models/table.ts';
import type { Budget } from '../limits/budget.ts';
import { deadlineError } from '../limits/limits.ts';
import { type OpenedBackend, openBackend, withEndpointHint } from './backend.ts';
import type { ModelSetup } from './setup.ts';
import type { createUploads, FileNeed } from './uploads.ts';

export interface OpenedModel {
  readonly model: Model;
  readonly modelId: string;
  /** The name that asks the same model again, wherever the name came from: `KeptSetup.model`. */
  readonly askedName: string;
  readonly backend: BackendName;
  /** Where its calls are billed: the backend, or `demo`. */
  readonly billedTo: string;
  /** `Credential.account`: a signature made for one account is not valid for another. */
  readonly account: () => string;
  readonly tier: () => string | undefined;
  readonly generationConfig: JsonObject;
  readonly fileSupport: FileSupport;
  /** Uploads the files of this machine that the request names, and inserts their new addresses. Throws AppError. */
  provideFiles(request: ModelRequest, need: FileNeed): Promise<ModelRequest>;
  /** The HTTP request for `request`, without its credential. Sends nothing. */
  preview(request: ModelRequest): Promise<JsonObject>;
  preconnect(): void;
  readonly queries: () => Promise<Queries>;
  readonly files?: (retries?: number) => Promise<FilesClient>;
  readonly batches?: (retries?: number) => Promise<BatchesClient>;
  readonly decisions?: () => Promise<DecisionsClient>;
  readonly interactions?: () => Promise<InteractionsClient>;
  readonly batchFields?: JsonObject;
  /** `--timeout`, else what this model may take; 0 means no limit. */
  readonly timeoutMs: number;
  readonly retryBaseMs: number;
  readonly notify: Notify;
  readonly retries: number | undefined;
  readonly fallback?: string;
  close(): Promise<void>;
}

export const DEFAULT_TIMEOUT_MS = 300_000;

const FLEX_TIMEOUT_MS = 900_000;

/** Google advises at least 15 minutes for Gemini 4, and others think as long if they are told to. */
const SLOW_TIMEOUT_MS = 1_200_000;

/** Before the model is known, that of an ordinary one; see `OpenedModel.timeoutMs`. */
export function chooseTimeout(timeout: number | undefined, { serviceTier }: ModelSetup, isSlow = false): number {
  if (timeout !== undefined) return timeout;
  return isSlow ? SLOW_TIMEOUT_MS : serviceTier === 'flex' ? FLEX_TIMEOUT_MS : DEFAULT_TIMEOUT_MS;
}

export interface ModelLimits {
  /** In milliseconds; 0 means no limit. Default: what the model may take. */
  readonly timeout?: number;
  /** Shows how far an upload is. */
  readonly showProgress?: (text: string) => void;
  /** When the run must end, in milliseconds since the epoch: no wait goes beyond it. */
  readonly endsAt?: () => number | undefined;
  /** Stops the clock while a file is uploaded, until the returned function is called. Absent: uploading counts. */
  readonly pause?: () => () => void;
  /** Whether each request has the timeout for itself: time spent in tools and on questions does not count. */
  readonly isTimedByRequest?: boolean;
  readonly budget?: Budget | undefined;
  /** Gets what the settings, the credential and the model have to say, now and while it is asked. */
  readonly notify: Notify;
}

/** Throws AppError `auth` if there is no credential, and what else is wrong. Sends nothing. */
export async function requireCredential(options: ModelSetup, app: App): Promise<void> {
  await (await openModel(options, app, { notify: () => {} })).close();
}

/** With `--demo` the real client talks to a server on the loopback interface. Sends nothing yet. Throws AppError. */
export async function openModel(options: ModelSetup, app: App, limits: ModelLimits): Promise<OpenedModel> {
  const { notify } = limits;
  const settings = await app.settings();
  checkDemo(options);
  const demo = options.demo ? await (await import('../../demo/server.ts')).startDemo({ clock: app.clock }) : undefined;
  try {
    const choice = demo
      ? DEMO_CHOICE
      : await chooseCredential({
          ...app,
          flag: options.auth,
          settings,
          // It may say what a person has to do now.
          notify: (message) => notify({ type: 'notice', message, isUrgent: true }),
          isRehearsal: options.dryRun ?? false,
        });
    const address = demo && { baseUrl: new URL(demo.url) };
    const opened = await openBackend(choice, {
      ...{ app, settings, wanted: options.backend, store: options.store, notify },
      ...address,
    });
    // The connection opens while gmn waits for stdin, files, a token or a person.
    if (!options.dryRun) app.preconnect(opened.endpoint);
    const configure = await openModelConfigs(settings);
    for (const notice of [...settings.notices, ...choice.notices]) notify(notice);
    const { credential } = choice;
    const model = createModel(options, { app, settings, limits, opened, credential, configure });
    return { ...model, close: async () => demo?.close() };
  } catch (thrown) {
    await demo?.close();
    throw thrown;
  }
}

/** Sends as the app does, but waits longer for answers that may take minutes before they begin. */
function chooseSend({ env, send }: App, { serviceTier, builtIn }: ModelSetup, isSlow: boolean): App['send'] {
  if (!isSlow && serviceTier !== 'flex' && builtIn !== IMAGE_BUILT_IN) return send;
  const headersMs = isSlow ? SLOW_TIMEOUT_MS : FLEX_TIMEOUT_MS;
  const timers = omitUndefined({
    headersMs: env.GMN_HEADERS_TIMEOUT ? undefined : headersMs,
    idleMs: env.GMN_IDLE_TIMEOUT || !isSlow ? undefined : SLOW_TIMEOUT_MS,
  });
  return (request, signal) => send({ ...request, timers }, signal);
}

function checkDemo({ demo, auth, backend }: ModelSetup): void {
  const flag = auth === undefined ? backend && '--backend' : '--auth';
  if (!demo || !flag) return;
  throw new AppError('usage', `${flag} cannot be combined with --demo: the offline model needs no account`, {
    hint: `Leave ${flag} out; or leave --demo out (and GMN_DEMO), to ask Gemini.`,
  });
}

const DEMO_CHOICE: CredentialChoice = {
  credential: {
    type: 'gemini-api-key',
    source: '--demo',
    account: 'demo',
    headers: async () => ({ 'x-goog-api-key': 'demo' }),
  },
  carrier: 'key',
  notices: [],
};

interface ModelParts {
  readonly app: App;
  readonly settings: Settings;
  readonly limits: ModelLimits;
  readonly opened: OpenedBackend;
  readonly credential: Credential;
  readonly configure: Configure;
}

type Configure = (name: string | undefined, resolveId: (name: string | undefined) => string) => ConfiguredModel;

/** Applies the aliases and overrides of the settings; loads nothing if there are none. */
async function openModelConfigs({ modelConfigs }: Settings): Promise<Configure> {
  if (modelConfigs === undefined) return () => ({ config: {}, notices: [] });
  const { resolveConfiguredModel } = await import('../../config/model-configs.ts');
  return (name, resolveId) => resolveConfiguredModel(modelConfigs, name, resolveId);
}

function createModel(options: ModelSetup, parts: ModelParts): Omit<OpenedModel, 'close'> {
  const { app, settings, limits, opened, credential, configure } = parts;
  const { name, backend, retryBaseMs, files, batches } = opened;
  const named = options.model ?? options.keptModel;
  const source = options.model !== undefined ? '-m' : named === undefined ? 'the settings' : 'the session';
  const standard = named === undefined ? options.builtIn : undefined;
  const resolve = (asked: string | undefined) => resolveModel(asked, { backend: name, source });
  const resolveId = (asked: string | undefined): string => resolve(asked).id;
  const asked = standard?.id ?? named ?? settings.model;
  const configured = configure(asked === DEFAULT_NAME ? undefined : asked, resolveId);
  const choice =
    standard && configured.model === undefined ? defaultChoice(standard.id) : resolve(configured.model ?? asked);
  const toConfig = (id: string): JsonObject =>
    createGenerationConfig(id, options, id === choice.id ? configured.config : configure(id, resolveId).config);
  // A getter, since finding the account may take time.
  const owner = {
    backend: name,
    get account() {
      return credential.account;
    },
  };
  const { fallbacks, choose } = standard ?? BUILT_IN;
  const to = fallbacks[name];
  // With a budget, only to a model whose price is known.
  const mayFallBack = choice.isDefault && !options.noFallback && (limits.budget?.hasPrice(to, name) ?? true);
  const remember = (): Promise<void> => cacheDefault(app, owner, to, choice.id);
  const fallback: Fallback | undefined = mayFallBack
    ? { from: choice.id, choose, remember, ...createSubstitute(choice.id, to, toConfig) }
    : undefined;
  const modelId = (fallback && readCachedDefault(app, owner, choice.id)) ?? choice.id;
  const others = (options.fallback?.split(',') ?? []).map((wanted) =>
    resolveModel(wanted.trim(), { backend: name, source: '--fallback' }),
  );
  // Fails before anything is sent if a flag is impossible with one of them.
  for (const { id } of others) toConfig(id);
  const ids = new Set(others.map(({ id }) => id).filter((id) => id !== modelId));
  const alternatives = [...ids].map((id) => createSubstitute(modelId, id, toConfig));
  const retries = chooseRetries(options, settings);
  const { endsAt, isTimedByRequest, pause, budget, notify, showProgress } = limits;
  for (const notice of [choice, configured, ...others].flatMap(({ notices }) => notices)) notify(notice);
  const target = {
    backend: name,
    account: () => credential.account,
    files: files && ((own = retries) => files(own)),
    batches: batches && ((own = retries) => batches(own)),
  };
  const sizes = new Map<string, number>();
  const { provideFiles, withFiles } = createFileProvider(app, target, {
    ...{ isRemembered: !options.demo && !app.isRecorded && !app.replayed, pause, notify, showProgress },
    onProvided: ({ uri }, bytes) => void sizes.set(uri, bytes),
  });
  const models = [modelId, ...ids, ...(fallback === undefined ? [] : [fallback.to])];
  const isSlow = options.thinkingLevel === 'high' || options.thinkingLevel === 'xhigh' || models.some(isSlowModel);
  const timeoutMs = chooseTimeout(limits.timeout, options, isSlow);
  const model = geminiModel({
    requestTimeout: isTimedByRequest ? { ms: timeoutMs, error: () => deadlineError(timeoutMs) } : undefined,
    contentIdleMs: isSlow ? SLOW_TIMEOUT_MS : undefined,
    ...{ fallback, alternatives },
    ...{ retries, retryBaseMs, random: app.random, clock: app.clock, deadline: endsAt },
    hasSteadyIds: app.isRecorded !== undefined || app.replayed !== undefined,
    showsThoughts: options.showThoughts ?? false,
    dropsThoughts: options.followThoughts && !options.showThoughts,
    backend,
    send: withEndpointHint(name, { env: app.env, send: chooseSend(app, options, isSlow) }),
    trace: app.trace,
    spending: budget?.limitSpending({ models, backend: name, sizes, notify }),
  });
  return {
    model: withFiles(fitWindow(model, modelId)),
    ...target,
    provideFiles,
    fileSupport: { ...opened.fileSupport, officeGap: findOfficeGap(models) },
    batchFields: opened.batchFields,
    modelId,
    askedName: (choice.isDefault ? standard?.id : asked) ?? DEFAULT_NAME,
    tier: () => opened.tier?.(),
    billedTo: options.demo ? 'demo' : name,
    generationConfig: toConfig(modelId),
    async preview(request) {
      const { withoutLocalFiles } = await import('./local-files.ts');
      return toPreview(await backend.preview(withoutLocalFiles(request)));
    },
    preconnect: () => app.preconnect(opened.endpoint),
    interactions: opened.interactions,
    ...limitClients(opened, { retries, budget, sizes }),
    ...{ timeoutMs, retryBaseMs, notify, retries },
    fallback: fallback?.to,
  };
}

interface ClientLimits {
  readonly retries: number | undefined;
  readonly budget: Budget | undefined;
  readonly sizes: ReadonlyMap<string, number>;
}

/** What costs tokens besides model calls, within the budget. */
function limitClients(
  { name: backend, queries, decisions }: OpenedBackend,
  { retries, budget, sizes }: ClientLimits,
): Pick<OpenedModel, 'queries' | 'decisions'> {
  const decide = decisions && (() => decisions(retries));
  if (budget === undefined) return { queries, decisions: decide };
  return {
    queries: async () => budget.limitQueries(await queries(), { backend, sizes }),
    decisions: decide && (async () => budget.limitDecisions(await decide(), { backend, sizes })),
  };
}

export function toBilledCall(
  { model, usage, details, serviceTier }: CountedCall,
  backend: string,
  at: number,
): BilledCall {
  return { model, usage: { ...usage, ...details }, at, backend, serviceTier };
}

/** Where input and output share the window, a long prompt leaves room for a shorter answer only. */
function fitWindow(model: Model, id: string): Model {
  const { inputLimit: window = 0, sharesWindow } = assumeModelFacts(id) ?? {};
  if (!sharesWindow) return model;
  return {
    async *stream(request, ...rest) {
      const { fitOutput } = await import('./shared-window.ts');
      return yield* model.stream(fitOutput(request, window), ...rest);
    },
  };
}

function createSubstitute(from: string, to: string, toConfig: (id: string) => JsonObject): Substitute {
  return {
    to,
    generationConfig(sent) {
      const own = toConfig(from);
      const others = Object.entries(sent).filter(([key]) => !Object.hasOwn(own, key));
      const config = { ...toConfig(to), ...Object.fromEntries(others) };
      const { maxOutputTokens: limit } = sent;
      // Whoever asks may have lowered it.
      const isLowered = typeof limit === 'number' && limit < Number(own.maxOutputTokens ?? 0);
      return isLowered
        ? { ...config, maxOutputTokens: Math.min(limit, Number(config.maxOutputTokens ?? limit)) }
        : config;
    },
  };
}

const MAX_RETRIES = 10;

/** As in the official CLI, a larger setting means this. */
const MAX_ATTEMPTS = 10;

export function chooseRetries({ retries }: ModelSetup, { maxAttempts }: Settings): number | undefined {
  if (retries === undefined) return maxAttempts && Math.min(maxAttempts, MAX_ATTEMPTS) - 1;
  if (retries >= 0 && retries <= MAX_RETRIES) return retries;
  throw new AppError('usage', `--retries: ${retries} is out of range`, { hint: `It must be 0 to ${MAX_RETRIES}.` });
}

function toPreview({ method, url, headers, body }: HttpRequest): JsonObject {
  const shown = Object.entries(headers).filter(([name]) => !SECRET_HEADERS.includes(name.toLowerCase()));
  return { method, url: url.href, headers: Object.fromEntries(shown), body: JSON.parse(body?.toString() ?? 'null') };
}

function createFileProvider(
  app: App,
  target: Pick<OpenedModel, 'files' | 'backend' | 'account'>,
  options: Parameters<typeof createUploads>[2],
) {
  const load = () => import('./uploads.ts');
  const open = loadOnce(async () => (await load()).createUploads(app, target, options));
  return {
    provideFiles: async (request: ModelRequest, need: FileNeed) => (await load()).provideFiles(request, open, need),
    /** A model that takes requests with files of this machine. Other requests go directly to the given model. */
    withFiles(model: Model): Model {
      const uploading: Model = {
        async *stream(request, ...rest) {
          return yield* (await load()).streamWithFiles(model, request, open, ...rest);
        },
      };
      return { stream: (request, ...rest) => (hasLocalFile(request) ? uploading : model).stream(request, ...rest) };
    },
  };
}

function hasLocalFile({ contents }: ModelRequest): boolean {
  return contents.some(({ parts }) => parts.some((part) => 'localFile' in part));
}
