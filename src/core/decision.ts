import type { Part } from './content.ts';
import { AppError } from './error.ts';
import { isObject } from './json.ts';
import type { Usage, UsageDetails } from './usage.ts';

/** A question as the Decisions API takes it; `noul` is its name for yes or no. */
export type DecisionQuestion =
  | {
      readonly type: 'noul';
      readonly instructions: string;
      readonly criteria?: { readonly true_description?: string; readonly false_description?: string };
    }
  | {
      readonly type: 'choice';
      readonly instructions: string;
      /** What each option means; null: its name says it. */
      readonly criteria: Readonly<Record<string, string | null>>;
    }
  | {
      readonly type: 'score';
      readonly instructions: string;
      /** From the lowest level to the highest. */
      readonly criteria: readonly string[];
    };

export type DecisionQuestions = Readonly<Record<string, DecisionQuestion>>;

type Distribution = Readonly<Record<string, number>>;

/** As the API sends it; every answer here has the type of its question. */
export type DecisionAnswer =
  | { readonly type: 'noul'; readonly noul: number; readonly confidence?: number }
  | {
      readonly type: 'choice';
      readonly choice: string;
      readonly probabilities?: Distribution;
      readonly confidence?: number;
    }
  | {
      readonly type: 'score';
      readonly score: number;
      readonly probabilities?: Distribution;
      readonly legend?: Readonly<Record<string, string>>;
      readonly confidence?: number;
    };

export type DecisionAnswers = Readonly<Record<string, DecisionAnswer>>;

export interface DecisionRequest {
  readonly model: string;
  /** What the questions are about. */
  readonly input: readonly Part[];
  readonly questions: DecisionQuestions;
}

export interface DecisionReply {
  /** One for each question. */
  readonly answers: DecisionAnswers;
  readonly usage: Usage & UsageDetails;
}

/** Throws AppError `auth` or `api`: also for a blocked input, and for an answer that is missing or not one of its question. */
export interface DecisionsClient {
  decide(request: DecisionRequest, signal: AbortSignal): Promise<DecisionReply>;
  /** The request without its credential. Sends nothing. */
  preview(request: DecisionRequest): { readonly url: URL; readonly body: object };
}

export const DECISION_MODEL = 'gemini-decision-1';

/** The id of a question that is asked alone. */
export const ONLY_QUESTION = 'answer';

const MAX_QUESTIONS = 1000;
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const MAX_CRITERIA = 255;
const MAX_OPTION = 128;

/** Throws AppError `usage` for what the API does not take, so that nothing is sent. `where` begins its message. */
export function parseQuestions(value: unknown, where: string): DecisionQuestions {
  const fail = (what: string): never => {
    throw new AppError('usage', `${where}: ${what}`, { hint: QUESTIONS_HINT });
  };
  if (!isObject(value)) return fail('the questions are not an object');
  const ids = Object.keys(value);
  if (ids.length === 0) fail('there is no question');
  if (ids.length > MAX_QUESTIONS) fail(`there are ${ids.length} questions, and at most ${MAX_QUESTIONS} are possible`);
  return Object.fromEntries(
    ids.map((id) => {
      if (!ID.test(id)) fail(`"${id.slice(0, 80)}" is no id: 1 to 64 letters, digits, _ and -`);
      return [id, parseQuestion(value[id], (what) => fail(ids.length === 1 ? what : `${id}: ${what}`))];
    }),
  );
}

const QUESTIONS_HINT =
  'Example: {"refund":{"type":"noul","instructions":"Is money asked for?"},"team":{"type":"choice","instructions":"Who?","criteria":{"billing":"Charges","support":null}}}';

type Fail = (what: string) => never;

function parseQuestion(value: unknown, fail: Fail): DecisionQuestion {
  if (!isObject(value)) return fail('the question is not an object');
  const { type, instructions, criteria, ...rest } = value;
  const [stray] = Object.keys(rest);
  if (stray !== undefined) fail(`"${stray.slice(0, 80)}" is not a field of a question`);
  if (typeof instructions !== 'string' || instructions.trim() === '') return fail('"instructions" say what is asked');
  switch (type) {
    case 'noul':
      return { type, instructions, criteria: parseDescriptions(criteria, fail) };
    case 'choice':
      return { type, instructions, criteria: parseOptions(criteria, fail) };
    case 'score':
      return { type, instructions, criteria: parseLevels(criteria, fail) };
    default:
      return fail(`"type" is noul (yes or no), choice or score, not ${JSON.stringify(type ?? null).slice(0, 80)}`);
  }
}

function parseDescriptions(value: unknown, fail: Fail) {
  if (value === undefined) return undefined;
  const names = ['true_description', 'false_description'];
  const isFine = isObject(value) && Object.entries(value).every(([k, v]) => names.includes(k) && typeof v === 'string');
  return isFine ? value : fail('"criteria" of a noul have "true_description" and "false_description", both texts');
}

function parseOptions(value: unknown, fail: Fail): Readonly<Record<string, string | null>> {
  if (!isObject(value)) return fail('"criteria" of a choice are its options: {"name":"description" or null}');
  const options = Object.entries(value);
  checkCriteriaCount(options.length, 'options', fail);
  for (const [name, description] of options) {
    if (name === '' || name !== name.trim())
      fail(`the option "${name.slice(0, 80)}" is empty, or has spaces around it`);
    if (name.length > MAX_OPTION) fail(`the option "${name.slice(0, 40)}…" is longer than ${MAX_OPTION} characters`);
    if (description !== null && typeof description !== 'string') fail(`the option "${name}" has no text, nor null`);
  }
  // The API lists them in this order.
  return Object.fromEntries(options.sort(([a], [b]) => (a < b ? -1 : 1))) as Readonly<Record<string, string | null>>;
}

function parseLevels(value: unknown, fail: Fail): readonly string[] {
  if (!Array.isArray(value)) return fail('"criteria" of a score are a list of its levels, the lowest first');
  checkCriteriaCount(value.length, 'levels', fail);
  if (value.every((level) => typeof level === 'string' && level.trim() !== '')) return value;
  return fail('a level is empty, or not a text');
}

function checkCriteriaCount(count: number, of: string, fail: Fail): void {
  if (count < 2 || count > MAX_CRITERIA) fail(`it has ${count} ${of}, and needs 2 to ${MAX_CRITERIA}`);
}

/** One question of words; with neither options nor levels it is yes or no. Throws AppError `usage`. */
export function toQuestions(
  instructions: string,
  { options, levels }: { readonly options?: readonly string[]; readonly levels?: readonly string[] },
  where: string,
): DecisionQuestions {
  const twice = options?.find((name, index) => options.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new AppError('usage', `${where}: the option "${twice}" is there twice`, { hint: 'Name each option once.' });
  }
  if (options !== undefined) {
    const criteria = Object.fromEntries(options.map((name) => [name, null]));
    return parseQuestions({ [ONLY_QUESTION]: { type: 'choice', instructions, criteria } }, where);
  }
  const asked =
    levels === undefined ? { type: 'noul', instructions } : { type: 'score', instructions, criteria: levels };
  return parseQuestions({ [ONLY_QUESTION]: asked }, where);
}
