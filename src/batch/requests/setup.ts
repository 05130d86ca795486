import { REDACTED_NOTICE } from '../../agent/turn.ts';
import type { BatchDecisionFlags } from '../../app/decision.ts';
import { chooseTemplate } from '../../app/template.ts';
import type { App } from '../../core/app.ts';
import { AppError, serverError } from '../../core/error.ts';
import { toNoticeEvent } from '../../core/event.ts';
import { canonicalJson, type JsonObject } from '../../core/json.ts';
import type { ModelRequest } from '../../core/model.ts';
import type { BilledCall } from '../../core/usage.ts';
import { createLazyRedaction } from '../../engine/agent.ts';
import type { Host } from '../../engine/host.ts';
import type { Budget } from '../../engine/limits/budget.ts';
import { chooseRetries, type ModelOptions, type OpenedModel } from '../../engine/model/model.ts';
import type { FileNeed } from '../../engine/model/uploads.ts';
import { openRun, type Run, type RunFacts } from '../../engine/run.ts';
import { createAttachments } from '../../input/attachment.ts';
import { type AttachedItem, addFiles } from '../../input/files.ts';
import { makesPictures } from '../../models/table.ts';
import { formatAssignment } from '../../platform/runtime/system.ts';
import { hashSetting, type RunSettings } from '../output/run-file.ts';
import type { PendingRow } from '../rows/row-engine.ts';
import type { Prices } from './price.ts';
import { createRowPrompt } from './row-prompt.ts';
import { createRequests, type RowRequest } from './row-request.ts';

export interface BatchOptions extends ModelOptions, BatchDecisionFlags {
  readonly prompt?: string;
  readonly template?: string;
  readonly param?: readonly string[];
  readonly file?: readonly string[];
  readonly system?: string;
  /** Like it, but literal: a leading `@` does not name a file. */
  readonly systemText?: string;
  /** Whether rows are asked with what the context files say; the library says `noContext` for the opposite. */
  readonly context?: boolean;
  readonly noContext?: boolean;
  readonly appendSystemPrompt?: string;
  readonly outputSchema?: string;
}

export type BatchSetup = Awaited<ReturnType<typeof openBatch>>;

export interface SetupContext {
  readonly prices: Prices;
  /** For all rows; absent if each job has its own. */
  readonly budget?: Budget;
  readonly onCall: (call: BilledCall) => void;
  /** An urgent one is for now: it says what a person has to do. */
  readonly onNotice: (message: string, isUrgent?: boolean) => void;
  readonly signal: AbortSignal;
}

export const DEFAULT_RETRIES = 3;

export interface RowPreview {
  readonly request: JsonObject;
  /** The files that would be uploaded for it. */
  readonly uploads: readonly string[];
}

const MAX_MODELS = 50;

