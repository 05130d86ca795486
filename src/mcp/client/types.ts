import type { JsonObject, JsonValue } from '../../core/json.ts';

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

export interface RemotePromptArgument {
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

/** What a server asks the person for, a form or an address to open. Untrusted text. */
export type Elicitation =
  | { readonly kind: 'form'; readonly server: string; readonly message: string; readonly schema: JsonObject }
  | { readonly kind: 'url'; readonly server: string; readonly message: string; readonly url: string };

export type ElicitationAnswer =
  | {
      readonly action: 'accept';
      readonly content: Readonly<Record<string, string | number | boolean | readonly string[]>>;
    }
  | { readonly action: 'decline' | 'cancel' };

/** Asks the person on a server's behalf; only where there is a terminal. Never throws but the signal's reason. */
export type Elicit = (question: Elicitation, signal: AbortSignal) => Promise<ElicitationAnswer>;
