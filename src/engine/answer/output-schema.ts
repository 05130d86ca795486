import type { Agent, RunTurn } from '../../agent/agent.ts';
import { type AnswerSchema, parseAnswer, runStructuredTurn, structuredAgent } from '../../agent/structured.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { isList, isObject, type JsonObject, type JsonValue, omitUndefined } from '../../core/json.ts';
import { StepLimitError } from '../../core/text/pattern.ts';
import { readNamedText } from '../../input/text-or-file.ts';

export interface AnswerFormat {
  /** The agent with the format in its first request. Throws AppError `usage` if it does not support it. */
  agent(agent: Agent): Agent;
  readonly run: RunTurn;
  readonly schema?: {
    readonly document: JsonObject;
    /** The value of an answer. Throws AppError `api` if it does not match. */
    readonly parse: (answer: string) => JsonValue;
  };
}

export async function readAnswerFormat(outputSchema: string, app: App): Promise<AnswerFormat> {
  const wanted = await readSchema(outputSchema, app);
  return {
    agent: (agent) => structuredAgent(agent, wanted),
    run: (agent, turn) => runStructuredTurn(agent, turn, wanted),
    schema: { document: wanted.document, parse: (answer) => parseAnswer(answer, wanted) },
  };
}

const HINT = `Example: --output-schema '{"type":"array","items":{"type":"string"}}', or the path of such a file`;

async function readSchema(value: string, app: App): Promise<AnswerSchema & { readonly document: JsonObject }> {
  const isLiteral = /^\s*(?:\{|\[.*\]\s*$)/s.test(value);
  const name = isLiteral ? '--output-schema' : value;
  const document = parseSchema(
    isLiteral ? value : await readNamedText(value, '--output-schema', [HINT, HINT], app),
    name,
  );
  return { document, schema: toApiObject(document), findFault: await createFaultFinder(document, 'the answer') };
}

/** Finds what is wrong with a value, `what`, that should match the schema. Throws AppError `usage` for a schema that cannot be used. */
export async function createFaultFinder(
  document: JsonObject,
  what: string,
): Promise<(value: JsonValue) => string | undefined> {
  const { compileSchemaCheck } = await import('./schema-check.ts');
  const check = explainFault(() => compileSchemaCheck(document));
  return (value) => {
    const mismatch = explainFault(() => check(value, { left: MAX_STEPS }));
    return mismatch === undefined ? undefined : `${mismatch.at || what}: ${mismatch.error}`;
  };
}

function parseSchema(text: string, name: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : '';
    throw new AppError('usage', `${name} is not JSON: ${why}`, { cause, hint: HINT });
  }
  if (!isObject(value))
    throw new AppError('usage', `${name} is not a JSON Schema: a schema is an object`, { hint: HINT });
  return value as JsonObject;
}

/** About 50 ms. */
const MAX_STEPS = 1_500_000;

/** For example an unresolved reference or an invalid pattern. */
function explainFault<Result>(use: () => Result): Result {
  try {
    return use();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : '';
    const isSlow = cause instanceof StepLimitError;
    throw new AppError(isSlow ? 'limit' : 'usage', `the schema cannot be used: ${why}`, {
      cause,
      hint: isSlow ? 'Make its patterns shorter, with smaller numbers of repetitions, or ask for less.' : HINT,
    });
  }
}

/** The keywords the API supports. https://ai.google.dev/api/generate-content#FIELDS.response_json_schema */
const API_KEYWORDS = new Set(
  (
    '$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum ' +
    'anyOf oneOf properties additionalProperties required propertyOrdering'
  ).split(' '),
);

/** Removes keywords the API would reject; they are still checked on the answer. */
function toApiSchema(schema: JsonValue | undefined): JsonValue | undefined {
  return isObject(schema) ? toApiObject(schema) : schema;
}

function toApiObject(schema: JsonObject): JsonObject {
  const { definitions, const: only, ...rest } = schema;
  const known = omitUndefined<JsonObject>({
    ...rest,
    $defs: definitions === undefined ? rest.$defs : { ...asObject(rest.$defs), ...asObject(definitions) },
    enum: only === undefined ? rest.enum : [only],
  });
  const isReference = typeof known.$ref === 'string';
  const kept = Object.entries(known).filter(([key]) => API_KEYWORDS.has(key) && (!isReference || key.startsWith('$')));
  return Object.fromEntries(kept.map(([key, value]) => [key, toApiValue(key, value)]));
}

function toApiValue(key: string, value: JsonValue | undefined): JsonValue | undefined {
  if (key === 'type') rejectUnknownTypes(value);
  if (key === '$ref' && typeof value === 'string') return value.replace(/^#\/definitions\//, '#/$defs/');
  if (key === 'properties' || key === '$defs') {
    return Object.fromEntries(Object.entries(asObject(value)).map(([name, inner]) => [name, toApiSchema(inner)]));
  }
  if (key === 'anyOf' || key === 'oneOf' || key === 'prefixItems') {
    return isList(value) ? value.map((inner) => toApiSchema(inner) ?? null) : value;
  }
  return key === 'items' || key === 'additionalProperties' ? toApiSchema(value) : value;
}

const TYPES: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

/** No answer could match an unknown type. */
function rejectUnknownTypes(value: JsonValue | undefined): void {
  const unknown = [value].flat().find((type) => !TYPES.includes(type));
  if (unknown === undefined) return;
  const message = `--output-schema: ${JSON.stringify(unknown)} is not a type of JSON Schema`;
  throw new AppError('usage', message, { hint: `Types: ${TYPES.join(', ')}` });
}

function asObject(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}
