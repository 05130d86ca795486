import { AppError } from '../core/error.ts';
import { terminalFilter } from '../core/text/terminal.ts';
import { runShell, type ShellResult } from '../platform/process/shell.ts';
import { callEvery } from '../platform/runtime/clock.ts';
import { createProgress } from '../render/spinner.ts';
import type { Chat } from './chat.ts';

const TIMEOUT_MS = 600_000;
const MAX_CHARS = 100_000;
const NOTE_CHARS = 20_000;

/**
 * `!command`: runs it without input, shows its output as it comes and adds that to the next prompt. Throws AppError.
 */
export async function runShellLine(chat: Chat, command: string, signal: AbortSignal): Promise<void> {
  if (command === '') throw new AppError('usage', '! needs a command', { hint: 'Example: !git status' });
  const result = await runStreaming(chat, command, signal);
  const gap = result.omitted === 0 ? '' : `\n[… ${result.omitted} characters are left out …]\n`;
  const output = `${result.head}${gap}${result.tail}`.replace(/\n$/, '');
  const ending = result.signal === null ? `exit code ${result.exitCode}` : `ended by ${result.signal}`;
  if (result.exitCode !== 0) await chat.say(`✗ ${ending}`);
  const note = `I ran this command:\n\n${command}\n\nIt printed (${ending}):\n\n${keepEnd(output)}`;
  chat.notes = [...chat.notes, note];
  await chat.note('This goes with your next prompt; /file - drops it.');
}

async function runStreaming(chat: Chat, command: string, signal: AbortSignal): Promise<ShellResult> {
  const { shell, cwd, env, io, isQuiet, isPlain, clock } = chat;
  let isMidLine = false;
  const waiting = createProgress(io.err, {
    ...{ quiet: isQuiet, isDumb: isPlain, clock, ticker: { every: callEvery } },
    mayDraw: () => !isMidLine,
  });
  const filter = terminalFilter();
  const show = async (text: string): Promise<void> => {
    const shown = io.err.isTerminal ? filter.filter(text) : text;
    if (shown === '' || signal.aborted) return;
    await waiting.clear();
    isMidLine = !shown.endsWith('\n');
    await io.err.write(shown);
  };
  waiting.wait(command);
  try {
    const run = { shell, command, cwd, env, timeoutMs: TIMEOUT_MS, maxChars: MAX_CHARS, onOutput: show };
    return await runShell(run, signal);
  } finally {
    await waiting.pause();
    if (isMidLine) await io.err.write('\n');
  }
}

/** Keeps the end, where errors usually are. */
function keepEnd(text: string): string {
  if (text.length <= NOTE_CHARS) return text;
  return `[… ${text.length - NOTE_CHARS} characters are left out …]\n${text.slice(-NOTE_CHARS).toWellFormed()}`;
}
