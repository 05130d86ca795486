import type { App } from '../core/app.ts';
import { createLimit } from '../core/async.ts';
import { type DecisionAnswer, ONLY_QUESTION, toQuestions } from '../core/decision.ts';
import { AppError } from '../core/error.ts';
import { openDecider } from '../engine/model/decide.ts';
import { batchTexts, openEmbedder } from '../engine/model/embedder.ts';
import type { Guest } from '../platform/app.ts';
import { createAbortable, followSignal } from '../platform/runtime/abort.ts';
import { createRunApp } from './app.ts';
import { toGmnError, turnCancelledError } from './error.ts';
import type * as Public from './gmn.d.ts';
import { buildAskedContent } from './prompt.ts';
import { checkSignal, openLibraryBudget, toServiceSetup } from './setup.ts';

/** Notices of these have nobody to read them. */
const notify = (): void => {};

/** Runs work in an App of its own; it is over at once if the caller's signal aborts. Throws GmnError. */
async function runWithApp<Result>(
  guest: Guest,
  options: Public.ServiceOptions,
  work: (app: App) => Promise<Result>,
): Promise<Result> {
  const { signal: given } = options;
  const life = createAbortable();
  let unfollow = (): void => {};
  try {
    checkSignal(given);
    if (given?.aborted) throw turnCancelledError(given.reason);
    const cancelled = new Promise<never>((_, reject) => {
      if (given === undefined) return;
      unfollow = followSignal(given, () => {
        const error = turnCancelledError(given.reason);
        reject(error);
        life.abort(error);
      });
    });
    return await Promise.race([
      work(createRunApp(guest, options, { signal: life.signal, keepsFiles: false })),
      cancelled,
    ]);
  } catch (thrown) {
    throw toGmnError(thrown);
  } finally {
    unfollow();
    // What was asked for beside a request that has failed is not wanted any more.
    life.abort(turnCancelledError());
  }
}

/** Requests in flight. */
const CONCURRENCY = 4;

export function createEmbedFunction(guest: Guest): typeof Public.embed {
  const embed = (given: string | readonly string[], options: Public.EmbedOptions = {}) =>
    runWithApp(guest, options, async (app) => {
      const inputs = [given].flat().map((text, index) => ({ text: requireWords(text, 'a text to embed'), index }));
      const { model, taskType, dimensions } = options;
      const budget = await openLibraryBudget(options, app);
      const setup = { ...toServiceSetup(options, app), model, taskType, dimensions };
      const embedder = await openEmbedder(setup, app, { notify, budget });
      try {
        const vectors: number[][] = [];
        const limit = createLimit({ maxRunning: CONCURRENCY });
        const requests: Promise<void>[] = [];
        for await (const texts of batchTexts(inputs)) {
          requests.push(
            limit.run(async () => {
              const found = await embedder.embed(
                texts.map(({ text }) => text),
                app.signal,
              );
              for (const [place, { index }] of texts.entries()) vectors[index] = [...(found.vectors[place] ?? [])];
            }),
          );
        }
        await Promise.all(requests);
        return typeof given === 'string' ? (vectors[0] ?? []) : vectors;
      } finally {
        await embedder.close();
      }
    });
  // The overloads say which input gives which type of result.
  return embed as typeof Public.embed;
}

type DecideOptions = Public.DecideOptions & {
  readonly choices?: readonly string[] | undefined;
  readonly levels?: readonly string[] | undefined;
};

export function createDecideFunction(guest: Guest): typeof Public.decide {
  const decide = (input: string, question: string, options: DecideOptions = {}) =>
    runWithApp(guest, options, async (app) => {
      const { choices, levels, files, model } = options;
      if (choices !== undefined && levels !== undefined) {
        throw new AppError('usage', 'choices and levels cannot be combined', { hint: 'Ask twice.' });
      }
      const questions = toQuestions(requireWords(question, 'the question'), { options: choices, levels }, 'decide');
      const budget = await openLibraryBudget(options, app);
      const decider = await openDecider({ ...toServiceSetup(options, app), model }, app, { notify, budget });
      try {
        const { fileSupport } = decider.opened;
        const { parts } = await buildAskedContent(input, files, { app, fileSupport, signal: app.signal, notify });
        const { answers } = await decider.decide({ input: parts, questions }, app.signal);
        return toDecision(answers[ONLY_QUESTION]);
      } finally {
        await decider.close();
      }
    });
  // The overloads say which options give which type of result.
  return decide as typeof Public.decide;
}

function toDecision(answer: DecisionAnswer | undefined): unknown {
  switch (answer?.type) {
    case 'noul':
      return answer.noul;
    case 'choice':
      return { choice: answer.choice, probabilities: answer.probabilities };
    case 'score':
      return { score: answer.score };
    default:
      throw new AppError('api', 'the service has answered no question');
  }
}

function requireWords(text: unknown, what: string): string {
  if (typeof text === 'string' && text.trim() !== '') return text.toWellFormed();
  throw new AppError('usage', `${what} must be a text that is not empty`);
}
