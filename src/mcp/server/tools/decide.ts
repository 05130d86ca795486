import { toQuestions } from '../../../core/decision.ts';
import { describeAnswers, findDecisionWord, formatAnswers, toPlan } from '../../../core/decision-plan.ts';
import { AppError } from '../../../core/error.ts';
import { serverTool } from '../tool.ts';
import { plainFailure, plainResult } from './results.ts';

const UNIT = { minimum: 0, maximum: 1 } as const;

export const decide = serverTool({
  name: 'decide',
  title: 'Decide about a text',
  description:
    'How likely the answer to a question about a text is yes, as a number from 0 to 1; with choices, which of them it is; ' +
    'with levels, where on that scale. Fast and cheap; every probability is in _meta.answers. Needs an API key.',
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },
  input: {
    properties: {
      question: { type: 'string', description: 'What to decide.' },
      text: { type: 'string', description: 'What it is about.' },
      choices: { type: 'array', description: 'The options, 2 to 255.', items: { type: 'string' } },
      levels: { type: 'array', description: 'The scale, the lowest level first.', items: { type: 'string' } },
      threshold: { type: 'number', description: 'From which probability it is a yes.', default: 0.5, ...UNIT },
      unsure: { type: 'number', description: 'Nearer to the threshold than this it is unsure.', default: 0.2, ...UNIT },
    },
    required: ['question', 'text'],
  },
  fail: plainFailure,
  async run({ question, text, choices, levels, threshold, unsure }, { host, signal }) {
    if (choices !== undefined && levels !== undefined) {
      throw new AppError('usage', 'choices and levels exclude each other', { hint: 'Give one of them.' });
    }
    const plan = toPlan(toQuestions(question, { options: choices, levels }, 'the question'), { threshold, unsure });
    const engine = await host.engine();
    const { questions } = plan;
    const decided = await host.queue.run(() => engine.decide({ text, questions }, signal), { signal });
    const { model, answers, usage, cost } = decided;
    const metadata = {
      ...{ model, decision: findDecisionWord(plan, answers), answers: describeAnswers(plan, answers) },
      ...{ tokensUsed: usage.totalTokenCount, cost },
    };
    return plainResult(host.pages, { text: formatAnswers(answers).trimEnd(), metadata });
  },
});
