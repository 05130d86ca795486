import { AppError } from '../../core/error.ts';
import type { JsonObject } from '../../core/json.ts';
import { type ArgumentsOf, type InputSchema, parseArguments } from '../../core/schema.ts';
import { ALIASES, MODELS } from '../../models/table.ts';
import type { Host, Offer } from './host.ts';
import type { Progress } from './progress.ts';

/** Which family a tool belongs to; `--tools` chooses among them. */
export const TOOL_GROUPS = ['chat', 'genai', 'delegate'] as const;
export type ToolGroup = (typeof TOOL_GROUPS)[number];

/** What a tool call gives, in the shape of the protocol. */
export interface CallResult {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
  readonly isError?: true;
  readonly structuredContent?: JsonObject;
  /** As the servers before us named it; the same is in `_meta`. */
  readonly metadata?: JsonObject;
  readonly _meta?: JsonObject;
}

/** One call on its way. */
export interface Call {
  readonly host: Host;
  readonly progress: Progress;
  /** Aborted when the client takes the call back or leaves; its reason is an AppError. */
  readonly signal: AbortSignal;
}

/** What a tool says of itself, for hosts that ask a person first. */
export interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint: boolean;
}

interface Published extends Offer {
  /** `agent`: what it does to the world depends on what the server allows. */
  readonly annotations: Annotations | 'agent';
  /** Its description where there is no root. */
  readonly withoutRoots?: string;
  /** It needs nobody else, so a client that has said its last word still gets the answer. */
  readonly isQuick?: true;
  /** JSON Schema of `structuredContent`; absent: there is none, and hosts show the text. */
  readonly output?: JsonObject;
}

export interface ServerTool extends Published {
  readonly input: JsonObject;
  /** Runs it. Never throws but for a bug: what goes wrong is an `isError` result. */
  call(args: JsonObject, call: Call): Promise<CallResult>;
}

/** Tools, and what they share: what a client is served with. */
export interface Service {
  readonly host: Host;
  readonly tools: readonly ServerTool[];
}

interface ServerToolSpec<Schema extends InputSchema> extends Published {
  readonly input: Schema;
  /** How a failure is told; arguments that cannot be used are one. */
  readonly fail: (error: AppError) => CallResult;
  readonly run: (args: ArgumentsOf<Schema>, call: Call) => Promise<CallResult>;
}

/** A tool whose arguments are checked by its schema before it runs, and whose AppErrors become results. */
export function serverTool<const Schema extends InputSchema>(spec: ServerToolSpec<Schema>): ServerTool {
  const { input, run, fail, ...published } = spec;
  return {
    ...published,
    input: { type: 'object', properties: input.properties, ...(input.required ? { required: input.required } : {}) },
    async call(args, call) {
      try {
        return await run(parseArguments(input, args), call);
      } catch (thrown) {
        return fail(AppError.from(thrown));
      }
    },
  };
}

const POSSIBLE = /^(?:gemini|gemma)-[a-z0-9.-]+$/;
/** What the official CLI has for its default. */
const AUTO = /^auto(?:-gemini-[0-9.]+)?$/;

/** The name of a model that a caller may ask for. Throws AppError `usage` that lists the known ones. */
export function checkedModel<Name extends string | undefined>(name: Name): Name {
  if (name === undefined || POSSIBLE.test(name) || Object.hasOwn(ALIASES, name) || AUTO.test(name)) {
    return name;
  }
  const known = [...MODELS.map(({ id }) => id), ...Object.keys(ALIASES)];
  throw new AppError('usage', `"${name.slice(0, 80)}" is no model`, {
    hint: `Known: ${[...new Set(known)].join(', ')}`,
  });
}
