import type { JsonObject } from '../core/json.ts';
import { formatDuration } from '../core/text/format.ts';
import type { ToolResult } from '../core/tool.ts';
import { runShell, type ShellResult } from '../platform/process/shell.ts';
import { isPosixShell } from '../platform/process/shell-choice.ts';
import { startInBackground } from './background-command.ts';
import { describeEnding, describeRefusal, joinCaptured, shortenOutput, summarizeOutput } from './command-output.ts';
import { defineTool, type ToolContext } from './define.ts';

export interface ShellContext
  extends Pick<
    ToolContext,
    'shell' | 'env' | 'resolveDirectory' | 'storeOutput' | 'onOutput' | 'runShell' | 'background' | 'sandbox'
  > {
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 120_000;
const CAPTURED_CHARS = 1_000_000;
/** A command that was silent for this share of its time was likely waiting for input. */
const SILENT_SHARE = 0.5;

/**
 * The shell tool. Background processes the command leaves running are stopped. A failing exit code is data for the
 * model, not an error.
 */
export const runShellCommand = defineTool({
  name: 'run_shell_command',
  classNames: ['ShellTool'],
  claudeNames: ['Bash'],
  set: 'all',
  about: 'runs a command',
  description: ({ shell, timeoutMs = TIMEOUT_MS, sandbox }: ShellContext) =>
    `Runs a command with ${shell.path} and gives its output and exit code. It has no input and no terminal, ends after ${formatDuration(timeoutMs)}, and whatever it leaves running is stopped. For a server or the like set is_background: it runs on until you or gmn end it; use read_output and stop_command.${sandbox === undefined ? '' : ` ${sandbox.rules}`}`,
  effect: 'execute',
  target: 'dir_path',
  input: {
    properties: {
      command: { type: 'string' },
      description: { type: 'string', description: 'What it does, in one short sentence for the user.' },
      dir_path: { type: 'string' },
      is_background: { type: 'boolean' },
    },
    required: ['command'],
  },
  handle: (context: ShellContext) => {
    const { shell, env, sandbox, resolveDirectory, timeoutMs = TIMEOUT_MS, storeOutput } = context;
    const { onOutput = () => {} } = context;
    return {
      preview: async ({ command, description, dir_path = '.', is_background = false }) => ({
        kind: 'command',
        command,
        directory: await resolveDirectory(dir_path),
        description,
        isBackground: is_background ? true : undefined,
      }),
      findCommand: ({ command, is_background = false }) => ({
        command,
        isBackground: is_background,
        isPosix: isPosixShell(shell),
      }),
      async run({ command, dir_path = '.', is_background = false }, signal) {
        const cwd = await resolveDirectory(dir_path);
        const start = { shell, command, cwd, env, confine: sandbox?.confine };
        if (is_background) return startInBackground(start, context, signal);
        const run = { ...start, timeoutMs, maxChars: CAPTURED_CHARS, onOutput };
        // A terminal of the host is not confined.
        const runIt = sandbox === undefined ? (context.runShell ?? runShell) : runShell;
        const result = await runIt(run, signal);
        const captured = joinCaptured(result);
        const output = await shortenOutput(captured, result.omitted, storeOutput);
        return {
          ...toShellResult(result, output, timeoutMs, describeRefusal(result, captured, sandbox)),
          exit: { code: result.exitCode, signal: result.signal },
          summary: summarizeOutput(result),
          wholeOutput: output === captured ? undefined : captured,
        };
      },
    };
  },
});

function toShellResult(result: ShellResult, output: string, timeoutMs: number, note: JsonObject): ToolResult {
  const { hasTimedOut, silentMs } = result;
  const ending = { ...describeEnding(result), ...note };
  if (!hasTimedOut) return { ok: true, response: { output, ...ending } };
  const silence =
    silentMs < timeoutMs * SILENT_SHARE
      ? ''
      : ` It had written nothing for ${formatDuration(silentMs)}: it may have waited for input, which it cannot get.`;
  const error = `It was stopped after ${formatDuration(timeoutMs)}, the limit for a command.${silence}`;
  return { ok: false, response: { error, output, ...ending } };
}
