import { readDecisionPlan } from '../../app/decision.ts';
import { chooseTemplate } from '../../app/template.ts';
import type { App } from '../../core/app.ts';
import { toRowAnswer } from '../../core/decision-plan.ts';
import { AppError } from '../../core/error.ts';
import { canonicalJson, type JsonObject } from '../../core/json.ts';
import { createLazyRedaction } from '../../engine/agent.ts';
import { type DecisionTask, openDecider } from '../../engine/model/decide.ts';
import { listLocalFiles } from '../../engine/model/local-files.ts';
import { chooseRetries } from '../../engine/model/model.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { hashSetting, type RunSettings } from '../output/run-file.ts';
import type { PendingRow } from '../rows/row-engine.ts';
import { createRowPrompt } from './row-prompt.ts';
import { createRowParts, emptyRowError, guessPartTokens } from './row-request.ts';
import {
  type BatchOptions,
  type BatchSetup,
  createBatchHost,
  DEFAULT_RETRIES,
  describeFiles,
  readSharedFiles,
  type SetupContext,
  toHashedSetting,
} from './setup.ts';

/** `--decide`: every row is the input of the same questions. Throws AppError. */
export async function openDecisionBatch(
  options: BatchOptions,
  app: App,
  { budget, onCall, onNotice, signal }: SetupContext,
): Promise<BatchSetup> {
  if (options.decide?.includes('{{')) {
    throw new AppError('usage', '--decide: {{…}} is not filled in: the question is the same for all rows', {
      hint: 'Put the columns into what is decided about: -p "{{text}}"',
    });
  }
  const plan = await readDecisionPlan(options.decide, options, app);
  const { questions, bounds } = plan;
  const template = options.template === undefined ? undefined : await chooseTemplate(options.template, app);
  const prompt = createRowPrompt({ words: options.prompt, template, params: options.param ?? [] });
  const { retries = chooseRetries(options, await app.settings()) ?? DEFAULT_RETRIES } = options;
  const host = createBatchHost(onNotice);
  // The engine retries, not the request: what one row learns of the server holds for all.
  const decider = await openDecider({ ...options, retries: 0 }, app, { notify: host.notify, budget });
  try {
    const { opened, model } = decider;
    const attachments = await readSharedFiles(options.file ?? [], app, { opened, host, signal });
    const toParts = createRowParts({ app, prompt, attachments });
    const toTask = async ({ input: row }: Pick<PendingRow, 'input'>): Promise<DecisionTask> => {
      if (row.contents !== undefined) throw undecidableRowError();
      const input = await toParts(row, opened.fileSupport);
      if (input.length === 0) throw emptyRowError();
      return { input, questions };
    };
    return {
      opened: { ...opened, modelId: model },
      retries,
      schema: undefined,
      settings: {
        '-m': model,
        'the questions': hashSetting(canonicalJson(questions as unknown as JsonObject)),
        ...(bounds === undefined ? {} : { '--threshold': bounds.threshold, '--unsure': bounds.unsure }),
        ...toHashedSetting('-p', options.prompt),
        ...toHashedSetting('--template', template?.body),
        ...(options.param === undefined ? {} : { '--param': options.param }),
        ...describeFiles(attachments),
      } as RunSettings,
      isPromptNeeded: template === undefined && options.prompt === undefined,
      async prepare(row) {
        const task = await toTask(row);
        return {
          tokens: guessPartTokens(task.input),
          key: () => sha256(JSON.stringify(task.input)),
          async ask(asked) {
            const { answers, usage, cost, call } = await decider.decide(task, asked);
            onCall(call);
            return { json: toRowAnswer(plan, answers), model, usage, cost };
          },
        };
      },
      async preview(row) {
        const task = await toTask(row);
        const { url, body } = await decider.preview(task);
        const uploads = listLocalFiles({ contents: [{ role: 'user', parts: task.input }] });
        return { request: { method: 'POST', url, body: body as JsonObject }, uploads };
      },
      checkRow: prompt.check,
      redact: createLazyRedaction(app).redact,
      toRequest: noRequest,
      provide: noRequest,
      close: decider.close,
    };
  } catch (thrown) {
    await decider.close();
    throw thrown;
  }
}

/** The Batch API and token counts take model requests. The flags that need one conflict with `--decide`. */
async function noRequest(): Promise<never> {
  throw new AppError('usage', 'a decision is no request to a model', { hint: 'Leave --decide out.' });
}

function undecidableRowError(): AppError {
  return new AppError('usage', 'the row has "contents", which cannot be decided about', {
    hint: 'Give it a "prompt": the text to decide about.',
  });
}
