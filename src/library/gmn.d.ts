/// <reference lib="esnext.disposable" />
// The types of `import … from "gmn"`, as they are shipped. docs/library.md explains them.

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** A JSON Schema. A literal is enough for `json()` to be typed; one of the type `JsonSchema` gives `unknown`. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** A schema of a library that follows https://standardschema.dev and can be told as JSON Schema, such as zod 4.2 and later. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

export type Schema = JsonSchema | StandardSchema;

/** The type of the values that match a schema. What is not one of the plain keywords is `unknown`. */
export type FromSchema<S> = S extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : S extends { readonly const: infer Value }
    ? Value
    : S extends { readonly enum: readonly (infer Value)[] }
      ? Value
      : S extends { readonly anyOf: readonly (infer One)[] } | { readonly oneOf: readonly (infer One)[] }
        ? FromSchema<One>
        : S extends { readonly type: infer Type }
          ? FromType<Type, S>
          : unknown;

type FromType<Type, S> = Type extends readonly (infer One)[]
  ? FromType<One, S>
  : Type extends 'string'
    ? string
    : Type extends 'number' | 'integer'
      ? number
      : Type extends 'boolean'
        ? boolean
        : Type extends 'null'
          ? null
          : Type extends 'array'
            ? S extends { readonly items: infer Item }
              ? FromSchema<Item>[]
              : unknown[]
            : Type extends 'object'
              ? FromObject<S>
              : unknown;

type RequiredKey<S, Properties> = S extends { readonly required: readonly (infer Key)[] }
  ? Key & keyof Properties
  : never;

type FromObject<S> = S extends { readonly properties: infer Properties }
  ? Flat<
      { -readonly [Key in RequiredKey<S, Properties>]: FromSchema<Properties[Key]> } & {
        -readonly [Key in Exclude<keyof Properties, RequiredKey<S, Properties>>]?: FromSchema<Properties[Key]>;
      }
    >
  : S extends { readonly additionalProperties: infer Value extends JsonSchema }
    ? { [key: string]: FromSchema<Value> }
    : { [key: string]: unknown };

type Flat<Type> = { [Key in keyof Type]: Type[Key] };

/** Token counts, as the API names them. */
export interface Usage {
  readonly promptTokenCount?: number;
  readonly candidatesTokenCount?: number;
  readonly totalTokenCount?: number;
  readonly cachedContentTokenCount?: number;
  readonly thoughtsTokenCount?: number;
  readonly toolUsePromptTokenCount?: number;
}

/** A picture, or another file of an answer. Nothing is written to disk. */
export interface AnswerFile {
  readonly mimeType: string;
  readonly data: Uint8Array;
}

export interface Answer<Json = undefined> {
  readonly text: string;
  /** The same as `text`, under the name that `gmn -o json` has for it. */
  readonly response: string;
  /** Present with `schema`: the value, which matches it. */
  readonly json: Json;
  readonly model: string;
  readonly usage: Usage;
  /** In US dollars. Absent if the price of a call is not known. */
  readonly cost?: number;
  /** As the API names it: STOP, MAX_TOKENS, … */
  readonly finishReason: string;
  /** Present if the session is saved. */
  readonly sessionId?: string;
  readonly files: readonly AnswerFile[];
  readonly sources?: readonly { readonly title: string; readonly uri: string }[];
  /** What the command line would say on stderr. */
  readonly warnings: readonly string[];
}

