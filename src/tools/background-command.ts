import type { JsonObject } from '../core/json.ts';
import type { Tool, ToolResult } from '../core/tool.ts';
import type { BackgroundCommands, BackgroundOutput } from '../platform/process/background.ts';
import type { ShellCommand } from '../platform/process/shell.ts';
import { describeEnding, joinCaptured, type StoreOutput, shortenOutput, summarizeOutput } from './command-output.ts';
import { defineTool, fail } from './define.ts';

interface BackgroundOptions {
  readonly background: BackgroundCommands;
  readonly storeOutput: StoreOutput;
}

/** Long enough to see that a command fails at once, or says that it is ready. */
const FIRST_WAIT_MS = 500;
const READ_WAIT_MS = 10_000;

/** Starts a command that goes on after the call. If the call is aborted, the command is stopped again. */
export async function startInBackground(
  command: ShellCommand,
  options: BackgroundOptions,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { background } = options;
  const id = await background.start(command);
  try {
    return await toResult(id, await background.read(id, FIRST_WAIT_MS, signal), options);
  } catch (thrown) {
    await background.stop(id);
    throw thrown;
  }
}

/** `read_output` and `stop_command`. They reach only what an approved call has started, so neither of them asks. */
export function backgroundTools(options: BackgroundOptions): readonly Tool[] {
  const { background } = options;
  const input = {
    properties: { id: { type: 'integer', description: 'The id that run_shell_command gave.' } },
    required: ['id'],
  } as const;
  let reads = 0;
  const readOutput = defineTool({
    name: 'read_output',
    description:
      'What a command in the background has printed since you last looked, and whether it still runs. Waits up to ' +
      `${READ_WAIT_MS / 1000} seconds for something new.`,
    effect: 'read',
    input,
    run: async ({ id }, signal) => {
      reads += 1;
      return toResult(id, await background.read(id, READ_WAIT_MS, signal), options);
    },
  });
  const stopCommand = defineTool({
    name: 'stop_command',
    description: 'Ends a command in the background and everything it has started, and gives what it printed last.',
    effect: 'read',
    input,
    run: async ({ id }) => toResult(id, await background.stop(id), options),
  });
  // The count makes each read a different call: reading again is not a loop, there may be more output by then.
  return [{ ...readOutput, plain: (args) => ({ ...args, reads }) }, stopCommand];
}

async function toResult(
  id: number,
  found: BackgroundOutput | undefined,
  options: BackgroundOptions,
): Promise<ToolResult> {
  if (found === undefined) return fail(formatUnknownCommand(id, options.background.ids()));
  const { ending } = found;
  const captured = joinCaptured(found);
  const output = await shortenOutput(captured, found.omitted, options.storeOutput);
  const state: JsonObject = ending === undefined ? { running: true } : { running: false, ...describeEnding(ending) };
  return {
    ok: true,
    response: { id, output, ...state },
    summary: `${ending === undefined ? `running in the background as ${id}` : `${id} has ended`}, ${summarizeOutput(found)}`,
    ...(output === captured ? {} : { wholeOutput: captured }),
    ...(ending === undefined ? {} : { exit: { code: ending.exitCode, signal: ending.signal } }),
  };
}

function formatUnknownCommand(id: number, ids: readonly number[]): string {
  return `there is no command ${id} in the background; ${ids.length === 0 ? 'none was started' : `there is ${ids.join(', ')}`}`;
}
