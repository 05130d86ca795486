import { AppError } from '../core/error.ts';
import { runShell, type ShellResult } from '../platform/process/shell.ts';
import { callEvery } from '../platform/runtime/clock.ts';
import { createProgress } from '../render/spinner.ts';
import type { Chat } from './chat.ts';

const TIMEOUT_MS = 600_000;
const MAX_CHARS = 100_000;
const NOTE_CHARS = 20_000;

/** `!command`: runs it without input, shows its output and adds that to the next prompt. Throws AppError. */
export async function runShellLine(chat: Chat, command: string, signal: AbortSignal): Promise<void> {
  if (command === '') throw new AppError('usage', '! needs a command', { hint: 'Example: !git status' });
  const result = await runWithSpinner(chat, command, signal);
  const gap = result.omitted === 0 ? '' : `\n[… ${result.omitted} characters are left out …]\n`;
  const output = `${result.head}${gap}${result.tail}`.replace(/\n$/, '');
  const ending = result.signal === null ? `exit code ${result.exitCode}` : `ended by ${result.signal}`;
  if (output !== '') await chat.say(output);
  if (result.exitCode !== 0) await chat.say(ending);
  const note = `I ran this command:\n\n${command}\n\nIt printed (${ending}):\n\n${keepEnd(output)}`;
  chat.notes = [...chat.notes, note];
  await chat.note('This goes with your next prompt; /file - drops it.');
}

async function runWithSpinner(chat: Chat, command: string, signal: AbortSignal): Promise<ShellResult> {
  const { shell, cwd, env, io, isQuiet, isPlain, clock } = chat;
  const options = { quiet: isQuiet, isDumb: isPlain, clock, ticker: { every: callEvery }, mayDraw: () => true };
  const waiting = createProgress(io.err, options);
  waiting.wait(command);
  try {
    return await runShell({ shell, command, cwd, env, timeoutMs: TIMEOUT_MS, maxChars: MAX_CHARS }, signal);
  } finally {
    await waiting.pause();
  }
}

/** Keeps the end, where errors usually are. */
function keepEnd(text: string): string {
  if (text.length <= NOTE_CHARS) return text;
  return `[… ${text.length - NOTE_CHARS} characters are left out …]\n${text.slice(-NOTE_CHARS).toWellFormed()}`;
}
