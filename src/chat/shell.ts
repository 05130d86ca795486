import { AppError } from '../core/error.ts';
import { runShell, type ShellResult } from '../platform/process/shell.ts';
import { every } from '../platform/runtime/clock.ts';
import { progress } from '../render/spinner.ts';
import type { Chat } from './chat.ts';

const TIMEOUT_MS = 600_000;
/** Limit of the output shown. */
const MAX_CHARS = 100_000;
/** Limit of the output sent with the next prompt. */
const TOLD_CHARS = 20_000;

/** `!command`: runs it without input, shows its output and adds that to the next prompt. Throws AppError. */
export async function runShellLine(chat: Chat, command: string, signal: AbortSignal): Promise<void> {
  if (command === '') throw new AppError('usage', '! needs a command', { hint: 'Example: !git status' });
  const result = await shownWhileItRuns(chat, command, signal);
  const gap = result.omitted === 0 ? '' : `\n[… ${result.omitted} characters are left out …]\n`;
  const output = `${result.head}${gap}${result.tail}`.replace(/\n$/, '');
  const ending = result.signal === null ? `exit code ${result.exitCode}` : `ended by ${result.signal}`;
  if (output !== '') await chat.say(output);
  if (result.exitCode !== 0) await chat.say(ending);
  const note = `I ran this command:\n\n${command}\n\nIt printed (${ending}):\n\n${shortened(output)}`;
  chat.notes = [...chat.notes, note];
  await chat.note('This goes with your next prompt; /file - drops it.');
}

async function shownWhileItRuns(chat: Chat, command: string, signal: AbortSignal): Promise<ShellResult> {
  const { shell, cwd, env, io, isQuiet, isPlain, clock } = chat;
  const options = { quiet: isQuiet, isDumb: isPlain, clock, ticker: { every }, mayDraw: () => true };
  const waiting = progress(io.err, options);
  waiting.wait(command);
  try {
    return await runShell({ shell, command, cwd, env, timeoutMs: TIMEOUT_MS, maxChars: MAX_CHARS }, signal);
  } finally {
    await waiting.pause();
  }
}

/** Keeps the end, where errors usually are. */
function shortened(text: string): string {
  if (text.length <= TOLD_CHARS) return text;
  return `[… ${text.length - TOLD_CHARS} characters are left out …]\n${text.slice(-TOLD_CHARS).toWellFormed()}`;
}
