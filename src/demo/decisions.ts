import { waitForAbort } from '../core/async.ts';
import { isObject, type JsonObject, toJsonObject } from '../core/json.ts';
import { estimateTokens, MEDIA_TOKENS } from '../core/usage.ts';
import type { ServedReply, ServedRequest } from '../platform/http/server.ts';
import { hash32, toObjects } from './embed.ts';
import type { FaultBook } from './fault.ts';
import { ApiError, invalidArgumentResponse, notFoundResponse, requireValid } from './google-error.ts';
import { checkFaults } from './model-call.ts';
import type { QuotaBook } from './quota.ts';
import { parseBody } from './request.ts';
import { sendJson } from './send.ts';

const MODEL = /^gemini-decision-\d+$/;
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const INPUT_TYPES = ['text', 'image', 'document'];
const WINDOW = 262_144;

/** Every answer is a hash of input and question, so that the same ones always get the same answer. */
export function createDecisions({ faults, quotas }: { readonly faults: FaultBook; readonly quotas: QuotaBook }) {
  return async (request: ServedRequest, reply: ServedReply): Promise<void> => {
    const { model, input, questions, ...rest } = requireValid(parseBody(request.body));
    const name = String(model ?? '');
    checkFaults({ backend: 'gemini', model: name }, faults);
    if (faults.take(['hang']) !== undefined) return waitForAbort(reply.signal);
    if (!MODEL.test(name)) throw new ApiError(notFoundResponse(`models/${name} is not found, or does not decide.`));
    const problem = findStray(rest) ?? findInputProblem(input) ?? findQuestionProblem(questions);
    if (problem !== undefined) throw new ApiError(invalidArgumentResponse(problem));
    const items = toObjects(input);
    const asked = Object.entries(toJsonObject(questions));
    const tokens = countInputTokens(items) + estimateTokens(JSON.stringify(questions));
    if (tokens > WINDOW) {
      throw new ApiError(
        invalidArgumentResponse(`The input token count (${tokens}) exceeds the maximum of ${WINDOW}.`),
      );
    }
    const refused = quotas.admit({ backend: 'gemini', model: name, promptTokens: () => tokens });
    if (refused !== undefined) throw new ApiError(refused);
    const usage = {
      total_input_tokens: tokens,
      total_output_tokens: 0,
      total_tokens: tokens,
      input_tokens_by_modality: [{ modality: 'text', tokens }],
    };
    if (faults.take(['blocked', 'safety']) !== undefined) {
      const feedback = { block_reason: 'SAFETY', block_reason_message: 'The input was blocked.' };
      return sendJson(reply, { prompt_feedback: feedback, usage });
    }
    if (faults.take(['empty']) !== undefined) return sendJson(reply, { answers: {}, usage });
    const text = JSON.stringify(items);
    const answers = asked.map(([id, question]) => [id, hashToAnswer(text, toJsonObject(question))] as const);
    if (faults.take(['decision-missing']) !== undefined) answers.pop();
    const isOdd = faults.take(['decision-type']) !== undefined;
    const sent = answers.map(([id, answer]) => [id, isOdd ? { ...answer, type: 'maybe' } : answer]);
    sendJson(reply, { answers: Object.fromEntries(sent), usage });
  };
}

/** From 0.01 to 0.99, as the service limits itself. */
function hashToShare(text: string, seed: number): number {
  return Number((0.01 + (0.98 * (hash32(text, seed) % 10_007)) / 10_006).toFixed(2));
}

function hashToAnswer(input: string, { type, instructions, criteria }: JsonObject): JsonObject {
  const text = `${input}\n${String(instructions)}`;
  if (type === 'noul') {
    const noul = hashToShare(text, 1);
    return { type, noul, confidence: Number((Math.abs(noul - 0.5) * 2).toFixed(2)) };
  }
  const names = Array.isArray(criteria) ? criteria.map((_level, index) => String(index)) : Object.keys(criteria ?? {});
  const weights = names.map((name, index) => 1 + (hash32(`${text}\n${name}`, index + 1) % 97));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const shares = weights.map((weight) => Number((weight / sum).toFixed(4)));
  const probabilities = Object.fromEntries(names.map((name, index) => [name, shares[index] ?? 0]));
  const best = Math.max(...shares);
  if (type === 'choice') return { type, choice: names[shares.indexOf(best)] ?? '', probabilities, confidence: best };
  const score = shares.reduce((total, share, level) => total + share * level, 0);
  const legend = Object.fromEntries(Object.entries(criteria ?? {}));
  return { type, score: Number(score.toFixed(2)), probabilities, legend, confidence: best };
}

function findStray(rest: JsonObject): string | undefined {
  const [stray] = Object.keys(rest);
  return stray === undefined ? undefined : `Invalid JSON payload received. Unknown name "${stray}".`;
}

function findInputProblem(input: unknown): string | undefined {
  if (!Array.isArray(input) || input.length === 0) return 'input: must not be empty';
  const odd = input.find((item) => !isObject(item) || !INPUT_TYPES.includes(String(item.type)));
  if (odd !== undefined) return `input: an item is none of ${INPUT_TYPES.join(', ')}`;
  const isWhole = toObjects(input).every(({ type, text, mime_type: mime, data, uri }) =>
    type === 'text'
      ? typeof text === 'string'
      : typeof mime === 'string' && (data === undefined) !== (uri === undefined),
  );
  return isWhole ? undefined : 'input: an item has no content';
}

function findQuestionProblem(questions: unknown): string | undefined {
  const asked = Object.entries(isObject(questions) ? questions : {});
  if (asked.length === 0 || asked.length > 1000) return 'questions: must be 1 to 1000';
  for (const [id, value] of asked) {
    const { type, instructions, criteria } = toJsonObject(value);
    if (!ID.test(id)) return `questions: "${id}" is not an id`;
    if (typeof instructions !== 'string' || instructions === '')
      return `questions.${id}.instructions: must not be empty`;
    if (type === 'noul') continue;
    if (type !== 'choice' && type !== 'score') return `questions.${id}.type: is not known`;
    if (Array.isArray(criteria) !== (type === 'score')) return `questions.${id}.criteria: do not fit the type`;
    const count = Object.keys(criteria ?? {}).length;
    if (count < 2 || count > 255) return `questions.${id}.criteria: must be 2 to 255`;
  }
  return undefined;
}

function countInputTokens(items: readonly JsonObject[]): number {
  return items.reduce((sum, { text }) => sum + (typeof text === 'string' ? estimateTokens(text) : MEDIA_TOKENS), 0);
}
