import type { SessionSetup } from '../core/session.ts';
import type { Workspace } from '../tools/workspace/workspace.ts';
import type { AgentOptions } from './agent.ts';
import type { AnswerFormatOptions } from './answer/output-schema.ts';
import type { Budget } from './limits/budget.ts';
import type { ModelOptions } from './model/model.ts';
import type { SandboxOptions } from './tools/sandbox/sandbox.ts';
import type { ServerOptions } from './tools/servers/run-servers.ts';

/** What a run is to be. Most names are those of flags; what is absent comes from the settings, or is the default. */
export interface RunSetup extends ModelOptions, AgentOptions, ServerOptions, AnswerFormatOptions, SandboxOptions {
  /** How the conversation that goes on was asked before; what is named in the setup comes first. */
  readonly kept?: SessionSetup;
  /** Whether the timeout is for the run, which begins now, or for each request. Default: `run`. */
  readonly timing?: 'run' | 'request';
  /** Without a `timeout` a run gets at least so long. */
  readonly leastMs?: number;
  /** Default: the app's. */
  readonly signal?: AbortSignal;
  /** In dollars. */
  readonly maxCost?: number;
  readonly costHint?: string;
  /** In place of `maxCost`: shared with other runs. */
  readonly budget?: Budget;
  /** Whether an `end` says what its turn cost. */
  readonly showsCost?: boolean;
  /** Which kind of line a saved turn gets in the usage log. Absent: none. */
  readonly kind?: 'prompt' | 'chat' | 'serve';
  /** Default: of the working directory and `includeDirectories`, opened if there are tools. */
  readonly workspace?: Workspace;
  /** Nothing is sent but a count: MCP servers are not started for it. */
  readonly isPreview?: boolean;
}
