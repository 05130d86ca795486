import { AppError } from '../core/error.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import type * as Public from './gmn.d.ts';

export interface AnswerSchema {
  /** JSON Schema, as `--output-schema` takes it. */
  readonly text: string;
  /** The value of an answer that matches `text`. Throws AppError `api` if the caller's own schema refuses it. */
  read(answer: string): Promise<unknown>;
}

/** Throws AppError `usage` for what is no schema. */
export function toAnswerSchema(schema: unknown): AnswerSchema {
  const standard = findStandard(schema);
  const text = toSchemaText(standard === undefined ? schema : convertSchema(schema, standard));
  return {
    text,
    async read(answer) {
      const value = tryParseJson(answer);
      if (standard === undefined) return value;
      const result = await validate(standard, value, answer);
      if (result.issues === undefined) return result.value;
      const why = result.issues.map(({ message }) => message).join('; ');
      throw new AppError('api', `the answer does not match the schema: ${why}`, { answer });
    },
  };
}

type Standard = Public.StandardSchema['~standard'];

async function validate(standard: Standard, value: unknown, answer: string): Promise<Public.StandardResult<unknown>> {
  try {
    const result: unknown = await standard.validate(value);
    if (isObject(result)) return result as unknown as Public.StandardResult<unknown>;
    throw new TypeError('it gives no result');
  } catch (cause) {
    throw new AppError('usage', `validate of the schema has failed: ${findReason(cause)}`, { cause, answer });
  }
}

function findReason(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Some libraries have functions as schemas. */
function findStandard(schema: unknown): Standard | undefined {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return undefined;
  return '~standard' in schema ? (schema['~standard'] as Standard) : undefined;
}

/** https://standardschema.dev/json-schema, or zod's own method. */
function convertSchema(schema: unknown, standard: Standard): unknown {
  const { jsonSchema } = standard as Standard & {
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => unknown };
  };
  const { toJSONSchema } = schema as { readonly toJSONSchema?: () => unknown };
  const refuse = (cause?: unknown): AppError =>
    new AppError(
      'usage',
      `this schema of ${standard.vendor} cannot be told as JSON Schema${cause === undefined ? '' : `: ${findReason(cause)}`}`,
      {
        cause,
        hint: 'Convert it first, for example: schema: z.toJSONSchema(MySchema)',
      },
    );
  try {
    if (jsonSchema !== undefined) return jsonSchema.input({ target: 'draft-2020-12' });
    if (typeof toJSONSchema === 'function') return toJSONSchema.call(schema);
  } catch (cause) {
    throw refuse(cause);
  }
  throw refuse();
}

function toSchemaText(schema: unknown): string {
  const text = isObject(schema) && !Array.isArray(schema) ? tryToJson(schema) : undefined;
  if (text !== undefined) return text;
  throw new AppError('usage', 'schema must be a JSON Schema, an object', {
    hint: "Example: schema: { type: 'array', items: { type: 'string' } }",
  });
}

/** Undefined for what has no form in JSON, such as a circle. */
export function tryToJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
