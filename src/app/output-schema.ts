import type { Schema, SchemaDraft, Validator } from '@cfworker/json-schema';
import type { Agent, RunTurn } from '../agent/agent.ts';
import { type AnswerSchema, parseAnswer, runStructuredTurn, structuredAgent } from '../agent/structured.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { decodeText } from '../core/text/decode.ts';
import { resolveNamedFile } from '../input/named-file.ts';
import { readBytes } from '../platform/files/read.ts';

export interface AnswerFormatOptions {
  readonly outputSchema?: string;
}

export interface AnswerFormat {
  /** The agent with the format in its first request. Throws AppError `usage` if it does not support it. */
  agent(agent: Agent): Agent;
  readonly run: RunTurn;
  /** Present with `--output-schema`. */
  readonly schema?: {
    /** As the user gave it. */
    readonly document: JsonObject;
    /** The value of an answer. Throws AppError `api` if it does not match. */
    readonly parse: (answer: string) => JsonValue;
  };
}

/** Applies `--output-schema`. Throws AppError `usage` if the schema is invalid. */
export async function readAnswerFormat(outputSchema: string, app: App): Promise<AnswerFormat> {
  const wanted = await readSchema(outputSchema, app);
  return {
    agent: (agent) => structuredAgent(agent, wanted),
    run: (agent, turn) => runStructuredTurn(agent, turn, wanted),
    schema: { document: wanted.document, parse: (answer) => parseAnswer(answer, wanted) },
  };
}

const MAX_BYTES = 1_000_000;

const HINT = `Example: --output-schema '{"type":"array","items":{"type":"string"}}', or the path of such a file`;

/** Reads `--output-schema`: a JSON Schema, or the path of one. Throws AppError `usage` if it is invalid. */
async function readSchema(value: string, app: App): Promise<AnswerSchema & { readonly document: JsonObject }> {
  const isLiteral = /^\s*(?:\{|\[.*\]\s*$)/s.test(value);
  const name = isLiteral ? '--output-schema' : value;
  const document = parseSchema(isLiteral ? value : await readSchemaFile(value, app), name);
  const { Validator } = await import('@cfworker/json-schema');
  const validator = new Validator(document, findDraft(document));
  return { document, schema: toApiObject(document), findFault: (answer) => findMismatch(validator, answer) };
}

async function readSchemaFile(name: string, app: App): Promise<string> {
  const bytes = await readBytes(await resolveNamedFile(name, app), {
    name,
    maxBytes: MAX_BYTES,
    tooLarge: () => new AppError('usage', `--output-schema: ${name} is larger than 1 MB`, { hint: HINT }),
  });
  const decoded = decodeText(bytes);
  if (decoded.isText) return decoded.text;
  throw new AppError('usage', `--output-schema: ${name} is not text`, { hint: HINT });
}

function parseSchema(text: string, name: string): JsonObject & Schema {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : '';
    throw new AppError('usage', `${name} is not JSON: ${why}`, { cause, hint: HINT });
  }
  if (!isObject(value))
    throw new AppError('usage', `${name} is not a JSON Schema: a schema is an object`, { hint: HINT });
  return value as JsonObject & Schema;
}

const DRAFTS: readonly (readonly [string, SchemaDraft])[] = [
  ['draft-04', '4'],
  ['draft-06', '7'],
  ['draft-07', '7'],
  ['2019-09', '2019-09'],
];

function findDraft({ $schema }: Schema): SchemaDraft {
  return DRAFTS.find(([mark]) => $schema?.includes(mark))?.[1] ?? '2020-12';
}

function findMismatch(validator: Validator, answer: unknown): string | undefined {
  try {
    const { valid, errors } = validator.validate(answer);
    // The last error is the deepest; the others only say that something below them is wrong.
    const deepest = errors.at(-1);
    if (valid || deepest === undefined) return undefined;
    return `${deepest.instanceLocation.replace(/^#/, '') || 'the answer'}: ${deepest.error}`;
  } catch (cause) {
    // For example an unresolved reference or an invalid pattern.
    const why = cause instanceof Error ? cause.message : '';
    throw new AppError('usage', `the schema cannot be used: ${why.split('\n', 1)[0]}`, { cause, hint: HINT });
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
  const known: JsonObject = {
    ...rest,
    ...(definitions === undefined ? {} : { $defs: { ...asObject(rest.$defs), ...asObject(definitions) } }),
    ...(only === undefined ? {} : { enum: [only] }),
  };
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
