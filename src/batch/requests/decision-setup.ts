import { readDecisionPlan } from '../../app/decision.ts';
import type { App } from '../../core/app.ts';
import { toRowAnswer } from '../../core/decision-plan.ts';
import { AppError } from '../../core/error.ts';
import { canonicalJson, type JsonObject } from '../../core/json.ts';
import { createLazyRedaction } from '../../engine/agent.ts';
import { type DecisionTask, openDecider } from '../../engine/model/decide.ts';
import { listLocalFiles } from '../../engine/model/local-files.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { hashSetting } from '../output/run-file.ts';
import type { PendingRow } from '../rows/row-engine.ts';
import {
  type BatchOptions,
  type BatchSetup,
  chooseRowRetries,
  createBatchHost,
  type SetupContext,
} from './batch-setup.ts';
import { emptyRowError, guessPartTokens } from './row-request.ts';
import { SharedPrompt } from './shared-prompt.ts';

/** `--decide`: every row is the input of the same questions. Throws AppError. */
export async function openDecisionBatch(
  options: BatchOptions,
  app: App,
  { costs, budget, onNotice }: SetupContext,
): Promise<BatchSetup> {
  if (options.decide?.includes('{{')) {
    throw new AppError('usage', '--decide: {{…}} is not filled in: the question is the same for all rows', {
      hint: 'Put the columns into what is decided about: -p "{{text}}"',
    });
  }
  const plan = await readDecisionPlan(options.decide, options, app);
  const { questions, bounds } = plan;
  const shared = await SharedPrompt.open(options, app);
  const retries = await chooseRowRetries(options, app);
  const { notify } = createBatchHost(onNotice);
  const decider = await openDecider({ ...options, retries: 0 }, app, { notify, budget });
  try {
    const { opened, model } = decider;
    await shared.readFiles(opened.fileSupport, notify);
    const toTask = async ({ input: row }: PendingRow): Promise<DecisionTask> => {
      if (row.contents !== undefined) throw undecidableRowError();
      const input = await shared.toParts(row, opened.fileSupport);
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
        '--threshold': bounds?.threshold,
        '--unsure': bounds?.unsure,
        ...shared.describe(),
      },
      isPromptNeeded: shared.isEmpty,
      redact: createLazyRedaction(app).redact,
      checkRow: shared.rows.check,
      async prepare(row) {
        const task = await toTask(row);
        return {
          tokens: guessPartTokens(task.input),
          key: () => sha256(JSON.stringify(task.input)),
          async ask(signal) {
            const { answers, usage, cost, call } = await decider.decide(task, signal);
            costs.add(call);
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
