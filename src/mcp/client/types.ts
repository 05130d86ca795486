import type { App } from '../../core/app.ts';
import type { Elicit } from '../../core/elicitation.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import type { Deadline } from '../../platform/runtime/clock.ts';
import type { NamedServer } from './definition.ts';
import type { Sdk, SdkTransport } from './sdk.ts';

/** All fields are untrusted text. */
export interface RemoteTool {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  /** As the server sent it; `{}` if it sent none. */
  readonly inputSchema: JsonObject;
  /** `readOnlyHint` and the like: claims of the server, which never weaken approval. */
  readonly annotations?: JsonObject;
}

export interface RemotePrompt {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly arguments: readonly RemotePromptArgument[];
}

interface RemotePromptArgument {
  readonly name: string;
  readonly description: string;
  readonly isRequired: boolean;
}

export interface RemoteResource {
  readonly uri: string;
  readonly name: string;
  readonly description: string;
  readonly mimeType?: string;
  readonly size?: number;
}

export interface RemoteResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly description: string;
  readonly mimeType?: string;
}

export interface ResourceContent {
  readonly uri: string;
  readonly mimeType?: string;
  readonly text?: string;
  readonly blob?: string;
}

export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly mimeType: string; readonly data: string }
  | { readonly type: 'resource'; readonly resource: ResourceContent }
  | { readonly type: 'resource_link'; readonly uri: string; readonly name: string; readonly mimeType?: string };

export interface CallResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: JsonValue;
  /** The tool failed; `content` says how, and goes to the model as data. */
  readonly isError: boolean;
  /** Types of the blocks that gmn cannot read; untrusted text. */
  readonly omitted?: readonly string[];
}

export interface PromptMessage {
  readonly role: 'user' | 'assistant';
  readonly content: ContentBlock;
}

export interface PromptResult {
  readonly description: string;
  readonly messages: readonly PromptMessage[];
}

export interface PromptCompletion {
  readonly prompt: string;
  readonly argument: { readonly name: string; readonly value: string };
  readonly given: Readonly<Record<string, string>>;
}

/** In the server's own units. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface RequestOptions {
  /** Aborting also cancels the request at the server. */
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export interface CallOptions extends RequestOptions {
  readonly onProgress?: (progress: Progress) => void;
}

/** `omitted` says, as text for the user, why the list is incomplete. */
export interface Listing<Item> {
  readonly items: readonly Item[];
  readonly omitted?: string;
}

export type ListKind = 'tools' | 'prompts' | 'resources';

/**
 * Every request throws AppError `mcp`, with the server's text sanitized, if the server rejects it, does not answer in
 * time, sends an invalid response, or ends; and the signal's reason after an abort.
 */
export interface Connection {
  readonly name: string;
  readonly serverInfo: { readonly name: string; readonly version: string };
  readonly protocolVersion: string;
  /** Untrusted text. */
  readonly instructions?: string;
  readonly capabilities: { readonly [Kind in ListKind]: boolean };
  /** All pages, within gmn's limits. Like every list, it is empty, and nothing is requested, without the capability. */
  listTools(options?: RequestOptions): Promise<Listing<RemoteTool>>;
  /** Progress restarts the timeout. A failed tool is a result with `isError`. */
  callTool(name: string, args: JsonObject, options?: CallOptions): Promise<CallResult>;
  listPrompts(options?: RequestOptions): Promise<Listing<RemotePrompt>>;
  getPrompt(name: string, args: Readonly<Record<string, string>>, options?: RequestOptions): Promise<PromptResult>;
  completePrompt(completion: PromptCompletion, options?: RequestOptions): Promise<readonly string[]>;
  listResources(options?: RequestOptions): Promise<Listing<RemoteResource>>;
  listResourceTemplates(options?: RequestOptions): Promise<Listing<RemoteResourceTemplate>>;
  readResource(uri: string, options?: RequestOptions): Promise<readonly ResourceContent[]>;
  /** Calls the listener at most once a second. Returns a function that unsubscribes. */
  onListChanged(listener: (kind: ListKind) => void): () => void;
  /** For server text that is shown as an error: redacts the secrets of the definition and the tokens. */
  redact(text: string): string;
  readonly hasServed: boolean;
  /** Resolves when it has ended, or `ms` after its last such work; at once if it has done none. Never rejects. */
  waitForEnd(ms: number): Promise<void>;
  readonly isOpen: boolean;
  /** Also ends the program and its children. Never throws; may be called twice. */
  close(): Promise<void>;
}

export interface ClientContext
  extends Pick<App, 'env' | 'cwd' | 'version' | 'clock' | 'homes' | 'trace' | 'httpTimers' | 'onExit'> {
  /** Told only to servers the user trusts. */
  readonly roots?: readonly string[];
  /** Absent: nobody can be asked, so the capability is not declared. */
  readonly elicit?: Elicit;
  /** Absent: a needed sign-in is an error with a hint, and nothing is opened. */
  readonly signIn?: SignInPrompt;
}

export interface SignInPrompt {
  /** Also opens it in the browser if wanted. The URL is https or on this machine, but still untrusted text. */
  readonly show: (url: string) => Promise<void>;
  /**
   * Asks for the address at which the browser ended, for a browser that cannot reach this machine; asks again if the
   * last one was refused. Undefined once the signal is aborted. Absent: nobody can be asked. Throws AppError
   * `interrupted` if the person cancels.
   */
  readonly paste?: (last: { readonly isRefused: boolean }, signal: AbortSignal) => Promise<string | undefined>;
  readonly signal: AbortSignal;
  readonly pause?: Deadline['pause'];
}

/** Throws AppError `mcp`, or the signal's reason; nothing is left running then. */
export type Connect = (server: NamedServer, context: ClientContext, signal: AbortSignal) => Promise<Connection>;

export interface ServerTransport {
  readonly transport: SdkTransport;
  /** `auto` lets the SDK negotiate the newest protocol version. */
  readonly protocolVersion: 'legacy' | 'auto';
  /** What the server wrote outside the protocol, and how it ended if it has. Untrusted text. */
  describeEnd(): Promise<string>;
  readonly closeReason?: () => string | undefined;
  readonly signIns?: () => number;
  readonly secrets?: () => readonly string[];
  /** Ends everything behind it at once. Never rejects; may be called twice. */
  close(): Promise<void>;
}

/** Runs while `sdk` is still loading. May throw AppError. */
export type OpenTransport = (
  server: NamedServer,
  context: ClientContext,
  sdk: Promise<Sdk>,
) => Promise<ServerTransport>;