/** What is needed to convert rows to requests, for any engine. Throws AppError. */
export async function openBatch(options: BatchOptions, app: App, context: SetupContext) {
  const template = options.template === undefined ? undefined : await chooseTemplate(options.template, app);
  const prompt = createRowPrompt({ words: options.prompt, template, params: options.param ?? [] });
  // The engine retries, not the model: what one row learns of the server holds for all.
  const { retries = chooseRetries(options, await app.settings()) ?? DEFAULT_RETRIES } = options;
  const { noContext = !options.context } = options;
  const own = { noContext, retries: 0, timing: 'request', servers: 'none', budget: context.budget } as const;
  const setup = { ...options, ...own };
  const host = createBatchHost(context.onNotice);
  const runs: Run[] = [];
  const open = async (own: { readonly model?: string }): Promise<Run> => {
    const run = await openRun({ ...setup, ...own }, app, host);
    runs.push(run);
    requireBatchBackend(run.facts.model);
    requireTextModel(run.facts.model);
    return run;
  };
  const close = async (): Promise<void> => {
    for (const run of runs) await run.close();
  };
  try {
    const run = await open({});
    const { model: opened, agent, schema } = run.facts;
    const { generationConfig } = agent.request;
    const attachments = await readSharedFiles(options.file ?? [], app, { opened, host, signal: context.signal });
    const others = new Map<string, Promise<Run>>();
    const chooseRun = (name: string): Promise<Run> => {
      const known = others.get(name);
      if (known !== undefined) return known;
      if (others.size >= MAX_MODELS) {
        throw new AppError('usage', `the rows name more than ${MAX_MODELS} models`, {
          hint: 'Split the input by model.',
        });
      }
      const opening = open({ model: name });
      others.set(name, opening);
      return opening;
    };
    const requests = await createRequests({
      ...{ app, run, chooseRun, prompt, attachments },
      prices: context.prices,
      onCall: context.onCall,
      onNotice: context.onNotice,
    });
    const redactRequest = async ({ agent: { request, redaction }, contents }: RowRequest): Promise<ModelRequest> => {
      const given: ModelRequest = { ...request, contents };
      const redacted = (await redaction?.redact(given)) ?? given;
      if (redacted !== given) context.onNotice(REDACTED_NOTICE);
      return redacted;
    };
    return {
      opened,
      retries,
      schema,
      /** What the answers depend on besides the rows; see `RunFile`. */
      settings: {
        '-m': opened.modelId,
        ...describeInstruction(run.facts),
        ...toHashedSetting('-p', options.prompt),
        ...toHashedSetting('--template', template?.body),
        ...(options.param === undefined ? {} : { '--param': options.param }),
        ...describeFiles(attachments),
        ...(options.serviceTier === undefined ? {} : { '--service-tier': options.serviceTier }),
        ...describeConfig(generationConfig),
      } as RunSettings,
      isPromptNeeded: template === undefined && options.prompt === undefined,
      ...requests,
      checkRow: prompt.check,
      redact: createLazyRedaction(app).redact,
      /** With the addresses of files that are uploaded for it. Throws AppError. */
      provide: async (request: RowRequest, need: FileNeed): Promise<ModelRequest> =>
        opened.provideFiles(await redactRequest(request), need),
      /** As it would be sent. Uploads nothing. */
      async preview(row: PendingRow): Promise<RowPreview> {
        const { listLocalFiles } = await import('../../engine/model/local-files.ts');
        const request = await requests.toRequest(row);
        const redacted = await redactRequest(request);
        return { request: await request.run.facts.model.preview(redacted), uploads: listLocalFiles(redacted) };
      },
      close,
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** Rows have no tools, so there is nothing to ask. */
export function createBatchHost(onNotice: SetupContext['onNotice']): Host {
  return {
    notify(notice) {
      const event = toNoticeEvent(notice);
      if (event.type === 'notice') onNotice(event.message, event.isUrgent);
    },
    explainDenial: () => Promise.reject(new AppError('internal', 'a batch row has no tools')),
  };
}

function requireBatchBackend({ backend }: OpenedModel): void {
  if (backend !== 'code-assist') return;
  throw serverError('auth', 'a Google login is not for batches: Code Assist allows people, not programs', {
    hint: `Use an API key (${formatAssignment('GEMINI_API_KEY', '…')}, or gmn auth set-key), or Vertex AI: --auth vertex-ai`,
  });
}

/** A line of the output has text only: pictures would be paid for and lost. */
function requireTextModel({ modelId }: OpenedModel): void {
  if (!makesPictures(modelId)) return;
  throw new AppError('usage', `${modelId} makes pictures, which a batch cannot keep`, {
    hint: 'Name another model with -m, or make them one by one: gmn image "…"',
  });
}

export function toHashedSetting(name: string, text: string | undefined): RunSettings {
  return text === undefined ? {} : { [name]: hashSetting(text) };
}

/** Each context file by its name, so that an error can name the one that changed. */
function describeInstruction({ agent, contextFiles, setup: { systemText, appendText } }: RunFacts): RunSettings {
  const { systemInstruction: system } = agent.request;
  const own =
    systemText === undefined && appendText === undefined ? undefined : JSON.stringify([systemText, appendText]);
  const text = contextFiles.length > 0 ? own : system && JSON.stringify(system.parts);
  const files = contextFiles.map((file) => [`the context file ${file.name}`, hashSetting(file.text)]);
  return { ...toHashedSetting('the system instruction', text), ...Object.fromEntries(files) };
}

/** Field by field, so that an error can name the one that changed. */
function describeConfig({ responseJsonSchema, responseMimeType: _, ...config }: JsonObject): RunSettings {
  if (responseJsonSchema === undefined) return config;
  return { ...config, '--output-schema': hashSetting(canonicalJson(responseJsonSchema)) };
}

export function describeFiles(attachments: readonly AttachedItem[]): RunSettings {
  if (attachments.length === 0) return {};
  return toHashedSetting('the files of -f', JSON.stringify(attachments.map(toFileIdentity)));
}

function toFileIdentity(item: AttachedItem): unknown {
  return 'isUploaded' in item ? { name: item.name, sha256: item.part?.localFile?.sha256 } : item;
}

export async function readSharedFiles(
  files: readonly string[],
  app: App,
  {
    opened,
    host,
    signal,
  }: {
    readonly opened: OpenedModel;
    readonly host: Pick<Host, 'notify'>;
    readonly signal: AbortSignal;
  },
): Promise<readonly AttachedItem[]> {
  if (files.length === 0) return [];
  if (files.includes('-')) {
    throw new AppError('usage', '-f - is not possible: stdin may be the input', { hint: 'Put it into a file.' });
  }
  const attachments = createAttachments(opened.fileSupport);
  const { cwd, env, homes } = app;
  await addFiles(files, { cwd, env, homes, signal, attachments, notify: host.notify });
  const items: AttachedItem[] = [];
  for (const item of attachments.items) {
    if (!('isUploaded' in item)) items.push(item);
    else items.push({ ...item, part: await (await import('../../input/large-file.ts')).createFilePart(item, signal) });
  }
  return items;
}