/** The events of `gmn -o stream-json`; a failure is thrown, and is no event. Others may come in later versions: ignore what you do not know. */
export type GmnEvent =
  | { readonly type: 'start'; readonly model: string; readonly sessionId?: string }
  | { readonly type: 'content'; readonly text: string }
  /** Only with `thoughts: true`. */
  | { readonly type: 'thought'; readonly text: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly args: JsonObject }
  | {
      readonly type: 'tool_result';
      /** The id of its `tool_call`. */
      readonly id: string;
      readonly name: string;
      /** What the model was told. */
      readonly result: JsonObject;
      readonly isError?: true;
    }
  /** What the service itself did, with `code` or `url`. */
  | ({ readonly type: 'service_step' } & (
      | { readonly kind: 'code'; readonly language: string; readonly code: string }
      | { readonly kind: 'result'; readonly ok: boolean; readonly outcome: string; readonly output: string }
      | { readonly kind: 'page'; readonly url: string; readonly ok: boolean; readonly status: string }
    ))
  | ({ readonly type: 'file' } & AnswerFile)
  /** Only with `approve: 'defer'`: answer it with `session.answer(event.call, …)`. */
  | {
      readonly type: 'approval';
      /** The id of the `tool_call`. */
      readonly call: string;
      readonly name: string;
      readonly args: JsonObject;
      readonly diff?: string;
      readonly title: string;
      readonly view: readonly string[];
      /** Why the question comes again. */
      readonly note?: string;
      readonly default: 'no';
    }
  | {
      readonly type: 'done';
      readonly usage: Usage;
      readonly cost?: number;
      readonly finishReason: string;
      readonly sessionId?: string;
      readonly sources?: readonly { readonly title: string; readonly uri: string }[];
      readonly serviceTier?: string;
      readonly warnings?: readonly string[];
    };

/**
 * One prompt and its answer. Nothing is sent before it is awaited or iterated, and only once however often that is done: who comes
 * later gets the same events. Leaving a `for await` early cancels it, unless somebody else reads or awaits it.
 */
export interface Turn<Json = undefined> extends Promise<Answer<Json>>, AsyncIterable<GmnEvent> {
  text(): Promise<string>;
  /** The value that matches `schema`; rejects if there is none. */
  json(): Promise<Json>;
  files(): Promise<readonly AnswerFile[]>;
  /** Rejects with a GmnError `interrupted`. Does nothing once the turn is over. */
  cancel(): void;
}

export type ErrorCode =
  | 'usage'
  | 'auth'
  | 'api'
  | 'config'
  | 'limit'
  | 'mcp'
  | 'verify'
  | 'interrupted'
  | 'internal'
  | 'pipe'
  | 'hangup'
  | 'terminated';

/** The one error that gmn throws. */
export class GmnError extends Error {
  private constructor();
  readonly name: 'GmnError';
  readonly code: ErrorCode;
  /** The exit code that the command line has for it. */
  readonly exitCode: number;
  /** What to do about it, in the words of the command line. */
  readonly hint: string | undefined;
  /** The text that had arrived. */
  readonly partial: string | undefined;
  /** The HTTP status, if a server refused. */
  readonly status: number | undefined;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** Present if what had arrived is saved. */
  readonly sessionId: string | undefined;
}

/** A path or glob, as `-f` takes it; an address, which is fetched if it is public; or the bytes. */
export type InputFile =
  | string
  | URL
  | {
      readonly data: Uint8Array | ArrayBuffer | string;
      readonly type?: string | undefined;
      readonly name?: string | undefined;
    };

export interface ApprovalRequest {
  /** The id of the `tool_call`. */
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
  /** Of a change of a file. */
  readonly diff?: string;
  /** What would be done, in one line. It may be text of the model. */
  readonly title: string;
  /** All of what would be done, as a terminal shows it: with escapes for what cannot be seen. */
  readonly view: readonly string[];
  /** Why the question comes again. */
  readonly note?: string;
  readonly default: 'no';
  /** Aborts when no answer is needed any more. */
  readonly signal: AbortSignal;
}

/** `always`: as the key `a` at a terminal, for this run. `deny` is told to the model. `args` replace the model's arguments. */
export type Approval = 'once' | 'always' | { readonly deny: string } | { readonly args: JsonObject };

export type Approve = (call: ApprovalRequest) => Approval | Promise<Approval>;

/** A tool of your own. */
export interface OwnTool {
  readonly name: string;
  readonly description: string;
  readonly input: JsonSchema;
  readonly needsApproval: boolean;
  readonly run: (args: never, context: ToolContext) => unknown;
}

export interface ToolContext {
  readonly signal: AbortSignal;
}

