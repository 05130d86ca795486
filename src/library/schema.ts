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
      const result = await standard.validate(value);
      if (result.issues === undefined) return result.value;
      const why = result.issues.map(({ message }) => message).join('; ');
      throw new AppError('api', `the answer does not match the schema: ${why}`, { answer });
    },
  };
}

type Standard = Public.StandardSchema['~standard'];

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
  if (jsonSchema !== undefined) return jsonSchema.input({ target: 'draft-2020-12' });
  const { toJSONSchema } = schema as { readonly toJSONSchema?: () => unknown };
  if (typeof toJSONSchema === 'function') return toJSONSchema.call(schema);
  throw new AppError('usage', `this schema of ${standard.vendor} cannot be told as JSON Schema`, {
    hint: 'Convert it first, for example: schema: z.toJSONSchema(MySchema)',
  });
}

function toSchemaText(schema: unknown): string {
  if (isObject(schema) && !Array.isArray(schema)) return JSON.stringify(schema);
  throw new AppError('usage', 'schema must be a JSON Schema, an object', {
    hint: "Example: schema: { type: 'array', items: { type: 'string' } }",
  });
}
