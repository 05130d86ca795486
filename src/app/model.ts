import { SECRET_HEADERS } from '../api/backend.ts';
import { geminiModel } from '../api/call.ts';
import type { Queries } from '../api/queries.ts';
import { withFallback } from '../api/succession.ts';
import { chooseCredential } from '../auth/credential.ts';
import type { ConfiguredModel } from '../config/model-configs.ts';
import type { App, Settings } from '../core/app.ts';
import type { Credential } from '../core/credential.ts';
import { AppError } from '../core/error.ts';
import type { HttpRequest } from '../core/io.ts';
import type { JsonObject } from '../core/json.ts';
import type { Model, ModelRequest, Reply, ReplyEvent } from '../core/model.ts';
import { cacheDefault, defaultChoice, readCachedDefault, resolveModel } from '../models/choice.ts';
import { generationConfig, type Sampling } from '../models/generation.ts';
import { type Backend as BackendName, BUILT_IN, type BuiltInModel } from '../models/table.ts';
import { createBackendContext, openBackend, openGeminiApi } from './backend.ts';
import type { OpenedBackend } from './opened-backend.ts';

export interface ModelOptions extends Sampling {
  readonly model?: string;
  /** Used if `model` is absent, regardless of the settings. */
  readonly builtIn?: BuiltInModel;
  readonly auth?: string;
  readonly backend?: BackendName;
  readonly demo?: boolean;
  readonly retries?: number;
  readonly noFallback?: boolean;
  readonly dryRun?: boolean;
  readonly quiet?: boolean;
  readonly outputFormat?: 'text' | 'json' | 'stream-json';
}

export interface OpenedModel {
  readonly model: Model;
  readonly modelId: string;
  readonly backend: BackendName;
  /** `Credential.account`: a signature made for one account is not valid for another. */
  readonly account: () => string;
  readonly generationConfig: JsonObject;
  readonly notices: readonly string[];
  /** The HTTP request for `request`, without its credential. Sends nothing. */
  preview(request: ModelRequest): Promise<JsonObject>;
  readonly inquiries: () => Promise<Queries>;
  readonly retryBaseMs: number;
  readonly retries: number | undefined;
  /** The fallback model if `modelId`, which the user did not choose, is gone. */
  readonly successor?: string;
  close(): Promise<void>;
}

/**
 * Opens a model from settings, credential and backend. It starts no wait beyond `endsAt`, in milliseconds since the
 * epoch. Throws AppError `config`, `auth` or `usage` before any network access.
 */
export async function openModel(
  options: ModelOptions,
  app: App,
  endsAt: () => number | undefined,
): Promise<OpenedModel> {
  const settings = await app.settings();
  checkDemo(options);
  if (options.demo) return openDemo(options, { app, settings, endsAt });
  const said = collectNotices(options, app);
  const flag = options.auth === undefined ? {} : { flag: options.auth };
  const choice = await chooseCredential({
    ...app,
    ...flag,
    settings,
    say: said.say,
    isRehearsal: options.dryRun ?? false,
  });
  const wanted = options.backend === undefined ? {} : { wanted: options.backend };
  const opened = await openBackend(choice, { app, settings, ...wanted });
  const { credential } = choice;
  const configure = await openModelConfigs(settings);
  const model = createModel(options, { app, settings, endsAt, opened, credential, configure });
  return {
    ...model,
    model: choice.carrier === 'key' ? model.model : said.relay(model.model),
    notices: [...settings.notices, ...choice.notices, ...said.take(), ...model.notices],
  };
}

function checkDemo({ demo, auth, backend }: ModelOptions): void {
  const flag = auth === undefined ? backend && '--backend' : '--auth';
  if (!demo || !flag) return;
  throw new AppError('usage', `${flag} cannot be combined with --demo: the offline model needs no account`, {
    hint: `Leave ${flag} out; or leave --demo out (and GMN_DEMO), to ask Gemini.`,
  });
}

interface ModelContext {
  readonly app: App;
  readonly settings: Settings;
  readonly endsAt: () => number | undefined;
}

interface ModelParts extends ModelContext {
  readonly opened: OpenedBackend;
  readonly credential: Credential;
  readonly configure: Configure;
}

type Configure = (name: string | undefined, idOf: (name: string | undefined) => string) => ConfiguredModel;

/** Applies the aliases and overrides of the settings; loads nothing if there are none. */
async function openModelConfigs({ modelConfigs }: Settings): Promise<Configure> {
  if (modelConfigs === undefined) return () => ({ config: {}, notices: [] });
  const { resolveConfiguredModel } = await import('../config/model-configs.ts');
  return (name, idOf) => resolveConfiguredModel(modelConfigs, name, idOf);
}

const ENDPOINT_VARIABLES: Readonly<Record<OpenedBackend['name'], string>> = {
  'gemini-api': 'GOOGLE_GEMINI_BASE_URL',
  'code-assist': 'CODE_ASSIST_ENDPOINT',
  vertex: 'GOOGLE_VERTEX_BASE_URL',
};

/** Adds the variable's name to the hint if the address it gives cannot be reached. */
function withEndpointHint(name: OpenedBackend['name'], { env, send }: App): App['send'] {
  const variable = ENDPOINT_VARIABLES[name];
  if (!env[variable]) return send;
  return async (request, signal) => {
    try {
      return await send(request, signal);
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.fault !== 'api') throw thrown;
      throw thrown.with({ hint: `${thrown.hint ?? ''} The address is from ${variable}.`.trimStart() });
    }
  };
}

