import type { Part } from '../core/content.ts';
import type {
  DecisionAnswer,
  DecisionAnswers,
  DecisionQuestion,
  DecisionQuestions,
  DecisionRequest,
  DecisionsClient,
} from '../core/decision.ts';
import { AppError, serverError } from '../core/error.ts';
import { filterObjects, isCount, isObject, toNonEmptyString } from '../core/json.ts';
import type { Usage, UsageDetails } from '../core/usage.ts';
import { API_VERSION, geminiApiUrl } from './gemini-api.ts';
import { toOneLine } from './google-error.ts';
import { callJson, type Fields, type ServiceContext, withRetries } from './queries.ts';
import { blockedPromptError } from './reply-failure.ts';

/** Read in packages and pages, never recorded: docs/compat.md. */
export function createDecisionsClient(context: ServiceContext): DecisionsClient {
  // No other version has it, whichever the models are asked with.
  const url = geminiApiUrl({ ...context.place, apiVersion: API_VERSION }, 'decisions');
  return {
    async decide(request, signal) {
      const call = { url, body: toBody(request), model: request.model };
      const fields = await withRetries(() => callJson(context, call, signal), context, signal);
      return {
        answers: parseAnswers(fields, request.questions, context.identity.secrets),
        usage: parseTotalUsage(fields.usage),
      };
    },
    preview: (request) => ({ url, body: toBody(request) }),
  };
}

function toBody({ model, input, questions }: DecisionRequest): object {
  return { model, input: input.map(toInputItem), questions };
}

/** A part of a prompt, as the Decisions and Interactions APIs take it. */
export function toInputItem(part: Part): object {
  if ('text' in part) return { type: 'text', text: part.text };
  if ('inlineData' in part) {
    const { mimeType, data } = part.inlineData;
    return { type: toInputType(mimeType), mime_type: mimeType, data };
  }
  if ('fileData' in part) {
    const { mimeType, fileUri: uri } = part.fileData;
    return { type: toInputType(mimeType), mime_type: mimeType, uri };
  }
  throw new AppError('internal', 'a part that is no input');
}

function toInputType(mimeType: string): string {
  const [family = ''] = mimeType.split('/', 1);
  return ['image', 'audio', 'video'].includes(family) ? family : 'document';
}

function parseAnswers(fields: Fields, questions: DecisionQuestions, secrets: ReadonlySet<string>): DecisionAnswers {
  const { answers, prompt_feedback: feedback } = fields;
  const reason = isObject(feedback) ? toNonEmptyString(feedback.block_reason) : undefined;
  if (isObject(feedback) && reason !== undefined) {
    const message = toNonEmptyString(feedback.block_reason_message);
    throw blockedPromptError(message === undefined ? reason : `${reason}: ${message}`, secrets);
  }
  return Object.fromEntries(
    Object.entries(questions).map(([id, question]) => {
      const value = isObject(answers) && Object.hasOwn(answers, id) ? answers[id] : undefined;
      if (!isObject(value)) throw answerError(`no answer to "${id}"`);
      return [id, parseDecisionAnswer(id, value, question)];
    }),
  );
}

function parseDecisionAnswer(id: string, value: Fields, question: DecisionQuestion): DecisionAnswer {
  const { type, noul, choice, score } = value;
  if (type !== question.type) {
    const sent = toOneLine(typeof type === 'string' ? type : 'none', 40);
    throw answerError(`an answer of the type ${sent} to "${id}", which is a ${question.type}`);
  }
  const isAnswer =
    question.type === 'noul'
      ? isWithin(noul, 1)
      : question.type === 'choice'
        ? typeof choice === 'string' && Object.hasOwn(question.criteria, choice)
        : isWithin(score, question.criteria.length);
  if (!isAnswer) throw answerError(`an answer to "${id}" that is none`);
  return value as DecisionAnswer;
}

function isWithin(value: unknown, most: number): boolean {
  return typeof value === 'number' && value >= 0 && value <= most;
}

function answerError(what: string): AppError {
  return serverError('api', `the server sent ${what}`, { hint: 'Try again.' });
}

/** The counts that the Decisions and Interactions APIs send, under the names of `generateContent`. What is no count is dropped. */
export function parseTotalUsage(value: unknown): Usage & UsageDetails {
  if (!isObject(value)) return {};
  const toCount = (name: string): number | undefined => {
    const count = value[name];
    return isCount(count) ? count : undefined;
  };
  const modalities = filterObjects(value.input_tokens_by_modality).flatMap(
    ({ modality, tokens, token_count: count }) => {
      const tokenCount = tokens ?? count;
      return typeof modality === 'string' && isCount(tokenCount)
        ? [{ modality: modality.toUpperCase(), tokenCount }]
        : [];
    },
  );
  const usage = {
    promptTokenCount: toCount('total_input_tokens'),
    candidatesTokenCount: toCount('total_output_tokens'),
    totalTokenCount: toCount('total_tokens'),
    cachedContentTokenCount: toCount('total_cached_tokens'),
    thoughtsTokenCount: toCount('total_thought_tokens'),
    toolUsePromptTokenCount: toCount('total_tool_use_tokens'),
    promptTokensDetails: modalities.length === 0 ? undefined : modalities,
  };
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== undefined));
}
