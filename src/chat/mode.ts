import { AppError } from '../core/error.ts';
import { modeWords } from './banner.ts';
import type { Chat } from './chat.ts';

/** Shift+Tab: the mode after this one. */
export async function nextMode(chat: Chat): Promise<undefined> {
  const { modes, assistant } = chat;
  await setMode(chat, modes[(modes.indexOf(assistant.setup.mode) + 1) % modes.length] ?? 'default');
}

/** Changes how much is asked, and says so. Throws AppError `usage` if there is no such mode here. */
export async function setMode(chat: Chat, wanted: string): Promise<void> {
  const mode = chat.modes.find((candidate) => candidate === wanted);
  if (mode === undefined) {
    const isYolo = wanted === 'yolo';
    throw new AppError('usage', isYolo ? 'yolo is for the command line alone' : `there is no mode ${wanted}`, {
      hint: isYolo ? 'Start with: gmn chat --yolo' : `There are: ${chat.modes.join(', ')}`,
    });
  }
  for (const notice of await chat.assistant.change({ mode })) await chat.note(notice);
  await chat.say(`${mode}: ${modeWords(mode)}`);
}
