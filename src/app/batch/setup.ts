import { REDACTED_NOTICE, runTurn } from '../../agent/turn.ts';
import type { RedactLines } from '../../batch/failed-file.ts';
import { hashSetting, type RunSettings } from '../../batch/run-file.ts';
import type { App } from '../../core/app.ts';
import type { Content } from '../../core/content.ts';
import { AppError, serverError } from '../../core/error.ts';
import type { TurnEvent } from '../../core/event.ts';
import type { FileSupport } from '../../core/files.ts';
import { canonicalJson, type JsonObject } from '../../core/json.ts';
import type { ModelRequest } from '../../core/model.ts';
import type { BilledCall } from '../../core/usage.ts';
import { createAttachments } from '../../input/attachment.ts';
import { type AttachedItem, addFiles } from '../../input/files.ts';
import { findIgnoredSampling } from '../../models/generation.ts';
import { makesPictures } from '../../models/table.ts';
import { createLazyRedaction, openAgent } from '../agent.ts';
import type { Budget } from '../budget.ts';
import { chooseRetries, type ModelOptions, type OpenedModel, openModel } from '../model.ts';
import { type AnswerFormat, readAnswerFormat } from '../output-schema.ts';
import { chooseTemplate } from '../template.ts';
import type { FileNeed } from '../uploads.ts';
import type { Prices } from './price.ts';
import { checkTemplate, createRequests, type RowModel, type RowRequest } from './request.ts';

export interface BatchOptions extends ModelOptions {
  readonly prompt?: string;
  readonly template?: string;
  readonly param?: readonly string[];
  readonly file?: readonly string[];
  readonly system?: string;
  readonly appendSystemPrompt?: string;
  readonly outputSchema?: string;
}

/** What is needed to convert rows to requests, for any engine. */
export interface BatchSetup {
  readonly opened: OpenedModel;
  /** How often a row is asked again. */
  readonly retries: number;
  /** What the answers depend on besides the rows; see `RunFile`. */
  readonly settings: RunSettings;
  readonly isPromptNeeded: boolean;
  readonly prepare: Awaited<ReturnType<typeof createRequests>>['prepare'];
  /** Throws AppError `usage` for a row that cannot be asked. */
  readonly toRequest: Awaited<ReturnType<typeof createRequests>>['toRequest'];
  /**
   * The request without gmn's own credentials. Uploads the files that are too large for it, and puts their addresses in. Throws
   * AppError.
   */
  provide(request: RowRequest, need: FileNeed): Promise<ModelRequest>;
  /** Takes gmn's own credentials out of rows that are saved. */
  readonly redact: RedactLines;
  readonly format: AnswerFormat;
  readonly notices: readonly string[];
  close(): Promise<void>;
}

interface SetupContext {
  readonly prices: Prices;
  /** For all rows; absent if each job has its own. */
  readonly budget?: Budget;
  readonly onCall: (call: BilledCall) => void;
  readonly onNotice: (message: string) => void;
  readonly signal: AbortSignal;
}

const DEFAULT_RETRIES = 3;

/** How many different models rows may name. */
const MAX_MODELS = 50;

