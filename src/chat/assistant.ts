import type { Agent } from '../agent/agent.ts';
import type { ApprovalMode } from '../approval/policy.ts';
import type { Part } from '../core/content.ts';
import type { FileSupport } from '../core/files.ts';
import type { SessionStart } from '../core/session.ts';
import type { ReadResource } from '../input/prompt-input.ts';

export interface Setup {
  /** The name it was asked for by; undefined until it is opened if nobody named one. */
  readonly model: string | undefined;
  /** Given now: a text, or `@` and the path of a file. It becomes `systemText`. */
  readonly system?: string;
  readonly systemText: string | undefined;
  readonly appendText: string | undefined;
  /** In the format of `--tools`. */
  readonly tools: string;
  readonly start: SessionStart | undefined;
  readonly mode: ApprovalMode;
  readonly showThoughts: boolean;
  /** The service's own tools that are turned on: `search`, `code`, `url`. */
  readonly service: readonly string[];
}

export interface Assistant {
  readonly setup: Setup;
  readonly agent: Agent;
  /** The names of the enabled tools, including those that the approval mode withholds from the model. */
  readonly tools: readonly string[];
  readonly allTools: readonly string[];
  /** The part of the system instruction that comes from context files. */
  readonly contextText: string;
  readonly serviceTools: readonly string[];
  readonly service: string;
  listModels(): readonly { readonly name: string; readonly about: string }[];
  preconnect(): void;
  readonly fileSupport: FileSupport;
  /** Undefined if no MCP servers are configured, or they are turned off. */
  readonly servers: Servers | undefined;
  /**
   * Reads the MCP servers from the settings again, stops the old ones and lists the tools of the new ones. Returns
   * notices for the user. Throws AppError `config` if the settings are broken; then nothing changes.
   */
  reloadServers(): Promise<readonly string[]>;
  /** Applies the change and returns notices for the user. Throws AppError; then nothing changes. */
  change(change: Partial<Setup>): Promise<readonly string[]>;
}

/** An MCP server as the chat shows it. All strings come from the server and are untrusted. */
export interface ChatServer {
  readonly name: string;
  /** Short: `ready`, or why the server cannot be used. */
  readonly state: string;
  readonly tools: readonly string[];
  /** Tools kept from the model because their descriptions changed since they were allowed. */
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

export interface Servers {
  readonly all: readonly ChatServer[];
  /** The prompts that a usable server lists. This and the methods below throw AppError `mcp`. */
  listPrompts(server: string, signal: AbortSignal): Promise<readonly ServerPrompt[]>;
  getPrompt(
    wanted: { readonly server: string; readonly name: string; readonly args: PromptArguments },
    signal: AbortSignal,
  ): Promise<readonly Part[]>;
  completePrompt(
    wanted: {
      readonly server: string;
      readonly prompt: string;
      readonly argument: { readonly name: string; readonly value: string };
      readonly given: PromptArguments;
    },
    signal: AbortSignal,
  ): Promise<readonly string[]>;
  listResources(
    server: string,
    signal: AbortSignal,
  ): Promise<readonly { readonly uri: string; readonly name: string }[]>;
  readonly readResource: ReadResource;
}

/** Custom commands of the official CLI and gmn's templates. All strings come from their files and are untrusted. */
export interface CustomCommands {
  list(): Promise<readonly { readonly name: string; readonly about: string }[]>;
  /** The prompt that `/name words` stands for; undefined if there is no such command. Throws AppError. */
  expand(
    entry: string,
    mode: ApprovalMode,
    signal: AbortSignal,
  ): Promise<{ readonly prompt: string; readonly notices: readonly string[] } | undefined>;
}
