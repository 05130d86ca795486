import { AppError } from '../../core/error.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import { type ArgumentsOf, type InputSchema, parseArguments } from '../../core/schema.ts';
import { ALIASES, MODELS, PLAIN_BUILT_IN } from '../../models/table.ts';
import type { Host, ToolInfo } from './host.ts';
import type { Progress } from './progress.ts';

export const TOOL_GROUPS = ['chat', 'genai', 'delegate'] as const;
export type ToolGroup = (typeof TOOL_GROUPS)[number];

type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string };

export interface CallResult {
  readonly content: readonly ContentBlock[];
  readonly isError?: true;
  readonly structuredContent?: JsonObject;
  /** The same as `_meta`, under the name that earlier Gemini servers used. */
  readonly metadata?: JsonObject;
  readonly _meta?: JsonObject;
}

export interface Call {
  readonly host: Host;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Hints for hosts that ask a person first. */
export interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint: boolean;
}

interface ToolDescription extends ToolInfo {
  /** `agent`: depends on what the server lets the model do. */
  readonly annotations: Annotations | 'agent';
  readonly withoutRoots?: string;
  /** Needs no model and no job, so it is still answered after the client has closed its input. */
  readonly isQuick?: true;
  /** JSON Schema of `structuredContent`. Absent: hosts show the text. */
  readonly output?: JsonObject;
}

export interface ServerTool extends ToolDescription {
  readonly input: JsonObject;
  /** Throws only for a bug: every failure is an `isError` result. */
  call(args: JsonObject, call: Call): Promise<CallResult>;
}

export interface Service {
  readonly host: Host;
  readonly tools: readonly ServerTool[];
}

interface ServerToolSpec<Schema extends InputSchema> extends ToolDescription {
  readonly input: Schema;
  /** Arguments that callers look for here and that another tool takes, and which one. */
  readonly elsewhere?: Readonly<Record<string, string>>;
  readonly fail: (error: AppError) => CallResult;
  readonly run: (args: ArgumentsOf<Schema>, call: Call) => Promise<CallResult>;
}

export function serverTool<const Schema extends InputSchema>(spec: ServerToolSpec<Schema>): ServerTool {
  const { input, elsewhere, run, fail, ...published } = spec;
  return {
    ...published,
    input: { type: 'object', properties: input.properties, required: input.required },
    async call(args, call) {
      try {
        checkMisplaced(spec, args);
        return await run(parseArguments(input, renameArguments(input, args)), call);
      } catch (thrown) {
        return fail(AppError.from(thrown));
      }
    },
  };
}

function checkMisplaced(
  { name, elsewhere = {} }: Pick<ServerToolSpec<InputSchema>, 'name' | 'elsewhere'>,
  args: JsonObject,
): void {
  for (const [typed, value] of Object.entries(args)) {
    const misplaced = Object.keys(elsewhere).find((other) => toArgumentKey(other) === toArgumentKey(typed));
    // Hosts that fill in a whole form leave empty what they do not use.
    if (misplaced === undefined || value === null || value === '') continue;
    throw new AppError('usage', `${name} takes no ${typed}`, { hint: elsewhere[misplaced] });
  }
}

/** Words for the same thing, in the tools here and in those of other servers. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ['working_directory', 'cwd'],
  ['system_instruction', 'system_prompt'],
  ['max_output_tokens', 'max_tokens'],
]);

/**
 * The arguments under the names that the tool publishes: a caller may write `sessionId` for `session_id`, or `cwd` for `working_directory`.
 * Throws AppError `usage` for two names of one argument with different values.
 */
function renameArguments({ properties }: InputSchema, args: JsonObject): JsonObject {
  const renamed = new Map<string, { readonly typed: string; readonly value: JsonValue }>();
  for (const [typed, value] of Object.entries(args)) {
    if (value === null || value === undefined) continue;
    const plain = toArgumentKey(typed);
    const name = Object.keys(properties).find((published) => toArgumentKey(published) === plain) ?? typed;
    const before = renamed.get(name);
    // Hosts that fill in a whole form leave empty what they do not use.
    if (before !== undefined && value === '') continue;
    if (before !== undefined && before.value !== '' && JSON.stringify(before.value) !== JSON.stringify(value)) {
      throw new AppError('usage', `${before.typed} and ${typed} mean the same, and differ`, {
        hint: 'Give one of them.',
      });
    }
    renamed.set(name, { typed, value });
  }
  return Object.fromEntries([...renamed].map(([name, { value }]) => [name, value]));
}

function toArgumentKey(name: string): string {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return SYNONYMS.get(snake) ?? snake;
}

/** The argument `model` of tools that make one model call. */
export const PLAIN_MODEL = {
  type: 'string',
  description:
    'Model id or alias. Google shut the default down in March 2026: its successor answers, which metadata.model names. It costs about ' +
    '3 times as much as "flash", from 2027 on 1.5 times. If the server was started with -m, that model is the default.',
  default: PLAIN_BUILT_IN.id,
} as const;

const MODEL_PATTERN = /^(?:gemini|gemma)-[a-z0-9.-]+$/;
const AUTO_PATTERN = /^auto(?:-gemini-[0-9.]+)?$/;

/** Throws AppError `usage`, listing the known models, if a caller may not ask for this one. */
export function checkModelName<Name extends string | undefined>(name: Name): Name {
  if (name === undefined || MODEL_PATTERN.test(name) || Object.hasOwn(ALIASES, name) || AUTO_PATTERN.test(name)) {
    return name;
  }
  const known = [...MODELS.map(({ id }) => id), ...Object.keys(ALIASES)];
  throw new AppError('usage', `"${name.slice(0, 80)}" is not a model`, {
    hint: `Known: ${[...new Set(known)].join(', ')}`,
  });
}
