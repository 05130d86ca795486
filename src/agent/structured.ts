import { AppError } from '../core/error.ts';
import type { TurnEvent } from '../core/event.ts';
import { type JsonObject, type JsonValue, tryParseJson } from '../core/json.ts';
import { addUsage, NO_USAGE } from '../core/usage.ts';
import type { Agent, Turn } from './agent.ts';
import { runTurn } from './turn.ts';

export interface AnswerSchema {
  /** In the form the API accepts. */
  readonly schema: JsonObject;
  readonly findFault: (answer: JsonValue) => string | undefined;
}

export function structuredAgent(agent: Agent, { schema }: AnswerSchema): Agent {
  return cannotCombine(agent) ? agent : withSchema(agent, schema);
}

/**
 * Like `runTurn`, but the text is one JSON value that matches the schema, yielded when it is complete. After a first
 * round with tools and no schema, the model is asked to put its answer into the schema; an answer that does not match
 * is requested once more. Throws AppError `api`, with the answer, if that does not match either.
 */
export async function* runStructuredTurn(
  agent: Agent,
  turn: Turn,
  wanted: AnswerSchema,
): AsyncGenerator<TurnEvent, void> {
  const history = { ...turn.history, replyLimit: turn.history.replyLimit || Number.POSITIVE_INFINITY };
  const writer = withSchema({ ...agent, tools: [], request: { ...agent.request, tools: undefined } }, wanted.schema);
  const repairs = cannotCombine(agent) ? 2 : 1;
  let [asked, prompt] = [agent, turn.prompt];
  let usage = NO_USAGE;
  let found = {};
  for (let round = 0; ; round += 1) {
    const { text, end } = yield* holdText(runTurn(asked, { ...turn, history, prompt }), round > 0);
    usage = addUsage(usage, end.usage);
    if (end.sources !== undefined) found = { sources: end.sources };
    const { json, fault } = checkAnswer(text, wanted);
    if (fault === undefined) {
      yield { type: 'text', delta: json };
      yield { ...end, ...found, usage };
      return;
    }
    if (round === repairs) throw schemaError(fault, text);
    const isFirstDraft = round === 0 && repairs === 2;
    if (!isFirstDraft) yield { type: 'notice', message: `the answer did not match the schema, asked again (${fault})` };
    asked = writer;
    const request = isFirstDraft
      ? `Give your answer as JSON of this JSON Schema, and nothing else:\n${JSON.stringify(wanted.schema)}`
      : `That answer does not match the JSON Schema (${fault}). Give it again, as JSON that does, and nothing else.`;
    prompt = { role: 'user', parts: [{ text: request }], isFollowUp: true };
  }
}

/** Models before Gemini 3 reject a request with both. https://ai.google.dev/gemini-api/docs/structured-output */
function cannotCombine({ tools, request }: Agent): boolean {
  const hasTools = tools.length > 0 || request.tools !== undefined;
  return hasTools && !/^gemini-(?:[3-9]|\d\d)|^gemini-[a-z-]+-latest$/.test(request.model);
}

function withSchema(agent: Agent, schema: JsonObject): Agent {
  const generationConfig = {
    ...agent.request.generationConfig,
    responseMimeType: 'application/json',
    responseJsonSchema: schema,
  };
  return { ...agent, request: { ...agent.request, generationConfig } };
}

interface HeldReply {
  /** The text of the last reply only, without text that came before tool calls. */
  readonly text: string;
  readonly end: Extract<TurnEvent, { type: 'end' }>;
}

async function* holdText(
  events: AsyncGenerator<TurnEvent, void>,
  hasBegun: boolean,
): AsyncGenerator<TurnEvent, HeldReply> {
  let text = '';
  for await (const event of events) {
    if (event.type === 'end') return { text, end: event };
    if (event.type === 'answer') text = '';
    if (event.type === 'text') text += event.delta;
    else if (event.type !== 'begin' || !hasBegun) yield event;
  }
  throw new AppError('internal', 'the turn ended without an end');
}

/** The value of an answer that is complete. Throws AppError `api`, with the answer, if it does not match. */
export function parseAnswer(text: string, wanted: Pick<AnswerSchema, 'findFault'>): JsonValue {
  const { json, fault } = checkAnswer(text, wanted);
  if (fault !== undefined) throw schemaError(fault, text);
  return JSON.parse(json);
}

/** Extracts and checks the JSON; without a schema a model often wraps it in a code block. */
function checkAnswer(
  text: string,
  { findFault }: Pick<AnswerSchema, 'findFault'>,
): { readonly json: string; readonly fault?: string } {
  const fenced = /^```\w*\n([\s\S]*)\n```$/.exec(text.trim())?.[1];
  const json = (fenced ?? text).trim();
  const value = tryParseJson(json);
  try {
    // It comes from JSON.parse.
    const found = value === undefined ? 'it is not JSON' : findFault(value as JsonValue);
    return found === undefined ? { json } : { json, fault: found };
  } catch (thrown) {
    throw AppError.from(thrown).with({ answer: text });
  }
}

function schemaError(fault: string, answer: string): AppError {
  return new AppError('api', `the answer does not match the schema: ${fault}`, {
    hint: 'Ask again, describe in the prompt what is wanted, or loosen the schema.',
    answer,
  });
}
