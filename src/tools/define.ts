import { resolve } from 'node:path';
import { AppError } from '../core/error.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';
import { type ArgumentsOf, findProblem, type InputSchema, type Property } from '../core/schema.ts';
import type { Draft, Effect, Preview, Tool, ToolResult } from '../core/tool.ts';

export interface ToolDeclaration<S extends InputSchema = InputSchema> {
  readonly name: string;
  readonly description: string;
  readonly effect: Effect;
  readonly input: S;
  /** Other names of a parameter, such as `path` for `file_path`; accepted, but not shown to the model. */
  readonly aliases?: Readonly<Record<string, keyof S['properties'] & string>>;
}

export interface ToolHandlers<D extends { readonly input: InputSchema }> {
  /** What a person is shown first; a tool result instead refuses the call. A thrown AppError becomes such a result. */
  preview?(input: ArgumentsOf<D['input']>, signal: AbortSignal, draft?: Draft): Promise<Preview | ToolResult>;
  /** A thrown AppError becomes a tool result with its message and hint. */
  run(input: ArgumentsOf<D['input']>, signal: AbortSignal): Promise<ToolResult>;
}

interface ToolSpec<S extends InputSchema> extends ToolDeclaration<S>, ToolHandlers<{ readonly input: S }> {
  /** The directory that `file_path` and `dir_path` are relative to; also the default of `dir_path`. */
  readonly root?: string | undefined;
}

export const FILE_ALIASES = { path: 'file_path', absolute_path: 'file_path' } as const;

export function findArgument(
  args: JsonObject,
  wanted: string,
  aliases: Readonly<Record<string, string>>,
): JsonValue | undefined {
  const names = [wanted, ...Object.keys(aliases).filter((alias) => aliases[alias] === wanted)];
  return names
    .map((name) => (Object.hasOwn(args, name) ? args[name] : undefined))
    .find((value) => value !== undefined && value !== null);
}

/**
 * Makes a tool from one literal: the handler's argument type follows from the schema, and arguments are validated
 * first.
 */
export function defineTool<const S extends InputSchema>(spec: ToolSpec<S>): Tool {
  const { name, description, effect, input, aliases = {}, root, preview, run } = spec;
  const withValidation =
    <T>(handle: (input: ArgumentsOf<S>, signal: AbortSignal, draft?: Draft) => Promise<T>) =>
    (args: JsonObject, signal: AbortSignal, draft?: Draft): Promise<T | ToolResult> =>
      runToResult(async () => handle(parseInput(name, input, aliases, args), signal, draft), signal);
  return {
    name,
    description,
    effect,
    input: toJsonSchema(input),
    plain: (args) => Object.fromEntries(normalizeValues(resolveAliases(input.properties, aliases, args), input, root)),
    invoke: withValidation((values, signal) => run(values, signal)),
    ...(preview === undefined
      ? {}
      : { preview: withValidation((values, signal, draft) => preview(values, signal, draft)) }),
  };
}

export function succeed(output: JsonValue, summary?: string): ToolResult {
  return { ok: true, response: { output }, ...(summary === undefined ? {} : { summary }) };
}

/** `error` should tell the model what to do about it. */
export function fail(error: string): ToolResult {
  return { ok: false, response: { error } };
}

async function runToResult<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T | ToolResult> {
  signal.throwIfAborted();
  try {
    return await work();
  } catch (thrown) {
    // An abort reason may be an AppError too, but it is for whoever aborted.
    signal.throwIfAborted();
    if (!(thrown instanceof AppError)) throw thrown;
    return fail(thrown.hint === undefined ? thrown.message : `${thrown.message}. ${thrown.hint}`);
  }
}

function toJsonSchema({ properties, required = [] }: InputSchema): JsonObject {
  return { type: 'object', properties, required };
}

/**
 * The validated arguments of a call; unknown keys are dropped, null counts as absent. Throws AppError `usage` that
 * names the parameter and what it must be.
 */
function parseInput<S extends InputSchema>(
  tool: string,
  { properties, required = [] }: S,
  aliases: Readonly<Record<string, string>>,
  args: JsonObject,
): ArgumentsOf<S> {
  const values = resolveAliases(properties, aliases, args);
  for (const key of required)
    if (!values.has(key)) throw toolArgumentError(tool, `"${key}" is missing`, describeProperty(properties[key]));
  for (const [key, value] of values) {
    const property = properties[key];
    if (property !== undefined && findProblem(property, value) !== undefined)
      throw toolArgumentError(tool, `"${key}" is wrong`, describeProperty(property));
  }
  return Object.fromEntries(values) as ArgumentsOf<S>;
}

function resolveAliases(
  properties: InputSchema['properties'],
  aliases: Readonly<Record<string, string>>,
  args: JsonObject,
): Map<string, JsonValue> {
  const values = new Map<string, JsonValue>();
  for (const key of Object.keys(properties)) {
    const value = findArgument(args, key, aliases);
    if (value !== undefined) values.set(key, value);
  }
  return values;
}

/** Arguments that only describe the call for the user, and do not change what it does. */
const DESCRIPTIVE: readonly string[] = ['description', 'instruction'];

function* normalizeValues(
  values: ReadonlyMap<string, JsonValue>,
  { properties }: InputSchema,
  root: string | undefined,
): Generator<readonly [key: string, value: JsonValue]> {
  for (const key of Object.keys(properties).filter((name) => !DESCRIPTIVE.includes(name))) {
    const value = values.get(key) ?? (key === 'dir_path' ? '.' : undefined);
    const isPath = key === 'file_path' || key === 'dir_path';
    if (value !== undefined) yield [key, isPath && typeof value === 'string' && root ? resolve(root, value) : value];
  }
}

function toolArgumentError(tool: string, what: string, wanted: string): AppError {
  return new AppError('usage', `${tool}: ${what}`, { hint: `It must be ${wanted}.` });
}

function describeProperty(property: Property | undefined): string {
  switch (property?.type) {
    case 'string':
      return property.enum === undefined ? 'a string' : `one of ${property.enum.join(', ')}`;
    case 'integer':
      return `a whole number${property.minimum === undefined ? '' : `, ${property.minimum} or more`}`;
    case 'boolean':
      return 'true or false';
    default:
      return property?.items?.type === 'string' ? 'a list of strings' : 'a list of objects';
  }
}
