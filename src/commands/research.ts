import { type AnswerOptions, type AnswerView, showAnswer } from '../app/answer.ts';
import { openJobs } from '../app/jobs.ts';
import { answerResearch, beginResearch, type ResearchContext } from '../app/research.ts';
import { readServiceInput, type ServiceInputOptions } from '../app/service-input.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Notify, TurnEvent } from '../core/event.ts';
import { isInteractionId, RESEARCH_AGENTS } from '../core/interaction.ts';
import { deadlineError } from '../engine/limits/limits.ts';
import { openResearcher, type Researcher, type ResearcherOptions } from '../engine/model/research.ts';
import { createDeadline } from '../platform/runtime/clock.ts';
import { deriveTitle } from '../session/record.ts';

interface ResearchOptions extends ResearcherOptions, AnswerOptions, ServiceInputOptions {
  readonly args: readonly string[];
  readonly max?: boolean;
  readonly interaction?: string;
  readonly maxCost?: number;
  /** In milliseconds: how long gmn waits, not how long the research takes. */
  readonly timeout?: number;
}

/** Has a question researched as a job of the service, and prints the report when it is there. The same command again goes on with it. */
export async function run(options: ResearchOptions, app: App): Promise<number> {
  checkResearch(options);
  return showAnswer(options, app, (view) => research(options, app, view));
}

async function* research(options: ResearchOptions, app: App, view: AnswerView): AsyncGenerator<TurnEvent, void> {
  const { notify, afterDelivery } = view;
  const { max, interaction, timeout, maxCost, demo: isDemo = false } = options;
  const agent = max ? RESEARCH_AGENTS.max : RESEARCH_AGENTS.usual;
  const researcher = await openResearcher(options, app, notify);
  try {
    checkPrice(agent, options, { researcher, notify });
    const question = options.args.join(' ').trim();
    const { opened } = researcher;
    const input = question === '' ? [] : await readServiceInput(options, question, { app, opened, notify });
    const title = deriveTitle({ role: 'user', parts: [{ text: (await researcher.redact(question)) || agent }] });
    const store = openJobs(app);
    const context: ResearchContext = { app, store, researcher, notify, isDemo };
    const job = await beginResearch({ agent, input, title, interactionId: interaction }, context);
    const deadline = createDeadline(app.signal, timeout ?? 0, () => deadlineError(timeout ?? 0));
    try {
      yield* answerResearch(job, { signal: deadline.signal, maxCost }, { ...context, afterDelivery });
      await store.prune();
    } finally {
      deadline.clear();
    }
  } finally {
    await researcher.close();
  }
}

function checkResearch({ args, interaction, maxCost }: ResearchOptions): void {
  if (args.join(' ').trim() === '' && interaction === undefined) {
    throw new AppError('usage', 'no question given', {
      hint: 'Example: gmn research "how do heat pumps work in the cold?"',
    });
  }
  if (interaction !== undefined && !isInteractionId(interaction)) {
    throw new AppError('usage', '--interaction: that is no id', { hint: 'It is the "id at Google" of gmn jobs show' });
  }
  if (maxCost !== undefined && !(maxCost > 0)) {
    throw new AppError('usage', `--max-cost: ${maxCost} is out of range`, { hint: 'Example: --max-cost 5' });
  }
}

interface ResearchParts {
  readonly researcher: Researcher;
  readonly notify: Notify;
}

/** Without a price nothing could stop it, nor say what it cost. */
function checkPrice(agent: string, { maxCost, demo }: ResearchOptions, { researcher, notify }: ResearchParts): void {
  if (researcher.hasPrice(agent) || demo) return;
  if (maxCost === undefined) {
    notify(`the price of ${agent} is not known, so that its cost cannot be shown: gmn help config`);
    return;
  }
  throw new AppError('usage', `--max-cost: the price of ${agent} is not known`, {
    hint: 'Set it in the settings, as "prices": gmn help config; or leave --max-cost out.',
  });
}
