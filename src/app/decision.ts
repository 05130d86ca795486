import type { App } from '../core/app.ts';
import { type DecisionQuestions, parseQuestions, toQuestions } from '../core/decision.ts';
import { type DecisionBounds, type DecisionPlan, toPlan } from '../core/decision-plan.ts';
import { AppError } from '../core/error.ts';
import { isTooDeep, tryParseJson } from '../core/json.ts';
import { readNamedText } from '../input/text-or-file.ts';

/** The flags that `gmn decide` and `gmn batch` share. */
export interface DecisionFlags extends Partial<DecisionBounds> {
  readonly choice?: string;
  readonly score?: string;
  readonly questions?: string;
}

/** What is asked, checked against all limits that can be known before. Throws AppError `usage`. */
export async function readDecisionPlan(
  words: string | undefined,
  flags: DecisionFlags,
  app: App,
): Promise<DecisionPlan> {
  return toPlan(await readQuestions(words?.trim() || undefined, flags, app), flags);
}

async function readQuestions(
  words: string | undefined,
  { choice, score, questions: file }: DecisionFlags,
  app: App,
): Promise<DecisionQuestions> {
  if (file !== undefined) {
    if (words !== undefined) {
      throw new AppError('usage', '--questions cannot be combined with another question', { hint: 'Use one of them.' });
    }
    return readQuestionFile(file, app);
  }
  if (words === undefined) {
    throw new AppError('usage', 'no question given', {
      hint: 'Example: git diff | gmn decide "does this change the public API?"',
    });
  }
  if (choice !== undefined) return toQuestions(words, { options: splitOptions(choice) }, '--choice');
  if (score !== undefined) return toQuestions(words, { levels: splitOptions(score) }, '--score');
  return toQuestions(words, {}, 'the question');
}

async function readQuestionFile(file: string, app: App): Promise<DecisionQuestions> {
  const hints = ['Split the questions.', 'Name a JSON file: --questions q.json'] as const;
  const value = tryParseJson(await readNamedText(file, '--questions', hints, app));
  if (value !== undefined && !isTooDeep(value)) return parseQuestions(value, `--questions ${file}`);
  throw new AppError('usage', `--questions: ${file} is not JSON`, { hint: hints[1] });
}

function splitOptions(list: string): readonly string[] {
  return list.split(',').map((word) => word.trim());
}

/** Those of `gmn batch`, where `--decide` has the question. */
export interface BatchDecisionFlags extends DecisionFlags {
  readonly decide?: string;
}

const WITH_DECIDE = ['choice', 'score', 'threshold', 'unsure'] as const satisfies readonly (keyof DecisionFlags)[];

/** Throws AppError `usage` for flags that say how to decide beside none that says what. */
export function checkDecisionFlags(options: BatchDecisionFlags): void {
  if (options.decide !== undefined || options.questions !== undefined) return;
  const stray = WITH_DECIDE.find((name) => options[name] !== undefined);
  if (stray === undefined) return;
  throw new AppError('usage', `--${stray} needs --decide`, {
    hint: 'Example: gmn batch in.jsonl --decide "is it spam?" --output-file out.jsonl',
  });
}
