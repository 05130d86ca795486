import type { ApprovalMode } from '../approval/policy.ts';

/** Custom commands of the official CLI and gmn's templates. All strings come from their files and are untrusted. */
export interface CustomCommands {
  list(): Promise<readonly { readonly name: string; readonly about: string }[]>;
  /** The prompt that `/name words` stands for; undefined if there is no such command. Throws AppError. */
  expand(entry: string, mode: ApprovalMode, signal: AbortSignal): Promise<string | undefined>;
}
