import { AppError } from './error.ts';
import { isObject, type JsonObject, type JsonValue } from './json.ts';

type PropertyType = 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array';

export interface Property extends JsonObject {
  readonly type: PropertyType;
  /** Absent where the name says it. */
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly default?: JsonValue;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonObject;
}

/** The arguments of a tool, ours or served: a flat object, so that every MCP host can show and fill in a form. */
export interface InputSchema {
  readonly properties: Readonly<Record<string, Property>>;
  readonly required?: readonly string[];
}

interface ValueTypes {
  string: string;
  number: number;
  integer: number;
  boolean: boolean;
  object: JsonObject;
  array: readonly JsonObject[];
}

type ValueOf<P extends Property> = P extends { readonly enum: readonly (infer Choice)[] }
  ? Choice
  : P extends { readonly items: { readonly type: 'string' } }
    ? readonly string[]
    : ValueTypes[P['type']];

type RequiredKey<Schema extends InputSchema> = Schema extends { readonly required: readonly (infer Key)[] }
  ? Key & keyof Schema['properties']
  : never;

export type ArgumentsOf<Schema extends InputSchema> = {
  readonly [Key in RequiredKey<Schema>]: ValueOf<Schema['properties'][Key]>;
} & {
  readonly [Key in Exclude<keyof Schema['properties'], RequiredKey<Schema>>]?:
    | ValueOf<Schema['properties'][Key]>
    | undefined;
};

/** The Gemini CLI adds this argument to every tool it declares, for its own use, and passes it on. */
const HOST_ARGUMENT = 'wait_for_previous';

/**
 * Validates the arguments. `null` counts as omitted, and so does an empty string for an optional argument, as hosts
 * fill in whole forms. Throws AppError `usage`, with a hint, for an argument that is missing, unknown, empty or of the
 * wrong type: a misspelt name must not be ignored.
 */
export function parseArguments<Schema extends InputSchema>(schema: Schema, args: JsonObject): ArgumentsOf<Schema> {
  const names = Object.keys(schema.properties);
  const isOmitted = (name: string, value: unknown): boolean =>
    value === null || value === undefined || (value === '' && names.includes(name) && !schema.required?.includes(name));
  const given = Object.entries(args).filter(([name, value]) => !isOmitted(name, value) && name !== HOST_ARGUMENT);
  for (const [name, value] of given) {
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (property === undefined) {
      throw argumentError(
        `there is no argument "${name.slice(0, 60)}"`,
        `The arguments are: ${names.join(', ') || 'none'}`,
      );
    }
    const fault = property.type === 'string' && value === '' ? 'is empty' : findProblem(property, value);
    if (fault !== undefined) throw argumentError(`${name} ${fault}`, property.description ?? '');
  }
  const parsed = Object.fromEntries(given);
  for (const name of schema.required ?? []) {
    if (parsed[name] === undefined)
      throw argumentError(`${name} is required`, schema.properties[name]?.description ?? '');
  }
  return parsed as ArgumentsOf<Schema>;
}

function argumentError(message: string, hint: string): AppError {
  return new AppError('usage', message, { hint });
}

/** What is wrong with a value, as in `<name> must be a string`; undefined if nothing is. */
export function findProblem(property: Property, value: JsonValue | undefined): string | undefined {
  const { type, minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = property;
  switch (type) {
    case 'string':
      if (typeof value !== 'string') return 'must be a string';
      return property.enum?.includes(value) === false ? `must be one of ${property.enum.join(', ')}` : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'number':
    case 'integer': {
      if (typeof value !== 'number' || !Number.isFinite(value)) return 'must be a number';
      if (type === 'integer' && !Number.isSafeInteger(value)) return 'must be a whole number';
      return value >= minimum && value <= maximum ? undefined : `must be ${formatRange(property)}`;
    }
    case 'object':
      return isObject(value) ? undefined : 'must be an object';
    case 'array':
      if (property.items?.type === 'string')
        return Array.isArray(value) && value.every((item) => typeof item === 'string')
          ? undefined
          : 'must be a list of strings';
      return Array.isArray(value) && value.every(isObject) ? undefined : 'must be a list of objects';
  }
}

export function formatRange({ minimum, maximum }: Pick<Property, 'minimum' | 'maximum'>): string {
  return maximum === undefined ? `${minimum} or more` : `${minimum} to ${maximum}`;
}

export function resolvePointer(root: JsonObject, pointer: string): JsonObject | undefined {
  if (!pointer.startsWith('#')) return undefined;
  let at: JsonValue | undefined = root;
  for (const step of pointer.slice(1).split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (isObject(at)) at = Object.hasOwn(at, key) ? at[key] : undefined;
    else at = Array.isArray(at) ? at[Number(key)] : undefined;
  }
  return isObject(at) ? at : undefined;
}
