import { type DecisionFlags, readDecisionPlan } from '../app/decision.ts';
import { createNoticeCollector } from '../app/notice-collector.ts';
import { type PrintOptions, printReport, type Report } from '../app/report.ts';
import { readServiceInput, type ServiceInputOptions } from '../app/service-input.ts';
import type { App } from '../core/app.ts';
import {
  DECISION_EXITS,
  type DecisionPlan,
  describeAnswers,
  findDecisionWord,
  formatAnswers,
} from '../core/decision-plan.ts';
import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { type Decider, type DeciderOptions, openDecider } from '../engine/model/decide.ts';
import { randomId } from '../platform/runtime/random-id.ts';
import { createStderr } from '../render/stderr.ts';
import { formatUsage } from '../render/text.ts';
import { appendUsage } from '../session/usage-log.ts';

interface DecideOptions extends DeciderOptions, DecisionFlags, PrintOptions, ServiceInputOptions {
  readonly args: readonly string[];
  readonly exitCode?: boolean;
  readonly outputFormat?: 'text' | 'json';
  readonly usage?: boolean;
  readonly dryRun?: boolean;
}

/** Prints the probability, the choice or the score. With `--exit-code` the decision is the exit code, and no error is one of them. */
export async function run(given: DecideOptions, app: App): Promise<number> {
  const options = { ...given, json: given.json || given.dryRun || given.outputFormat === 'json' };
  const plan = await readDecisionPlan(options.args.join(' '), options, app);
  if (options.exitCode) requireYesNo(plan);
  const collector = createNoticeCollector(options, app);
  const decider = await openDecider(options, app, collector);
  try {
    const { opened } = decider;
    const input = await readServiceInput(options, undefined, { app, opened, notify: collector.notify });
    if (input.length === 0) throw nothingToDecideError();
    const task = { input, questions: plan.questions };
    const notices = collector.take;
    if (options.dryRun) {
      return await printReport(
        { ...(await previewTask(decider, task)), notices: notices(), isVerbatim: true },
        options,
        app,
      );
    }
    const startedAt = app.clock.now();
    const { answers, model, usage, cost, call } = await decider.decide(task, app.signal);
    if (call.backend !== 'demo') {
      appendUsage(app.homes().gmn, { at: call.at, kind: 'decide', id: randomId(), cwd: app.cwd, calls: [call] });
    }
    const decision = findDecisionWord(plan, answers);
    const json = { model, decision, answers: describeAnswers(plan, answers), usage, cost };
    const printed = printReport({ text: formatAnswers(answers), json, notices: notices() }, options, app);
    await (options.exitCode ? printed.catch(ignoreClosedPipe) : printed);
    if (options.usage && !options.json && !options.quiet) {
      await createStderr(app.io.err).usage(`${model} · ${formatUsage(usage, call.at - startedAt, cost)}`);
    }
    return options.exitCode && decision !== undefined ? DECISION_EXITS[decision] : 0;
  } finally {
    await decider.close();
  }
}

/** A reader that went away is exit 0 elsewhere, which would be a yes here. */
function ignoreClosedPipe(thrown: unknown): void {
  if (AppError.from(thrown).fault !== 'pipe') throw thrown;
}

function requireYesNo({ questions }: DecisionPlan): void {
  const types = Object.values(questions).map(({ type }) => type);
  if (types.length === 1 && types[0] === 'noul') return;
  throw new AppError('usage', '--exit-code needs one question that is answered with yes or no', {
    hint: 'Leave it out, and read stdout.',
  });
}

async function previewTask(decider: Decider, task: Parameters<Decider['preview']>[0]): Promise<Report> {
  const { url, body } = await decider.preview(task);
  return { text: '', json: { method: 'POST', url, body: body as JsonObject } };
}

function nothingToDecideError(): AppError {
  return new AppError('usage', 'there is nothing to decide about', {
    hint: 'Pipe it in, or name it: git diff | gmn decide "…", gmn decide -f report.pdf "…"',
  });
}
