import type { ApprovalMode } from '../approval/policy.ts';
import { AppError } from '../core/error.ts';
import type { Session, SessionSetup } from '../core/session.ts';
import { sanitize } from '../core/text/terminal.ts';
import type { RunSetup } from '../engine/setup.ts';
import { describeMode } from './banner.ts';
import type { Chat } from './chat.ts';
import { formatRecap } from './recap.ts';

export function findMode({ run }: Pick<Chat, 'run'>): ApprovalMode {
  return run.facts.setup.approvalMode ?? 'default';
}

/** Throws AppError; then nothing changes. */
export async function changeRun(chat: Chat, wanted: Partial<RunSetup>): Promise<void> {
  await chat.run.change(wanted);
  await chat.showReports();
}

/** What a session brings back; `model` is absent if there is nothing to say about it. */
export function restoredNotice({ model, ...texts }: SessionSetup): string | undefined {
  const hasText = [texts.system, texts.systemText, texts.appendText].some((text) => text !== undefined);
  const items = [
    ...(model === undefined ? [] : [`the model ${sanitize(model)}`]),
    ...(hasText ? ['its system instruction (/system shows it)'] : []),
  ];
  return items.length === 0 ? undefined : `As before in this session: ${items.join(' and ')}.`;
}

export function unansweredNotice({ unanswered }: Pick<Session, 'unanswered'>): string | undefined {
  return unanswered === undefined ? undefined : 'Its last prompt had no answer: /retry asks it again.';
}

export async function showRecap({ session, columns, isPlain, isQuiet, io: { err } }: Chat): Promise<void> {
  if (isQuiet) return;
  const { isStyled, hasLinks = false } = err;
  const recap = await formatRecap(session, { columns, isPlain, isStyled, hasLinks });
  if (recap !== undefined) await err.write(`${recap}\n\n`);
}

export async function switchToNextMode(chat: Chat): Promise<undefined> {
  const { modes } = chat;
  await setMode(chat, modes[(modes.indexOf(findMode(chat)) + 1) % modes.length] ?? 'default');
}

export async function setMode(chat: Chat, wanted: string): Promise<void> {
  const mode = chat.modes.find((candidate) => candidate === wanted);
  if (mode === undefined) {
    const isYolo = wanted === 'yolo';
    throw new AppError('usage', isYolo ? 'yolo is for the command line only' : `there is no mode ${sanitize(wanted)}`, {
      hint: isYolo ? 'Start with: gmn chat --yolo' : `Choose one of: ${chat.modes.join(', ')}`,
    });
  }
  await changeRun(chat, { approvalMode: mode });
  await chat.say(`${mode}: ${describeMode(mode)}`);
}
