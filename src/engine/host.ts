import type { ResolvedCall, Scope } from '../approval/grants.ts';
import type { WithPerson } from '../approval/person.ts';
import type { Denial } from '../approval/policy.ts';
import type { Elicit } from '../core/elicitation.ts';
import type { Notify } from '../core/event.ts';
import type { RunShell } from '../platform/process/shell.ts';

/** How a surface tells and asks a person. All else of a run is the engine's. */
export interface Host {
  readonly notify: Notify;
  /** Asks a person about tool calls. Absent: nobody can be asked. */
  readonly withPerson?: WithPerson;
  /** Why a call that a person would have to approve is denied when there is nobody to ask. */
  readonly explainDenial: (call: ResolvedCall, scope: Scope) => Promise<Denial>;
  /** Answers the questions of MCP servers. Absent: servers are told that there are no answers. */
  readonly elicit?: Elicit;
  /** Shows changes that nobody was asked about. */
  readonly showsChanges?: boolean;
  /** Runs commands where the person can watch them. Absent: as children of this process. */
  readonly runShell?: RunShell;
  readonly showOutput?: (text: string) => void;
  /** Shows how far an MCP server is. Untrusted text. */
  readonly showProgress?: (text: string) => void;
}
