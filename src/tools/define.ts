import { resolve } from 'node:path';
import { AppError } from '../core/error.ts';
import type { Env, SendHttp } from '../core/io.ts';
import { type JsonObject, type JsonValue, toNonEmptyString } from '../core/json.ts';
import type { Ground } from '../core/model.ts';
import { type ArgumentsOf, findProblem, formatRange, type InputSchema, type Property } from '../core/schema.ts';
import {
  type CommandCall,
  type Draft,
  type Effect,
  errorResult,
  type Preview,
  type Tool,
  type ToolResult,
  type ToolSkill,
} from '../core/tool.ts';
import type { BackgroundCommands } from '../platform/process/background.ts';
import type { RunShell } from '../platform/process/shell.ts';
import type { Shell } from '../platform/process/shell-choice.ts';
import type { CommandSandbox, StoreOutput } from './command-output.ts';
import type { Workspace } from './workspace/workspace.ts';

/** The sets of `--tools`, each with all of the one before. */
export const TOOL_SETS = ['read', 'edit', 'all'] as const;

/** What a run has for its tools; each tool names what it needs of it. */
export interface ToolContext {
  readonly workspace: Workspace;
  /** Its PATH is searched for ripgrep; `shellEnvironment` decides which variables a command gets. */
  readonly env: Env;
  readonly shell: Shell;
  /** Resolves a path to a real directory. Throws AppError if it is no directory of the workspace. */
  readonly resolveDirectory: (path: string) => Promise<string>;
  readonly storeOutput: StoreOutput;
  readonly storeUntrusted: StoreOutput;
  /** Called with each piece of a command's output as it comes. Must be quick: a command may print without end. */
  readonly onOutput?: (text: string) => void;
  /** In place of gmn's own. */
  readonly runShell?: RunShell;
  readonly background: BackgroundCommands;
  readonly sandbox?: CommandSandbox;
  /** Must refuse addresses that are not on the public internet, as `sendPinned` does. */
  readonly send: SendHttp;
  readonly ground: Ground;
  /** Those that the model may choose. Absent: none. */
  readonly skills?: readonly ToolSkill[];
}

/** All that gmn knows of a tool but what it does: every list of tools is derived from this. */
interface ToolFacts<S extends InputSchema> {
  readonly name: string;
  /** What the official CLI calls it; `--tools` and the settings take these names, too. */
  readonly officialNames?: readonly string[];
  /** Class names that the settings of the official CLI also have. */
  readonly classNames?: readonly string[];
  /** What Claude Code calls it; `--tools`, `--allowed-tools`, hooks and sub-agents take these, too. */
  readonly claudeNames?: readonly string[];
  /** The smallest set of `--tools` that has it. */
  readonly set: (typeof TOOL_SETS)[number];
  /** It has a use only beside this tool, and is offered together with it. */
  readonly companionOf?: string;
  readonly about: string;
  readonly effect: Effect;
  readonly isNeverAsked?: true;
  /** As in Tool, like the next one. */
  readonly isSearch?: true;
  readonly isPlan?: true;
  /** The argument with the file that it reads or writes, or the directory it runs in: what a person is asked about. */
  readonly target?: keyof S['properties'] & string;
  readonly input: S;
  /** Other names of a parameter, such as `path` for `file_path`; accepted, but not shown to the model. */
  readonly aliases?: Readonly<Record<string, keyof S['properties'] & string>>;
}

interface ToolHandlers<S extends InputSchema> {
  /** The directory that `file_path` and `dir_path` are relative to; also the default of `dir_path`. */
  readonly root?: string;
  /** What a person is shown first; a tool result instead refuses the call. A thrown AppError becomes such a result. */
  preview?(input: ArgumentsOf<S>, signal: AbortSignal, draft?: Draft): Promise<Preview | ToolResult>;
  findCommand?(input: ArgumentsOf<S>): CommandCall;
  findHosts?(input: ArgumentsOf<S>): readonly string[];
  /** Added to the arguments where calls are compared. */
  distinguish?(): JsonObject;
  /** A thrown AppError becomes a tool result with its message and hint. */
  run(input: ArgumentsOf<S>, signal: AbortSignal): Promise<ToolResult>;
}

interface ToolSpec<S extends InputSchema, Context> extends ToolFacts<S> {
  /** Whether a run has a use for it. Absent: every run. */
  readonly isOffered?: (context: Partial<ToolContext>) => boolean;
  readonly description: string | ((context: Context) => string);
  readonly handle: (context: Context) => ToolHandlers<S>;
}

export interface ToolDefinition<Context = ToolContext> extends ToolFacts<InputSchema> {
  readonly isOffered?: (context: Partial<ToolContext>) => boolean;
  readonly create: (context: Context) => Tool;
}

/**
 * Makes a tool from one literal: the handler's argument type follows from the schema, and arguments are validated
 * first.
 */
