import type { ApprovalMode } from '../approval/policy.ts';
import { readSetting } from '../config/keys.ts';
import type { Settings } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { visible } from '../core/text/terminal.ts';

/** The flags that say how much is asked. */
export interface ModeOptions {
  readonly approvalMode?: ApprovalMode;
  readonly yolo?: boolean;
}

/** The modes that a file may choose: one that asks nothing is for the command line alone. */
const MODES_OF_FILES: readonly ApprovalMode[] = ['default', 'auto_edit', 'plan'];

/** `--yolo` is the same as `--approval-mode yolo`, and saying two different things is a mistake: AppError `usage`. */
export function modeOf({ approvalMode, yolo }: ModeOptions): ApprovalMode {
  if (yolo && approvalMode !== undefined && approvalMode !== 'yolo') {
    throw new AppError('usage', `--yolo cannot be combined with --approval-mode ${approvalMode}`, {
      hint: 'Use one of them.',
    });
  }
  return yolo ? 'yolo' : (approvalMode ?? 'default');
}

/** The mode of the flags, else that of `general.defaultApprovalMode`. Throws as `modeOf` does. */
export function chosenMode(
  options: ModeOptions,
  { document = {} }: Pick<Settings, 'document'>,
): { readonly mode: ApprovalMode; readonly notices: readonly string[] } {
  const mode = modeOf(options);
  const said = readSetting(document, 'general.defaultApprovalMode');
  if (options.yolo || options.approvalMode !== undefined || said === undefined) return { mode, notices: [] };
  const known = MODES_OF_FILES.find((each) => each === said);
  if (known !== undefined) return { mode: known, notices: [] };
  const why = said === 'yolo' ? 'is not taken from a file' : `cannot be "${visible(said)}"`;
  return { mode, notices: [`general.defaultApprovalMode ${why}: what changes anything is asked about`] };
}
