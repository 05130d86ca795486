import { readSetting } from '../../config/keys.ts';
import type { App } from '../../core/app.ts';
import type { Part } from '../../core/content.ts';
import { DECISION_MODEL, type DecisionAnswers, type DecisionQuestions } from '../../core/decision.ts';
import { AppError } from '../../core/error.ts';
import type { Notify } from '../../core/event.ts';
import type { ModelRequest } from '../../core/model.ts';
import { formatCount } from '../../core/text/format.ts';
import type { BilledCall, Usage } from '../../core/usage.ts';
import type { Budget } from '../limits/budget.ts';
import { type BackendServiceOptions, missingServiceError, openBackendService } from './backend-service.ts';
import type { OpenedModel } from './model.ts';

export interface DeciderOptions extends BackendServiceOptions {
  /** A model that decides; `DECISION_MODEL` by default. */
  readonly model?: string;
}

export interface DecisionTask {
  /** What the questions are about; files of this machine are uploaded. */
  readonly input: readonly Part[];
  readonly questions: DecisionQuestions;
}

export interface Decision {
  readonly model: string;
  readonly answers: DecisionAnswers;
  readonly usage: Usage;
  /** In dollars; absent if the price is not known. */
  readonly cost?: number;
  readonly call: BilledCall;
}

export interface Decider {
  readonly model: string;
  readonly opened: OpenedModel;
  /** Throws AppError: `usage` for what is too long, `auth`, `api`, or the signal's reason. Never a guess. */
  decide(task: DecisionTask, signal: AbortSignal): Promise<Decision>;
  /** As it would be sent, without its credential. Sends nothing. */
  preview(task: DecisionTask): Promise<{ readonly url: string; readonly body: object }>;
  close(): Promise<void>;
}

/** Throws AppError `auth` if the backend has no decisions. Sends nothing yet. */
export function openDecider(
  options: DeciderOptions,
  app: App,
  { notify, budget }: { readonly notify: Notify; readonly budget?: Budget },
): Promise<Decider> {
  const { model = DECISION_MODEL } = options;
  return openBackendService(options, app, { budget, notify }, async ({ opened, redaction, withDeadline }) => {
    if (opened.decisions === undefined) throw missingServiceError('decisions', opened);
    // Throws for a model without a price, before the first request.
    budget?.limitSpending({ models: [model], backend: opened.backend, sizes: new Map() });
    const client = await opened.decisions();
    const overrides = readSetting((await app.settings()).document ?? {}, 'prices');
    const redact = async ({ input, questions }: DecisionTask): Promise<DecisionTask> => {
      checkInputLength(input);
      return redaction.redact({ input, questions });
    };
    return {
      model,
      opened,
      decide: (task, outer) =>
        withDeadline(outer, async (signal) => {
          const { input, questions } = await redact(task);
          const { contents } = await opened.provideFiles(toRequest(model, input), { signal });
          const request = { model, input: contents[0]?.parts ?? [], questions };
          const { answers, usage } = await client.decide(request, signal);
          const call = { model, usage, at: app.clock.now(), backend: opened.billedTo };
          const { sumCosts } = await import('../../models/prices.ts');
          return { model, answers, usage: toPlainUsage(usage), cost: sumCosts([call], overrides), call };
        }),
      async preview(task) {
        const { withoutLocalFiles } = await import('./local-files.ts');
        const { input, questions } = await redact(task);
        const [content] = withoutLocalFiles(toRequest(model, input)).contents;
        const { url, body } = client.preview({ model, input: content?.parts ?? [], questions });
        return { url: url.href, body };
      },
    };
  });
}

function toRequest(model: string, parts: readonly Part[]): ModelRequest {
  return { model, contents: [{ role: 'user', parts }], generationConfig: {} };
}

function toPlainUsage({ promptTokensDetails: _, ...usage }: BilledCall['usage']): Usage {
  return usage;
}

const WINDOW = 262_144;
/** More than any text has: what is longer than this for each token cannot fit. What may fit, the service counts. */
const MOST_CHARACTERS_PER_TOKEN = 8;

function checkInputLength(input: readonly Part[]): void {
  const length = input.reduce((sum, part) => sum + ('text' in part ? part.text.length : 0), 0);
  if (length <= WINDOW * MOST_CHARACTERS_PER_TOKEN) return;
  throw new AppError('usage', `the input has ${formatCount(length)} characters, too many to decide about at once`, {
    hint: `A decision reads at most ${formatCount(WINDOW)} tokens; send a part of it, or decide row by row: gmn batch --decide`,
  });
}