/** Throws AppError: `usage` for flags and files that cannot be used, `auth` for a Google login, and as `openModel`. */
export async function openBatch(options: BatchOptions, app: App, context: SetupContext): Promise<BatchSetup> {
  const template = options.template === undefined ? undefined : await chooseTemplate(options.template, app);
  if (template !== undefined) checkTemplate(template);
  else if (options.param !== undefined) {
    throw new AppError('usage', '--param needs --template', {
      hint: 'Example: --template translate --param to=French',
    });
  }
  const notices: string[] = [];
  const format = await openFormat(options, app);
  // The engine retries, not the model: what one row learns of the server holds for all.
  const { retries = chooseRetries(options, await app.settings()) ?? DEFAULT_RETRIES } = options;
  const modelOptions = { ...options, retries: 0 };
  const limits = { isTimedByRequest: true, budget: context.budget, onWait: context.onNotice };
  const models: OpenedModel[] = [];
  const open = async (own: { readonly model?: string }): Promise<RowModel & { opened: OpenedModel }> => {
    const opened = await openModel({ ...modelOptions, ...own }, app, limits);
    models.push(opened);
    requireBatchBackend(opened);
    requireTextModel(opened);
    const plain = await collectNotices(
      openAgent(options, { app, opened, runPaused: (work) => work() }),
      own.model === undefined ? notices : [],
    );
    return { opened, agent: format.agent(plain), fileSupport: opened.fileSupport };
  };
  const close = async (): Promise<void> => {
    for (const model of models) await model.close();
  };
  try {
    const model = await open({});
    const { opened, agent, fileSupport } = model;
    const attachments = await readSharedFiles(options.file ?? [], app, {
      ...{ fileSupport, notices },
      signal: context.signal,
    });
    const others = new Map<string, Promise<RowModel>>();
    const chooseModel = (name: string): Promise<RowModel> => {
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
      ...{ app, model, chooseModel, format, template, attachments },
      isJson: options.outputSchema !== undefined,
      params: options.param ?? [],
      words: options.prompt,
      backend: opened.backend,
      prices: context.prices,
      onCall: context.onCall,
      onNotice: context.onNotice,
    });
    return {
      opened,
      retries,
      format,
      settings: {
        '-m': opened.modelId,
        ...toHashedSetting('the system instruction', serializeParts(agent.request.systemInstruction)),
        ...toHashedSetting('-p', options.prompt),
        ...toHashedSetting('--template', template?.body),
        ...(options.param === undefined ? {} : { '--param': options.param }),
        ...toHashedSetting(
          'the files of -f',
          attachments.length === 0 ? undefined : JSON.stringify(attachments.map(toFileIdentity)),
        ),
        ...(options.serviceTier === undefined ? {} : { '--service-tier': options.serviceTier }),
        ...describeConfig(agent.request.generationConfig),
      },
      isPromptNeeded: template === undefined && options.prompt === undefined,
      ...requests,
      redact: createLazyRedaction(app).redact,
      async provide({ agent: { request, redaction }, contents }, need) {
        const given: ModelRequest = { ...request, contents };
        const redacted = (await redaction?.redact(given)) ?? given;
        if (redacted !== given) context.onNotice(REDACTED_NOTICE);
        return forwardNotices(opened.provideFiles(redacted, need), context.onNotice);
      },
      notices: [...opened.notices, ...findIgnoredSampling(opened.modelId, options), ...notices],
      close,
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

async function openFormat({ outputSchema }: BatchOptions, app: App): Promise<AnswerFormat> {
  return outputSchema === undefined ? { agent: (agent) => agent, run: runTurn } : readAnswerFormat(outputSchema, app);
}

function requireBatchBackend({ backend }: OpenedModel): void {
  if (backend !== 'code-assist') return;
  throw serverError('auth', 'a Google login is not for batches: Code Assist allows people, not programs', {
    hint: 'Use an API key (export GEMINI_API_KEY=…, or gmn auth set-key), or Vertex AI: --auth vertex-ai',
  });
}

/** A line of the output has text only: pictures would be paid for and lost. */
function requireTextModel({ modelId }: OpenedModel): void {
  if (!makesPictures(modelId)) return;
  throw new AppError('usage', `${modelId} makes pictures, which a batch cannot keep`, {
    hint: 'Name another model with -m, or make them one by one: gmn image "…"',
  });
}

function toHashedSetting(name: string, text: string | undefined): RunSettings {
  return text === undefined ? {} : { [name]: hashSetting(text) };
}

/** Field by field, so that an error can name the one that changed. */
function describeConfig({ responseJsonSchema, responseMimeType: _, ...config }: JsonObject): RunSettings {
  if (responseJsonSchema === undefined) return config;
  return { ...config, '--output-schema': hashSetting(canonicalJson(responseJsonSchema)) };
}

function serializeParts(content: Content | undefined): string | undefined {
  return content && JSON.stringify(content.parts);
}

function toFileIdentity(item: AttachedItem): unknown {
  return 'isUploaded' in item ? { name: item.name, sha256: item.part?.localFile?.sha256 } : item;
}

/** The files of `-f`, read once. */
async function readSharedFiles(
  files: readonly string[],
  app: App,
  {
    signal,
    notices,
    fileSupport,
  }: { readonly signal: AbortSignal; readonly notices: string[]; readonly fileSupport: FileSupport },
): Promise<readonly AttachedItem[]> {
  if (files.length === 0) return [];
  if (files.includes('-')) {
    throw new AppError('usage', '-f - is not possible: stdin may be the input', { hint: 'Put it into a file.' });
  }
  const attachments = createAttachments(fileSupport);
  const { cwd, env, homes } = app;
  await collectNotices(addFiles(files, { cwd, env, homes, signal, attachments }), notices);
  const items: AttachedItem[] = [];
  for (const item of attachments.items) {
    if (!('isUploaded' in item)) items.push(item);
    else items.push({ ...item, part: await (await import('../../input/large-file.ts')).createFilePart(item, signal) });
  }
  return items;
}

function collectNotices<Result>(events: AsyncGenerator<TurnEvent, Result>, notices: string[]): Promise<Result> {
  return forwardNotices(events, (message) => notices.push(message));
}

async function forwardNotices<Result>(
  events: AsyncGenerator<TurnEvent, Result>,
  report: (message: string) => void,
): Promise<Result> {
  for (let step = await events.next(); ; step = await events.next()) {
    if (step.done) return step.value;
    if (step.value.type === 'notice') report(step.value.message);
  }
}
