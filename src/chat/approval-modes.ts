import type { ApprovalMode } from '../approval/policy.ts';
import { AppError } from '../core/error.ts';
import { sanitize } from '../core/text/terminal.ts';
import type { Run } from '../engine/run.ts';
import { type Chat, changeRun } from './chat.ts';
import type { NextLine } from './commands/command.ts';

const MODE_LABELS: Readonly<Record<ApprovalMode, string>> = {
  default: 'edits ask first',
  auto_edit: 'edits run without asking',
  plan: 'tools only read',
  yolo: 'nothing asks first',
};

/** Only the command line can choose `yolo`; a chat started with it can switch back to it. */
export function listModes(first: ApprovalMode): readonly ApprovalMode[] {
  return first === 'yolo' ? ['default', 'auto_edit', 'plan', 'yolo'] : ['default', 'auto_edit', 'plan'];
}

export function describeMode(mode: ApprovalMode, run?: Run): string {
  const { sandbox, setup } = run?.facts ?? {};
  const isConfined = sandbox !== undefined && !setup?.tools.sandboxAsk;
  return mode === 'auto_edit' && isConfined ? 'edits and confined commands run without asking' : MODE_LABELS[mode];
}

export function findMode({ facts }: Run): ApprovalMode {
  return facts.setup.tools.approvalMode ?? 'default';
}

/** `edits ask first`, with the sandbox if there is one; or that there are no tools. */
export function describeApproval(run: Run): string {
  const { tools, sandbox } = run.facts;
  if (tools.length === 0) return 'no tools';
  return `${describeMode(findMode(run), run)}${sandbox === undefined ? '' : `, sandbox ${sandbox.engine}`}`;
}

/** What is said about it stands below the line, so that going through the modes leaves nothing on the screen. */
export async function switchToNextMode(chat: Chat): Promise<NextLine | undefined> {
  const { modes, run, lines, view } = chat;
  const notice = await changeMode(chat, modes[(modes.indexOf(findMode(run)) + 1) % modes.length] ?? 'default');
  if (lines.pick !== undefined) return { notice };
  await view.say(notice);
  return undefined;
}

/** Throws AppError `usage` if the user may not choose it. */
export async function setMode(chat: Chat, wanted: string): Promise<void> {
  await chat.view.say(await changeMode(chat, wanted));
}

export async function leavePlan(chat: Chat): Promise<void> {
  const mode = findMode(chat.run);
  await setMode(chat, mode === 'plan' ? (chat.modeBeforePlan ?? 'default') : mode);
}

/** Says what it is now. Throws AppError `usage` if the user may not choose it. */
export async function changeMode(chat: Chat, wanted: string): Promise<string> {
  const mode = chat.modes.find((candidate) => candidate === wanted);
  if (mode === undefined) {
    const isYolo = wanted === 'yolo';
    throw new AppError('usage', isYolo ? 'yolo is for the command line only' : `there is no mode ${sanitize(wanted)}`, {
      hint: isYolo ? 'Start with: gmn chat --yolo' : `Choose one of: ${chat.modes.join(', ')}`,
    });
  }
  const before = findMode(chat.run);
  await changeRun(chat, { tools: { approvalMode: mode } });
  if (mode === 'plan' && before !== 'plan') chat.modeBeforePlan = before;
  return `${mode}: ${describeMode(mode, chat.run)}`;
}
