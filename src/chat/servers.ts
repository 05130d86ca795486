import type { Part } from '../core/content.ts';
import type { ReadResource } from '../input/prompt-input.ts';

/** An MCP server as a chat knows it. Untrusted text, as all that comes from one. */
export interface ChatServer {
  readonly name: string;
  /** In a few words: `ready`, or why it cannot be used. */
  readonly state: string;
  /** As the model has them. */
  readonly tools: readonly string[];
  /** Those the model does not have since they say something else about themselves than before. */
  readonly withheld: readonly string[];
  readonly isUsable: boolean;
}

export interface ServerPrompt {
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly isRequired: boolean;
  }[];
}

export type PromptArguments = Readonly<Record<string, string>>;

/** The MCP servers of a chat; one is started when something is wanted of it. */
export interface Servers {
  /** As they are now, in the order of the settings. */
  readonly all: readonly ChatServer[];
  /** Those that a usable server lists. Throws AppError `mcp`, as all that follow. */
  prompts(server: string, signal: AbortSignal): Promise<readonly ServerPrompt[]>;
  /** A prompt with these arguments, as it is to be asked. */
  prompt(
    wanted: { readonly server: string; readonly name: string; readonly args: PromptArguments },
    signal: AbortSignal,
  ): Promise<readonly Part[]>;
  /** What an argument of a prompt could be, as its server suggests it; often nothing. */
  suggestions(
    wanted: {
      readonly server: string;
      readonly prompt: string;
      readonly argument: { readonly name: string; readonly value: string };
      readonly given: PromptArguments;
    },
    signal: AbortSignal,
  ): Promise<readonly string[]>;
  /** The addresses of what a usable server lists. */
  resources(server: string, signal: AbortSignal): Promise<readonly { readonly uri: string; readonly name: string }[]>;
  readonly readResource: ReadResource;
}
