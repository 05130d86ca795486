import { REDACTED_NOTICE } from '../../agent/turn.ts';
import { toRunSetup } from '../../app/run-setup.ts';
import type { App } from '../../core/app.ts';
import type { Content } from '../../core/content.ts';
import { AppError, serverError } from '../../core/error.ts';
import { canonicalJson, type JsonObject } from '../../core/json.ts';
import type { ModelRequest } from '../../core/model.ts';
import { createLazyRedaction } from '../../engine/agent.ts';
import type { OpenedModel } from '../../engine/model/model.ts';
import { Run, type RunFacts } from '../../engine/run.ts';
import type { RunSetup } from '../../engine/setup.ts';
import { makesPictures } from '../../models/table.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { formatAssignment } from '../../platform/runtime/system.ts';
import { hashSetting, type RunSettings } from '../output/run-file.ts';
import type { PendingRow } from '../rows/row-engine.ts';
import {
  type BatchOptions,
  type BatchSetup,
  chooseRowRetries,
  createBatchHost,
  type RowRequest,
  type SetupContext,
} from './batch-setup.ts';
import { askRow, emptyRowError, guessTokens } from './row-request.ts';
import { SharedPrompt } from './shared-prompt.ts';

/** Throws AppError. */
export async function openBatch(options: BatchOptions, app: App, context: SetupContext): Promise<BatchSetup> {
  if (options.decide !== undefined || options.questions !== undefined)
    return (await import('./decision-setup.ts')).openDecisionBatch(options, app, context);
  const shared = await SharedPrompt.open(options, app);
  const retries = await chooseRowRetries(options, app);
  const host = createBatchHost(context.onNotice);
  const { noContext = !options.context, systemText } = options;
  const asked = toRunSetup(options);
  const runs: Run[] = [];
  const open = async (model = options.model): Promise<Run> => {
    const setup: RunSetup = {
      ...asked,
      model: { ...asked.model, model, retries: 0 },
      tools: { servers: 'none' },
      instruction: { ...asked.instruction, systemText, noContext },
      limits: { ...asked.limits, timing: 'request', budget: context.budget },
    };
    const run = await Run.open(setup, app, host);
    runs.push(run);
    requireBatchBackend(run.facts.model);
    requireTextModel(run.facts.model);
    return run;
  };
  const close = async (): Promise<void> => {
    for (const run of runs) await run.close();
  };
  try {
    const run = await open();
    const { model: opened, agent, schema } = run.facts;
    await shared.readFiles(opened.fileSupport, host.notify);
    const toRequest = createRequests(shared, run, open);
    const redact = async ({ agent: { request, redaction }, contents }: RowRequest): Promise<ModelRequest> => {
      const given: ModelRequest = { ...request, contents };
      const redacted = (await redaction?.redact(given)) ?? given;
      if (redacted !== given) context.onNotice(REDACTED_NOTICE);
      return redacted;
    };
    return {
      opened,
      retries,
      schema,
      settings: {
        '-m': opened.modelId,
        ...describeInstruction(run.facts),
        ...shared.describe(),
        '--service-tier': options.serviceTier,
        ...describeConfig(agent.request.generationConfig),
      },
      isPromptNeeded: shared.isEmpty,
      redact: createLazyRedaction(app).redact,
      checkRow: shared.rows.check,
      async prepare(row) {
        const request = await toRequest(row);
        return {
          tokens: guessTokens(request),
          hasOwnModel: request.run !== run,
          key: () => sha256(JSON.stringify([request.agent.request, request.contents])),
          ask: (signal) => askRow(request, context, signal),
        };
      },
      toRequest,
      async preview(row) {
        const { listLocalFiles } = await import('../../engine/model/local-files.ts');
        const request = await toRequest(row);
        const redacted = await redact(request);
        return { request: await request.run.facts.model.preview(redacted), uploads: listLocalFiles(redacted) };
      },
      provide: async (request, need) => opened.provideFiles(await redact(request), need),
      close,
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

const MAX_MODELS = 50;

/** Converts rows to requests. A row that names a model is asked by a run of its own. */
function createRequests(shared: SharedPrompt, run: Run, open: (model: string) => Promise<Run>) {
  const others = new Map<string, Promise<Run>>();
  const chooseRun = (name: string): Promise<Run> => {
    const known = others.get(name);
    if (known !== undefined) return known;
    if (others.size >= MAX_MODELS) {
      throw new AppError('usage', `the rows name more than ${MAX_MODELS} models`, {
        hint: 'Split the input by model.',
      });
    }
    const opening = open(name);
    others.set(name, opening);
    return opening;
  };
  return async ({ input }: PendingRow): Promise<RowRequest> => {
    const { isPlace } = shared.rows;
    // A column that the prompt names is text for it: a `model` may be that of a car.
    const model = isPlace('model') ? undefined : input.model;
    const system = isPlace('system') ? undefined : input.system;
    const chosen = model === undefined ? run : await chooseRun(model);
    const { agent, model: opened } = chosen.facts;
    const systemInstruction: Content | undefined =
      system === undefined ? undefined : { role: 'user', parts: [{ text: system }] };
    const added = await shared.toParts(input, opened.fileSupport);
    const { role = 'user', parts: own = [] } = input.contents?.at(-1) ?? {};
    const content: Content = { role, parts: [...added, ...own] };
    if (content.parts.length === 0) throw emptyRowError();
    return {
      run: chosen,
      agent: systemInstruction === undefined ? agent : { ...agent, request: { ...agent.request, systemInstruction } },
      contents: [...(input.contents?.slice(0, -1) ?? []), content],
    };
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

/** Each context file by its name, so that an error can name the one that changed. */
function describeInstruction({ agent, contextFiles, setup }: RunFacts): RunSettings {
  const { systemInstruction: system } = agent.request;
  const { systemText, appendText } = setup.instruction;
  const own =
    systemText === undefined && appendText === undefined ? undefined : JSON.stringify([systemText, appendText]);
  const text = contextFiles.length > 0 ? own : system && JSON.stringify(system.parts);
  const files = contextFiles.map((file) => [`the context file ${file.name}`, hashSetting(file.text)]);
  return { 'the system instruction': hashSetting(text), ...Object.fromEntries(files) };
}

/** Field by field, so that an error can name the one that changed. */
function describeConfig({ responseJsonSchema, responseMimeType: _, ...config }: JsonObject): RunSettings {
  const schema = responseJsonSchema === undefined ? undefined : canonicalJson(responseJsonSchema);
  return { ...config, '--output-schema': hashSetting(schema) };
}