function createModel(options: ModelOptions, assembly: ModelParts): OpenedModel {
  const { app, settings, endsAt, opened, credential, configure } = assembly;
  const { name, backend } = opened;
  const source = options.model === undefined ? 'the settings' : '-m';
  const standard = options.model === undefined ? options.builtIn : undefined;
  const resolved = (asked: string | undefined) => resolveModel(asked, { backend: name, source });
  const idOf = (asked: string | undefined): string => resolved(asked).id;
  const asked = standard?.id ?? options.model ?? settings.model;
  const configured = configure(asked, idOf);
  const choice =
    standard && configured.model === undefined ? defaultChoice(standard.id) : resolved(configured.model ?? asked);
  const isReplaceable = choice.isDefault && !options.noFallback;
  const retries = checkRetries(options);
  // A getter, since finding the account may take time.
  const owner = {
    backend: name,
    get account() {
      return credential.account;
    },
  };
  const modelId = (isReplaceable ? readCachedDefault(app, owner, choice.id) : undefined) ?? choice.id;
  const model = geminiModel({
    backend,
    send: withEndpointHint(name, app),
    clock: app.clock,
    trace: app.trace,
    random: app.random,
    retryBaseMs: opened.retryBaseMs,
    retries,
    showsThoughts: options.showThoughts ?? false,
    deadline: endsAt,
    isMadeGood: async (failure, asked) =>
      isReplaceable && asked === choice.id && (await import('../api/fallback.ts')).isModelGone(failure),
  });
  const { successors, choose } = standard ?? BUILT_IN;
  const fallbackId = successors[name];
  const fallback = {
    retired: choice.id,
    successor: fallbackId,
    choose,
    generationConfig: (sent: JsonObject) => {
      const own = generationConfig(choice.id, options, configured.config);
      const others = Object.entries(sent).filter(([key]) => !Object.hasOwn(own, key));
      return {
        ...generationConfig(fallbackId, options, configure(fallbackId, idOf).config),
        ...Object.fromEntries(others),
      };
    },
    remember: () => cacheDefault(app, owner, fallbackId, choice.id),
  };
  return {
    model: isReplaceable ? withFallback(model, fallback) : model,
    modelId,
    backend: name,
    account: () => credential.account,
    generationConfig: generationConfig(
      modelId,
      options,
      modelId === choice.id ? configured.config : configure(modelId, idOf).config,
    ),
    notices: [...choice.notices, ...configured.notices],
    preview: async (request) => toPreview(await backend.preview(request)),
    inquiries: opened.inquiries,
    retryBaseMs: opened.retryBaseMs,
    retries,
    ...(isReplaceable ? { successor: fallbackId } : {}),
    close: async () => {},
  };
}

const MAX_RETRIES = 10;

function checkRetries({ retries }: ModelOptions): number | undefined {
  if (retries === undefined || (retries >= 0 && retries <= MAX_RETRIES)) return retries;
  throw new AppError('usage', `--retries: ${retries} is out of range`, { hint: `It must be 0 to ${MAX_RETRIES}.` });
}

const DEMO_CREDENTIAL: Credential = {
  type: 'gemini-api-key',
  source: '--demo',
  account: 'demo',
  headers: async () => ({ 'x-goog-api-key': 'demo' }),
};

/** The real client talks to a demo server on the loopback interface; only the answers are made up. */
async function openDemo(options: ModelOptions, setting: ModelContext): Promise<OpenedModel> {
  const { app, settings } = setting;
  const { startDemo } = await import('../demo/server.ts');
  const demo = await startDemo({ clock: app.clock });
  try {
    const context = createBackendContext({ credential: DEMO_CREDENTIAL, carrier: 'key' }, app, settings);
    const opened = openGeminiApi(context, { baseUrl: new URL(demo.url) });
    const configure = await openModelConfigs(settings);
    const model = createModel(options, { ...setting, opened, credential: DEMO_CREDENTIAL, configure });
    return { ...model, notices: [...settings.notices, ...model.notices], close: () => demo.close() };
  } catch (thrown) {
    await demo.close();
    throw thrown;
  }
}

function toPreview({ method, url, headers, body }: HttpRequest): JsonObject {
  const shown = Object.entries(headers).filter(([name]) => !SECRET_HEADERS.includes(name.toLowerCase()));
  return { method, url: url.href, headers: Object.fromEntries(shown), body: JSON.parse(body ?? 'null') };
}

interface NoticeCollector {
  readonly say: (message: string) => void;
  readonly take: () => readonly string[];
  /** The model, with messages that arrive while it answers among its events. */
  readonly relay: (model: Model) => Model;
}

/** The return value of a stream that is closed early; never used. */
const NO_REPLY: Reply = { finishReason: '', usage: {}, model: '' };

/** Messages of the credential: printed at once on a terminal, else among the notices, else in the stream. */
function collectNotices(options: ModelOptions, { io }: App): NoticeCollector {
  const isSeen = (): boolean => !options.quiet && (options.outputFormat ?? 'text') === 'text' && io.err.isTerminal;
  const kept: string[] = [];
  const take = (): readonly string[] => kept.splice(0);
  async function* relayNotices(events: AsyncGenerator<ReplyEvent, Reply>): AsyncGenerator<ReplyEvent, Reply> {
    try {
      for (;;) {
        const step = await events.next();
        for (const message of take()) yield { type: 'notice', message };
        if (step.done) return step.value;
        yield step.value;
      }
    } finally {
      // The consumer may have stopped, and an open stream would keep its connection.
      await events.return(NO_REPLY);
    }
  }
  return {
    take,
    say(message: string): void {
      if (isSeen()) io.err.write(`gmn: ${message}\n`).catch(() => {});
      else kept.push(message);
    },
    relay: (model: Model): Model => ({ stream: (request, signal) => relayNotices(model.stream(request, signal)) }),
  };
}