/** Where requests go, and what they may take. */
export interface ServiceOptions {
  readonly model?: string | undefined;
  /** In US dollars. */
  readonly maxCost?: number | undefined;
  /** Milliseconds, or a duration such as `2m`; 0 means no limit. */
  readonly timeout?: number | string | undefined;
  readonly retries?: number | undefined;
  /** The key to use. Default: the environment, and with `settings: true` all that the command line has. */
  readonly apiKey?: string | undefined;
  /** A server in place of Google's, such as the one of `gmn/demo`. */
  readonly server?: { readonly url: string } | undefined;
  /** Whether settings, context files and stored credentials are used as on the command line. Default: false. */
  readonly settings?: boolean | undefined;
  /** Default: the working directory of the process. */
  readonly cwd?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What the model is told about how to answer. */
export interface ModelOptions extends ServiceOptions {
  readonly system?: string | undefined;
  /** A level, or a budget in tokens, whichever the model has. */
  readonly thinking?: 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | number | undefined;
  readonly temperature?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** Whether the Gemini API may keep the request for the project's logs. */
  readonly store?: boolean | undefined;
}

/** What a run of `ask` or `chat` may do. */
export interface RunOptions extends ModelOptions {
  /** Whether there are `thought` events. */
  readonly thoughts?: boolean | undefined;
  /** Google search, code execution and reading of pages, by the service. */
  readonly search?: boolean | undefined;
  readonly code?: boolean | undefined;
  readonly url?: boolean | undefined;
  /** Sets (`read`, `edit`, `all`) and names, as `--tools` takes them, and tools of your own. Default: none. */
  readonly tools?: readonly (string | OwnTool)[] | undefined;
  /** What runs without a question, as `--allowed-tools` takes it. */
  readonly allowedTools?: readonly string[] | undefined;
  readonly approvalMode?: 'default' | 'auto_edit' | 'plan' | 'yolo' | undefined;
  /** Servers of the settings, by name; needs `settings: true`. */
  readonly mcpServers?: readonly string[] | undefined;
  /** How many requests a turn with tools may take. */
  readonly maxTurns?: number | undefined;
  /** Whether the conversation is saved, where `gmn -r` finds it; a name continues the session of that name. Default: false. */
  readonly session?: boolean | string | undefined;
}

export interface AskOptions extends RunOptions {
  readonly files?: readonly InputFile[] | undefined;
  /** Names of skills that the model is to follow; needs `settings: true`. */
  readonly skills?: readonly string[] | undefined;
  /** Absent: a call that needs an approval is denied. */
  readonly approve?: Approve | undefined;
}

/** Asks once. */
export function ask(prompt: string, options?: AskOptions & { readonly schema?: undefined }): Turn;
export function ask<const S extends Schema>(
  prompt: string,
  options: AskOptions & { readonly schema: S },
): Turn<FromSchema<S>>;

export interface ChatOptions extends RunOptions {
  /** A function, or `defer` to answer the `approval` events with `session.answer`. Absent: a call that needs an approval is denied. */
  readonly approve?: Approve | 'defer' | undefined;
}

export interface SendOptions {
  readonly files?: readonly InputFile[] | undefined;
  /** Names of skills that the model is to follow; needs `settings: true`. */
  readonly skills?: readonly string[] | undefined;
  /** Cancels this turn; the conversation goes on. */
  readonly signal?: AbortSignal | undefined;
}

/** What `undo` did to a file. */
export interface Undone {
  readonly path: string;
  readonly outcome: 'restored' | 'removed' | 'unchanged' | 'failed';
  /** Why it failed: for example, somebody else has changed the file since. */
  readonly problem?: string;
}

/** A conversation. Its turns run one after the other, in the order in which they are awaited or iterated. */
export interface ChatSession {
  /** Present if it is saved, once there is something to save. */
  readonly sessionId: string | undefined;
  send(prompt: string, options?: SendOptions & { readonly schema?: undefined }): Turn;
  send<const S extends Schema>(prompt: string, options: SendOptions & { readonly schema: S }): Turn<FromSchema<S>>;
  /** With `approve: 'defer'`: answers the `approval` event of this call. Throws a GmnError if that waits for none. */
  answer(call: string, approval: Approval): void;
  /** Puts back the files that the latest turn has changed which changed any and is not undone yet. Empty if there is none. */
  undo(): Promise<readonly Undone[]>;
  /** Cancels what runs, and closes all that is open. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Opens a conversation, with tools that see and change `cwd` if `tools` has any. Close it when you are done. */
export function chat(options?: ChatOptions): Promise<ChatSession>;

/** A tool of your own: arguments are checked by `input` before `run` gets them. What it throws is told to the model. */
export function defineTool<const S extends JsonSchema>(tool: {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of an object. */
  readonly input: S;
  /** Whether it is asked about as the tools are that run commands. Default: false. */
  readonly needsApproval?: boolean | undefined;
  /** A text, or what can be written as JSON. */
  readonly run: (args: FromSchema<S>, context: ToolContext) => unknown;
}): OwnTool;

/** A text, or an object with `prompt` or `contents`, and `id`, `system`, `files`, `model` and fields for placeholders, as a row of `gmn batch`. */
export type BatchRow = string | { readonly [field: string]: unknown };

export interface BatchOptions extends ModelOptions {
  /** Asked of every row: in front of its prompt, or with places such as `{{prompt}}` and `{{name}}` for its fields. */
  readonly prompt?: string | undefined;
  /** At most so many at once. Default: 100. */
  readonly concurrency?: number | undefined;
  /** Whether results come in the order of the rows. Default: false, as they are answered. */
  readonly ordered?: boolean | undefined;
  /** A file that gets a line for each result, as that of `gmn batch`. What it has is not asked again, and not given again. */
  readonly output?: string | undefined;
}

export type BatchResult<Row, Json = undefined> = {
  readonly id: string;
  /** From 0. */
  readonly index: number;
  /** As it was given. */
  readonly row: Row;
} & (
  | {
      readonly ok: true;
      /** Empty with `schema`. */
      readonly text: string;
      readonly json: Json;
      readonly model: string;
      readonly usage: Usage;
      readonly cost?: number;
      /** Present unless it is STOP. */
      readonly finishReason?: string;
      readonly attempts: number;
    }
  | { readonly ok: false; readonly error: GmnError }
);

/**
 * Asks about every row, many at once. A row that fails is a result; what would fail for every row, such as a key that is refused, is
 * thrown. Nothing is sent before it is iterated, and no more rows are read than can be asked; leaving the loop ends it.
 */
export function batch<Row extends BatchRow>(
  rows: Iterable<Row> | AsyncIterable<Row>,
  options?: BatchOptions & { readonly schema?: undefined },
): AsyncGenerator<BatchResult<Row>, void, undefined>;
export function batch<Row extends BatchRow, const S extends Schema>(
  rows: Iterable<Row> | AsyncIterable<Row>,
  options: BatchOptions & { readonly schema: S },
): AsyncGenerator<BatchResult<Row, FromSchema<S>>, void, undefined>;

export interface EmbedOptions extends ServiceOptions {
  /** What the vectors are for, such as `retrieval-document`. */
  readonly taskType?: string | undefined;
  readonly dimensions?: number | undefined;
}

/** The vector of a text, or of each of many, in their order. */
export function embed(text: string, options?: EmbedOptions): Promise<number[]>;
export function embed(texts: readonly string[], options?: EmbedOptions): Promise<number[][]>;

export interface DecideOptions extends ServiceOptions {
  readonly files?: readonly InputFile[] | undefined;
}

/** How probable a yes is, from 0 to 1; with `choices` which of them it is, with `levels` (the lowest first) a score. */
export function decide(
  input: string,
  question: string,
  options?: DecideOptions & { readonly choices?: undefined; readonly levels?: undefined },
): Promise<number>;
export function decide<const Choice extends string>(
  input: string,
  question: string,
  options: DecideOptions & { readonly choices: readonly Choice[]; readonly levels?: undefined },
): Promise<{ readonly choice: Choice; readonly probabilities?: { readonly [Name in Choice]?: number } }>;
export function decide(
  input: string,
  question: string,
  options: DecideOptions & { readonly levels: readonly string[]; readonly choices?: undefined },
): Promise<{ readonly score: number }>;
