import type { App } from '../../core/app.ts';
import type { Elicit } from '../../core/elicitation.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import type { NamedServer } from './definition.ts';
import type { Sdk, SdkTransport } from './sdk.ts';

/** A tool as its server lists it. All of it is untrusted text. */
export interface RemoteTool {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  /** JSON Schema as the server wrote it; `{}` if it gave none. */
  readonly inputSchema: JsonObject;
  /** `readOnlyHint` and its kin: claims, which never lower the bar for approval. */
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

/** What is in a resource: text, or bytes in base64. */
export interface ResourceContent {
  readonly uri: string;
  readonly mimeType?: string;
  readonly text?: string;
  readonly blob?: string;
}

/** One piece of what a tool or a prompt gives. */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly mimeType: string; readonly data: string }
  | { readonly type: 'resource'; readonly resource: ResourceContent }
  | { readonly type: 'resource_link'; readonly uri: string; readonly name: string; readonly mimeType?: string };

export interface CallResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: JsonValue;
  /** The tool failed, and `content` says how: data for the model. */
  readonly isError: boolean;
  /** The kinds of pieces that gmn does not know, or cannot read; untrusted text. Absent: there were none. */
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
  /** The argument in question, and what was typed of it. */
  readonly argument: { readonly name: string; readonly value: string };
  /** The arguments that are given already. */
  readonly given: Readonly<Record<string, string>>;
}

/** How far a call is, in the server's own measure. */
export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface RequestOptions {
  /** Aborting it reaches the server too; the request then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Instead of the definition's. */
  readonly timeoutMs?: number;
}

export interface CallOptions extends RequestOptions {
  readonly onProgress?: (progress: Progress) => void;
}

/** A list that may be cut: `omitted` says why, in words for the person. */
export interface Listing<Item> {
  readonly items: readonly Item[];
  readonly omitted?: string;
}

export type ListKind = 'tools' | 'prompts' | 'resources';

/**
 * A server that answered. Every request throws AppError `mcp`, with the server's own words made visible, if the server
 * refuses it, does not answer in time, says what is no answer, or ends; and the signal's reason after an abort.
 */
export interface Connection {
  /** The name in the settings. */
  readonly name: string;
  readonly serverInfo: { readonly name: string; readonly version: string };
  readonly protocolVersion: string;
  /** How the server wants to be used; untrusted text. */
  readonly instructions?: string;
  readonly capabilities: { readonly [Kind in ListKind]: boolean };
  /** All pages, up to what gmn takes. Without the capability: none, and nothing is asked; so for every list. */
  listTools(options?: RequestOptions): Promise<Listing<RemoteTool>>;
  /** Progress starts the timeout anew. A tool that failed is a result with `isError`. */
  callTool(name: string, args: JsonObject, options?: CallOptions): Promise<CallResult>;
  listPrompts(options?: RequestOptions): Promise<Listing<RemotePrompt>>;
  getPrompt(name: string, args: Readonly<Record<string, string>>, options?: RequestOptions): Promise<PromptResult>;
  /** What an argument of a prompt could be, as the server suggests it, given the others. Without the capability: nothing. */
  completePrompt(asked: PromptCompletion, options?: RequestOptions): Promise<readonly string[]>;
  listResources(options?: RequestOptions): Promise<Listing<RemoteResource>>;
  listResourceTemplates(options?: RequestOptions): Promise<Listing<RemoteResourceTemplate>>;
  readResource(uri: string, options?: RequestOptions): Promise<readonly ResourceContent[]>;
  ping(options?: RequestOptions): Promise<void>;
  /** Called, at most once a second, when the server says that a list is another by now. Returns how to stop it. */
  onListChanged(listener: (kind: ListKind) => void): () => void;
  /** What the server said without the secrets of its definition and the tokens it was sent: for whatever is shown as an error. */
  conceal(words: string): string;
  /** Whether it has done something it was asked for: run a tool, filled in a prompt, read a resource. */
  readonly hasServed: boolean;
  /** Whether it can still be asked. */
  readonly isOpen: boolean;
  /** Ends the connection, and with it the program and all it has started. Never throws; may be called twice. */
  close(): Promise<void>;
}

/** What connections need from around them; an App is one. */
export interface ClientContext
  extends Pick<App, 'env' | 'cwd' | 'version' | 'clock' | 'homes' | 'trace' | 'httpTimers'> {
  /** Directories that a server which the user trusts may be told of; none unless given. */
  readonly roots?: readonly string[];
  /** Absent: there is nobody to ask, and servers are told so. */
  readonly elicit?: Elicit;
  /** Absent: whoever must sign in is told how, and nothing is opened. */
  readonly signIn?: SignInPrompt;
}

/** How a person is asked to sign in at a server. */
export interface SignInPrompt {
  /** Shows an address, and opens it where that is wanted. It is https, or on this machine; untrusted text all the same. */
  readonly show: (url: string) => Promise<void>;
  /**
   * Asks for the address at which the browser ended, where that cannot reach this machine; anew if the last one was of no use.
   * Undefined once the signal is aborted. Absent: there is nobody to ask. Throws AppError `interrupted` at the person's word.
   */
  readonly paste?: (last: { readonly isRefused: boolean }, signal: AbortSignal) => Promise<string | undefined>;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /** Called when the waiting for the person begins and ends, so that no clock runs meanwhile. */
  readonly onBegin?: () => void;
  readonly onEnd?: () => void;
}

/**
 * Starts or calls a server and greets it. Throws AppError `mcp` with the server's own words if that fails or takes too long,
 * and the signal's reason after an abort; nothing is left running then.
 */
export type Connect = (server: NamedServer, context: ClientContext, signal: AbortSignal) => Promise<Connection>;

/** An open way to a server: what the SDK talks over, and what we know of the other end. */
export interface Link {
  readonly transport: SdkTransport;
  /** Whether the SDK should find out by itself which era of the protocol is spoken. */
  readonly era: 'legacy' | 'auto';
  /** What the other end had to say besides the protocol, and how it ended, once that is known. Untrusted text. */
  lastWords(): Promise<string>;
  /** Why gmn itself has ended it, in gmn's words; undefined if it has not. */
  readonly left?: () => string | undefined;
  /** How often somebody has signed in since it was opened. */
  readonly signIns?: () => number;
  /** What must not be shown, besides what is secret in the definition. */
  readonly secrets?: () => readonly string[];
  /** Ends it at once, and all behind it. Never rejects; may be called twice. */
  close(): Promise<void>;
}

/** Opens a way to a server. `sdk` is being loaded meanwhile. May throw AppError. */
export type OpenLink = (server: NamedServer, context: ClientContext, sdk: Promise<Sdk>) => Promise<Link>;
