import type { Agent } from '../agent/agent.ts';
import type { ApprovalMode } from '../approval/policy.ts';
import type { Servers } from './servers.ts';

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
