import { type DecisionAnswer, type DecisionAnswers, type DecisionQuestions, ONLY_QUESTION } from './decision.ts';
import { AppError } from './error.ts';
import type { JsonObject, JsonValue } from './json.ts';

/** What is a yes, and what is neither. */
export interface DecisionBounds {
  readonly threshold: number;
  /** A probability nearer to the threshold than this is `unsure`. */
  readonly unsure: number;
}

const THRESHOLD = 0.5;
const UNSURE = 0.2;
const BOUNDS_HINT = 'Both are probabilities, e.g. --threshold 0.8 --unsure 0.1; --unsure 0 leaves only yes and no.';

/** By default 0.5 and 0.2; near 0 or 1, half of what is left there. Throws AppError `usage` for bounds that leave no yes, or no no. */
export function parseBounds({ threshold = THRESHOLD, unsure }: Partial<DecisionBounds>): DecisionBounds {
  if (!(threshold > 0 && threshold < 1)) {
    throw new AppError('usage', `--threshold: ${threshold} is not between 0 and 1`, { hint: BOUNDS_HINT });
  }
  const room = Math.min(threshold, 1 - threshold);
  const band = unsure ?? Math.min(UNSURE, room / 2);
  if (!(band >= 0 && band <= 1)) {
    throw new AppError('usage', `--unsure: ${unsure} is not between 0 and 1`, { hint: BOUNDS_HINT });
  }
  if (band < room) return { threshold, unsure: band };
  const lost = threshold < 0.5 ? 'a no' : 'a yes';
  const message = `with --threshold ${threshold} and --unsure ${unsure} nothing could be ${lost}`;
  throw new AppError('usage', message, { hint: BOUNDS_HINT });
}

/** The exit code of each word with `--exit-code`. No error has one of those that are not 0. */
export const DECISION_EXITS = { yes: 0, no: 10, unsure: 11 } as const;

export type DecisionWord = keyof typeof DECISION_EXITS;

/** 0.7 - 0.5 is a little less than 0.2 in floating point. */
const ROUNDING = 1e-9;

export function judge(probability: number, { threshold, unsure }: DecisionBounds): DecisionWord {
  if (Math.abs(probability - threshold) < unsure - ROUNDING) return 'unsure';
  return probability >= threshold ? 'yes' : 'no';
}

/** What it says in a word: the probability of a yes, the option, or the score. */
function toDecisionValue(answer: DecisionAnswer): string | number {
  if (answer.type === 'choice') return answer.choice;
  return answer.type === 'noul' ? answer.noul : answer.score;
}

/** What is asked, and what counts as a yes. */
export interface DecisionPlan {
  readonly questions: DecisionQuestions;
  /** Of the questions that are yes or no; absent if none is. */
  readonly bounds?: DecisionBounds;
}

/** Throws AppError `usage` for bounds that are wrong, or beside no question that is yes or no. */
export function toPlan(questions: DecisionQuestions, given: Partial<DecisionBounds>): DecisionPlan {
  const hasYesNo = Object.values(questions).some(({ type }) => type === 'noul');
  if (hasYesNo) return { questions, bounds: parseBounds(given) };
  const stray = (['threshold', 'unsure'] as const).find((name) => given[name] !== undefined);
  if (stray === undefined) return { questions };
  throw new AppError('usage', `--${stray} is for a question that is answered with yes or no`, {
    hint: 'Leave it out, or leave out --choice and --score.',
  });
}

/** All that the service said, and for a yes or no the word as `decision`. */
export function describeAnswers({ bounds }: DecisionPlan, answers: DecisionAnswers): JsonObject {
  const described = Object.entries(answers).map(([id, answer]) => [id, describeAnswer(answer, bounds)]);
  return Object.fromEntries(described);
}

function describeAnswer(answer: DecisionAnswer, bounds: DecisionBounds | undefined): JsonObject {
  // Parsed from JSON, so it is JSON.
  const fields = answer as unknown as JsonObject;
  if (answer.type !== 'noul' || bounds === undefined) return fields;
  return { ...fields, decision: judge(answer.noul, bounds) };
}

/** The word of a plan that has one question, which is yes or no. */
export function findDecisionWord({ bounds }: DecisionPlan, answers: DecisionAnswers): DecisionWord | undefined {
  const [answer, ...others] = Object.values(answers);
  return answer?.type === 'noul' && bounds !== undefined && others.length === 0
    ? judge(answer.noul, bounds)
    : undefined;
}

/** What is printed: the value alone, or a line of id and value for each of several questions. */
export function formatAnswers(answers: DecisionAnswers): string {
  const only = findOnly(answers);
  if (only !== undefined) return `${toDecisionValue(only)}\n`;
  return Object.entries(answers)
    .map(([id, answer]) => `${id}\t${toDecisionValue(answer)}\n`)
    .join('');
}

/** What a row of a batch gets: the answer of the only question, else all of them by their ids. */
export function toRowAnswer(plan: DecisionPlan, answers: DecisionAnswers): JsonValue {
  const described = describeAnswers(plan, answers);
  return described[ONLY_QUESTION] !== undefined && Object.keys(described).length === 1
    ? described[ONLY_QUESTION]
    : described;
}

function findOnly(answers: DecisionAnswers): DecisionAnswer | undefined {
  const list = Object.entries(answers);
  return list.length === 1 && list[0]?.[0] === ONLY_QUESTION ? list[0][1] : undefined;
}
