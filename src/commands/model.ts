import { geminiModel } from '../api/call.ts';
import { checkEndpoint } from '../api/endpoint.ts';
import { geminiApi } from '../api/gemini-api.ts';
import { generationConfig, type Sampling } from '../config/generation.ts';
import type { App } from '../core/app.ts';
import { parseDuration } from '../core/duration.ts';
import { AppError } from '../core/error.ts';
import type { HttpRequest } from '../core/http.ts';
import type { JsonObject } from '../core/json.ts';
import type { Model, ModelRequest } from '../core/model.ts';

const DEFAULT_MODEL = 'gemini-2.5-flash';

/** The flags that choose a model and how it samples. */
export interface ModelOptions extends Sampling {
  readonly model?: string;
  readonly demo?: boolean;
}

/** A model ready to be asked. */
export interface OpenedModel {
  readonly model: Model;
  readonly modelId: string;
  readonly generationConfig: JsonObject;
  /** What the person should know before the answer. */
  readonly notices: readonly string[];
  /** The HTTP request that `request` would become, without its credential. */
  preview(request: ModelRequest): Promise<JsonObject>;
  close(): Promise<void>;
}

/** Settings, credential and backend as one model. Throws AppError: `config`, `auth` or `usage`, all before the network. */
export async function openModel(options: ModelOptions, app: App, timeoutMs: number): Promise<OpenedModel> {
  const settings = await app.settings();
  const modelId = options.model ?? (app.env.GEMINI_MODEL || settings.model) ?? DEFAULT_MODEL;
  const config = generationConfig(modelId, options);
  const demo = options.demo ? await startDemo(app) : undefined;
  const override = app.env.GOOGLE_GEMINI_BASE_URL;
  const baseUrl = demo ? new URL(demo.url) : override ? checkEndpoint(override, 'GOOGLE_GEMINI_BASE_URL') : undefined;
  const backend = geminiApi({
    key: demo ? 'demo' : (app.env.GEMINI_API_KEY ?? ''),
    userAgent: `gmn/${app.version}`,
    ...(baseUrl === undefined ? {} : { baseUrl }),
  });
  const model = geminiModel({
    backend,
    send: app.send,
    clock: app.clock,
    trace: app.trace,
    random: app.random,
    retryBaseMs: retryBase(app),
    showsThoughts: options.showThoughts ?? false,
    ...(timeoutMs > 0 ? { deadline: app.clock.now() + timeoutMs } : {}),
  });
  return {
    model,
    modelId,
    generationConfig: config,
    notices: settings.notices,
    preview: async (request) => previewOf(await backend.prepare(request, { signal: app.signal, renew: false })),
    close: async () => demo?.close(),
  };
}

/** The real client talks to it, over the loopback: only the answers are made up. */
async function startDemo(app: App): Promise<{ readonly url: string; close(): Promise<void> }> {
  const demo = await import('../demo/server.ts');
  return demo.startDemo({ clock: app.clock });
}

function retryBase({ env }: App): number {
  const text = env.GMN_RETRY_DELAY;
  if (text === undefined || text === '') return 1000;
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  throw new AppError('config', `GMN_RETRY_DELAY: "${text}" is not a duration`, {
    hint: 'Example: GMN_RETRY_DELAY=500ms',
  });
}

function previewOf({ method, url, headers, body }: HttpRequest): JsonObject {
  const shown = Object.entries(headers).filter(([name]) => !['x-goog-api-key', 'authorization'].includes(name));
  return { method, url: url.href, headers: Object.fromEntries(shown), body: JSON.parse(body ?? 'null') };
}
