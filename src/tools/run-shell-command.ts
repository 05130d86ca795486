import type { Env } from '../core/io.ts';
import type { JsonObject } from '../core/json.ts';
import { formatDuration, plural } from '../core/text/format.ts';
import type { Tool, ToolResult } from '../core/tool.ts';
import { runShell, type ShellResult } from '../platform/process/shell.ts';
import type { Shell } from '../platform/process/shell-choice.ts';
import { defineTool } from './define.ts';

export interface ShellToolOptions {
  readonly shell: Shell;
  /** `shellEnvironment` decides which variables the command gets. */
  readonly env: Env;
  /** Resolves a path to a real directory. Throws AppError if it is no directory of the workspace. */
  readonly directory: (path: string) => Promise<string>;
  readonly timeoutMs?: number;
  /**
   * Writes a long output to the output store and returns the path for `read_file`; undefined if it cannot be stored.
   */
  readonly storeOutput: (text: string) => Promise<string | undefined>;
  /** Called with each piece of output as it comes. Must be quick: a command may print without end. */
  readonly onOutput?: (text: string) => void;
}

const TIMEOUT_MS = 120_000;
const CAPTURED_CHARS = 1_000_000;
/** The most output a model should have to read. */
const MAX_OUTPUT_CHARS = 40_000;
/** The start gets the smaller share, because errors come last. */
const HEAD_SHARE = 0.2;
/** A command that was silent for this share of its time was likely waiting for input. */
const SILENT_SHARE = 0.5;

/**
 * The shell tool. Background processes the command leaves running are stopped. A failing exit code is data for the
 * model, not an error.
 */
export function runShellCommand(options: ShellToolOptions): Tool {
  const { shell, env, directory, timeoutMs = TIMEOUT_MS, onOutput = () => {} } = options;
  return defineTool({
    name: 'run_shell_command',
    description: `Run a command with ${shell.path} and get its output and exit code. It has no input and no terminal, ends after ${formatDuration(timeoutMs)}, and whatever it leaves running in the background is stopped.`,
    effect: 'execute',
    input: {
      properties: {
        command: { type: 'string', description: 'The exact command.' },
        description: { type: 'string', description: 'What it does, in one short sentence for the user.' },
        dir_path: { type: 'string', description: 'Where to run it: a directory of the workspace. Default: its root.' },
      },
      required: ['command'],
    },
    preview: async ({ command, description, dir_path = '.' }) => ({
      kind: 'command',
      command,
      directory: await directory(dir_path),
      ...(description === undefined ? {} : { description }),
    }),
    async run({ command, dir_path = '.' }, signal) {
      const cwd = await directory(dir_path);
      const run = { shell, command, cwd, env, timeoutMs, maxChars: CAPTURED_CHARS, onOutput };
      const result = await runShell(run, signal);
      const captured = joinCaptured(result);
      const output = await shortenOutput(captured, result, options);
      return {
        ...toShellResult(result, output, timeoutMs),
        exit: { code: result.exitCode, signal: result.signal },
        summary: describeOutputSize(result),
        ...(output === captured ? {} : { wholeOutput: captured }),
      };
    },
  });
}

function toShellResult(result: ShellResult, output: string, timeoutMs: number): ToolResult {
  const { exitCode, signal, hasTimedOut, silentMs, strays, survivors } = result;
  const ending: JsonObject = signal === null ? { exit_code: exitCode } : { exit_code: exitCode, signal };
  const notes = [
    ...(strays.length > 0 ? [`Stopped what it had left running: ${formatProcesses(strays)}`] : []),
    ...(survivors.length > 0 ? [`Could not be stopped: ${formatProcesses(survivors)}`] : []),
  ];
  const noted = notes.length === 0 ? {} : { note: notes.join('\n') };
  if (!hasTimedOut) return { ok: true, response: { output, ...ending, ...noted } };
  const silence =
    silentMs < timeoutMs * SILENT_SHARE
      ? ''
      : ` It had written nothing for ${formatDuration(silentMs)}: it may have waited for input, which it cannot get.`;
  const error = `It was stopped after ${formatDuration(timeoutMs)}, the limit for a command.${silence}`;
  return { ok: false, response: { error, output, ...ending, ...noted } };
}

function formatProcesses(processes: ShellResult['strays']): string {
  return processes.map(({ pid, command }) => `${pid} (${command.slice(0, 100)})`).join(', ');
}

function describeOutputSize({ head, tail, omitted }: ShellResult): string {
  if (omitted > 0) return `${Math.round((head.length + omitted + tail.length) / 1_000_000)} million characters`;
  const lines = head.split('\n').length - (head.endsWith('\n') ? 1 : 0);
  return head === '' ? 'no output' : plural(lines, 'line');
}

function joinCaptured({ head, tail, omitted }: ShellResult): string {
  return omitted === 0 ? head : `${head}\n[… ${omitted} characters were not kept …]\n${tail}`;
}

async function shortenOutput(
  captured: string,
  { omitted }: ShellResult,
  { storeOutput }: ShellToolOptions,
): Promise<string> {
  if (captured.length <= MAX_OUTPUT_CHARS) return captured;
  const start = captured.slice(0, MAX_OUTPUT_CHARS * HEAD_SHARE).toWellFormed();
  const end = captured.slice(-MAX_OUTPUT_CHARS * (1 - HEAD_SHARE)).toWellFormed();
  const kept = captured.length - start.length - end.length;
  const missing = kept + omitted;
  const path = await storeOutput(captured);
  const way =
    path === undefined
      ? 'they are lost, and a command that changes things must not be run again for them'
      : `read_file ${path} shows ${omitted === 0 ? 'them' : `${kept} of them, the others were not kept`}`;
  return `${start}\n[… ${missing} characters are left out here; ${way} …]\n${end}`;
}