export function defineTool<const S extends InputSchema, Context>({
  description,
  handle,
  ...facts
}: ToolSpec<S, Context>): ToolDefinition<Context> {
  const { name, effect, isNeverAsked, isSearch, isPlan, target, input, aliases = {} } = facts;
  const withValidation =
    <T>(handler: (input: ArgumentsOf<S>, signal: AbortSignal, draft?: Draft) => Promise<T>) =>
    (args: JsonObject, signal: AbortSignal, draft?: Draft): Promise<T | ToolResult> =>
      runToResult(async () => handler(parseInput(input, aliases, args), signal, draft), signal);
  const create = (context: Context): Tool => {
    const { root, preview, findCommand, findHosts, distinguish, run } = handle(context);
    return {
      name,
      description: typeof description === 'string' ? description : description(context),
      effect,
      ...{ isNeverAsked, isSearch, isPlan },
      input: toJsonSchema(input),
      plain: (args) => ({
        ...Object.fromEntries(normalizeValues(resolveAliases(input.properties, aliases, args), input, root)),
        ...distinguish?.(),
      }),
      findPath: target === undefined ? undefined : (args) => toNonEmptyString(findArgument(args, target, aliases)),
      findCommand: findCommand && ((args) => tryFind(() => findCommand(parseInput(input, aliases, args)))),
      findHosts: findHosts && ((args) => tryFind(() => findHosts(parseInput(input, aliases, args)))),
      invoke: withValidation((values, signal) => run(values, signal)),
      preview: preview && withValidation((values, signal, draft) => preview(values, signal, draft)),
    };
  };
  return { ...facts, create };
}

/** A call whose arguments are wrong does nothing. */
function tryFind<T>(find: () => T): T | undefined {
  try {
    return find();
  } catch (thrown) {
    if (thrown instanceof AppError) return undefined;
    throw thrown;
  }
}

function findArgument(
  args: JsonObject,
  wanted: string,
  aliases: Readonly<Record<string, string>>,
): JsonValue | undefined {
  const names = [wanted, ...Object.keys(aliases).filter((alias) => aliases[alias] === wanted)];
  return names
    .map((name) => (Object.hasOwn(args, name) ? args[name] : undefined))
    .find((value) => value !== undefined && value !== null);
}

export function succeed(output: JsonValue, summary?: string): ToolResult {
  return { ok: true, response: { output }, summary };
}

async function runToResult<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T | ToolResult> {
  signal.throwIfAborted();
  try {
    return await work();
  } catch (thrown) {
    // An abort reason may be an AppError too, but it is for whoever aborted.
    signal.throwIfAborted();
    if (!(thrown instanceof AppError)) throw thrown;
    return errorResult(thrown.hint === undefined ? thrown.message : `${thrown.message}. ${thrown.hint}`);
  }
}

/** Without the limits of numbers, which every request would carry: a call beyond one is told what it must be. */
function toJsonSchema({ properties, required }: InputSchema): JsonObject {
  const declared = Object.entries(properties).map(([key, { minimum: _, maximum: __, ...rest }]) => [key, rest]);
  return { type: 'object', properties: Object.fromEntries(declared), required };
}

/**
 * The validated arguments of a call; unknown keys are dropped, null counts as absent. Throws AppError `usage` that
 * names the parameter and what it must be.
 */
function parseInput<S extends InputSchema>(
  { properties, required = [] }: S,
  aliases: Readonly<Record<string, string>>,
  args: JsonObject,
): ArgumentsOf<S> {
  const values = resolveAliases(properties, aliases, args);
  for (const key of required)
    if (!values.has(key)) throw toolArgumentError(`"${key}" is missing`, describeProperty(properties[key]));
  for (const [key, value] of values) {
    const property = properties[key];
    if (property !== undefined && findProblem(property, value) !== undefined)
      throw toolArgumentError(`"${key}" is wrong`, describeProperty(property));
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

/** Only describes the call for the user, and does not change what it does. */
const DESCRIPTIVE = 'description';

function* normalizeValues(
  values: ReadonlyMap<string, JsonValue>,
  { properties }: InputSchema,
  root: string | undefined,
): Generator<readonly [key: string, value: JsonValue]> {
  for (const key of Object.keys(properties).filter((name) => name !== DESCRIPTIVE)) {
    const value = values.get(key) ?? (key === 'dir_path' ? '.' : undefined);
    const isPath = key === 'file_path' || key === 'dir_path';
    if (value !== undefined) yield [key, isPath && typeof value === 'string' && root ? resolve(root, value) : value];
  }
}

function toolArgumentError(what: string, wanted: string): AppError {
  return new AppError('usage', what, { hint: `It must be ${wanted}.` });
}

function describeProperty(property: Property | undefined): string {
  switch (property?.type) {
    case 'string':
      return property.enum === undefined ? 'a string' : `one of ${property.enum.join(', ')}`;
    case 'integer':
      return `a whole number${property.minimum === undefined ? '' : `, ${formatRange(property)}`}`;
    case 'boolean':
      return 'true or false';
    default:
      return property?.items?.type === 'string' ? 'a list of strings' : 'a list of objects';
  }
}
