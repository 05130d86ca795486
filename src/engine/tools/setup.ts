import type { ApprovalMode } from '../../approval/policy.ts';
import type { Tool } from '../../core/tool.ts';
import type { Workspace } from '../../tools/workspace/workspace.ts';
import type { SandboxOptions } from './sandbox/sandbox.ts';
import type { RosterOptions } from './servers/roster.ts';

/** What a run may do. */
export interface ToolSetup extends RosterOptions, SandboxOptions {
  readonly tools?: string;
  /** The part of `tools` that the user named; all of it by default. */
  readonly namedTools?: string;
  readonly allowedTools?: readonly string[];
  readonly approvalMode?: ApprovalMode;
  readonly yolo?: boolean;
  /** Others use this run: what its user has allowed for themselves, in the settings or for the project, does not count. */
  readonly ignoresPermissions?: true;
  readonly includeDirectories?: readonly string[];
  readonly shell?: string;
  /** Tools of the program that gmn is a part of. No setting limits them. */
  readonly ownTools?: readonly Tool[];
  /** Tools that run at the service. */
  readonly search?: boolean;
  readonly code?: boolean;
  readonly url?: boolean;
  /** `named`: MCP servers that a flag names. `all`: those of the settings, which may change during the run. */
  readonly servers?: 'none' | 'named' | 'all';
  /** Default: of the working directory and `includeDirectories`, opened if there are tools. */
  readonly workspace?: Workspace;
  /** Nothing is sent but a count: MCP servers are not started for it. */
  readonly isPreview?: boolean;
}
