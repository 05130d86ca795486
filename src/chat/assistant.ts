import type { Agent } from '../agent/agent.ts';
import type { ApprovalMode } from '../approval/policy.ts';
import type { Part } from '../core/content.ts';
import type { ReadResource } from '../input/prompt-input.ts';

/** How the chat is set up. All of it can be changed on the way. */
export interface Setup {
  /** As it was named; undefined: the default. */
  readonly model: string | undefined;
  /** What stands in the place of the context's own instruction. */
  readonly system: string | undefined;
  /** What `--tools` takes. */
  readonly tools: string;
  readonly mode: ApprovalMode;
  readonly showThoughts: boolean;
}

/** Who answers. */
export interface Assistant {
  readonly setup: Setup;
  /** As it is set up now. */
  readonly agent: Agent;
  /** The names of the tools that are on, those that the mode keeps back included. */
  readonly tools: readonly string[];
  /** The names of all tools there are. */
  readonly allTools: readonly string[];
  /** Where the model is, for people: `demo`, `gemini-api`, … */
  readonly service: string;
  /** The names that `/model` takes there, as far as they are known. */
  models(): readonly { readonly name: string; readonly about: string }[];
  /** The MCP servers; undefined if there are none, or none are wanted. */
  readonly servers: Servers | undefined;
  /**
   * Reads from the settings which MCP servers there are now, ends those of before, and asks them all what they offer. Returns what the
   * person should know. Throws AppError `config` if the settings are broken, and then all stays as it was.
   */
  reloadServers(): Promise<readonly string[]>;
  /** Sets it up anew and returns what the person should know. Throws AppError, and then all stays as it was. */
  change(change: Partial<Setup>): Promise<readonly string[]>;
}

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
