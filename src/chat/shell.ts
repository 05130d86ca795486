import { createSerial } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import type { Out } from '../core/io.ts';
import { terminalFilter } from '../core/text/terminal.ts';
import { runShell, type ShellResult } from '../platform/process/shell.ts';
import { chooseShell } from '../platform/process/shell-choice.ts';
import { callEvery } from '../platform/runtime/clock.ts';
import type { LiveArea } from '../render/live.ts';
import { createProgress } from '../render/spinner.ts';
import type { Chat } from './chat.ts';
import { withLive } from './turn.ts';

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
  if (result.exitCode !== 0) await chat.view.say(`✗ ${ending}`);
  const note = `I ran this command:\n\n${command}\n\nIt printed (${ending}):\n\n${keepEnd(output)}`;
  chat.attached.notes = [...chat.attached.notes, note];
  await chat.view.showNotice('This goes with your next prompt; /file - drops it.');
}

function runStreaming(chat: Chat, command: string, signal: AbortSignal): Promise<ShellResult> {
  const { cwd, env, clock } = chat.app;
  const { io, isQuiet, isPlain } = chat.view;
  const shell = chooseShell(chat.run.facts.setup.tools.shell, env);
  return withLive(chat, async (live) => {
    const output = createOutput(io.err, live);
    const progress = createProgress(io.err, {
      ...{ quiet: isQuiet, isDumb: isPlain, clock, ticker: { every: callEvery } },
      mayDraw: () => live !== undefined || !output.isMidLine,
      area: () => live,
    });
    const filter = terminalFilter();
    const inOrder = createSerial();
    const show = async (text: string): Promise<void> => {
      const printed = io.err.isTerminal ? filter.filter(text) : text;
      if (printed === '' || signal.aborted) return;
      await inOrder(async () => {
        await progress.clear();
        await output.write(printed);
      });
    };
    progress.wait(command);
    try {
      const run = { shell, command, cwd, env, timeoutMs: TIMEOUT_MS, maxChars: MAX_CHARS, onOutput: show };
      return await runShell(run, signal);
    } finally {
      await inOrder(async () => progress.pause());
      if (output.isMidLine) await output.write('\n');
    }
  });
}

interface CommandOutput {
  readonly isMidLine: boolean;
  write(text: string): Promise<void>;
}

/** Characters of a line that may still grow, at most: it is laid out again with every piece. */
const MAX_OPEN_LINE = 4000;

function createOutput(err: Out, live: LiveArea | undefined): CommandOutput {
  let open = '';
  return {
    get isMidLine() {
      return open !== '';
    },
    write(text) {
      const lines = (live === undefined ? text : open + text).split('\n');
      open = lines.pop() ?? '';
      if (live === undefined) return err.write(text);
      if (open.length > MAX_OPEN_LINE) {
        lines.push(open);
        open = '';
      }
      return live.show(lines, open === '' ? [] : [open]);
    },
  };
}

/** Keeps the end, where errors usually are. */
export function keepEnd(text: string): string {
  if (text.length <= NOTE_CHARS) return text;
  return `[… ${text.length - NOTE_CHARS} characters are left out …]\n${text.slice(-NOTE_CHARS).toWellFormed()}`;
}
