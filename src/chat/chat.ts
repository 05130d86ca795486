import type { ApprovalMode } from '../approval/policy.ts';
import type { App } from '../core/app.ts';
import type { Run } from '../engine/run.ts';
import type { RunPatch } from '../engine/setup.ts';
import type { Attached } from './attached.ts';
import type { Changes } from './changes.ts';
import type { ChatConversation } from './conversation.ts';
import type { LineSource } from './line/source.ts';
import type { ChatStats } from './stats.ts';
import type { View } from './view.ts';

/** What the loop, a turn and the slash commands look at and change. */
export interface Chat {
  /** All but what is shown: that goes through `view`. Its signal, of the system, ends the chat. */
  readonly app: Omit<App, 'io'>;
  /** Who answers. */
  readonly run: Run;
  /** What is typed. */
  readonly lines: LineSource;
  /** What is shown. */
  readonly view: View;
  /** What was said. */
  readonly conversation: ChatConversation;
  /** What goes with the next prompt. */
  readonly attached: Attached;
  /** What tools have changed. */
  readonly changes: Changes;
  readonly stats: ChatStats;
  readonly customCommands: CustomCommands;
  /** Whether somebody can be asked about tool calls. */
  readonly canAsk: boolean;
  /** A turn or a command runs, and prints: there is no room for a pager. */
  readonly isBusy?: true;
  /** An editor shows the conversation, and has the commands that are for terminals. */
  readonly isInEditor?: boolean;
  /** The approval modes that the user may choose, in the order of Shift+Tab. */
  readonly modes: readonly ApprovalMode[];
  /** What `/plan off` goes back to. */
  modeBeforePlan: ApprovalMode | undefined;
  /** The command that is run after each turn. */
  verify: string | undefined;
}

/** Custom commands of the official CLI and gmn's templates. All strings come from their files and are untrusted. */
export interface CustomCommands {
  list(): Promise<readonly { readonly name: string; readonly about: string }[]>;
  /** The prompt that `/name words` stands for; undefined if there is no such command. Throws AppError. */
  expand(
    entry: string,
    state: { readonly approvalMode: ApprovalMode; readonly hasOtherInput: boolean },
    signal: AbortSignal,
  ): Promise<string | undefined>;
}

/** Shows what the run has to say about it. Throws AppError; then nothing changes. */
export async function changeRun({ run, view }: Chat, wanted: RunPatch): Promise<void> {
  await run.change(wanted);
  await view.showReports();
}
