import type { JsonObject } from '../core/json.ts';
import type { InputSchema } from '../core/schema.ts';
import { errorResult, type ToolResult } from '../core/tool.ts';
import type { BackgroundOutput } from '../platform/process/background.ts';
import type { ShellCommand } from '../platform/process/shell.ts';
import { describeEnding, describeRefusal, joinCaptured, shortenOutput, summarizeOutput } from './command-output.ts';
import type { ToolContext } from './define.ts';

export type BackgroundContext = Pick<ToolContext, 'background' | 'storeOutput' | 'sandbox'>;

/** For `read_output` and `stop_command`. They reach only what an approved call has started, so neither of them asks. */
export const BACKGROUND_INPUT = {
  properties: { id: { type: 'integer' } },
  required: ['id'],
} as const satisfies InputSchema;

/** Long enough to see that a command fails at once, or says that it is ready. */
const FIRST_WAIT_MS = 500;

/** Starts a command that goes on after the call. If the call is aborted, the command is stopped again. */
export async function startInBackground(
  command: ShellCommand,
  options: BackgroundContext,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { background } = options;
  const id = await background.start(command);
  try {
    const result = await toBackgroundResult(id, await background.read(id, FIRST_WAIT_MS, signal), options);
    return { ...result, response: { id, ...result.response } };
  } catch (thrown) {
    await background.stop(id);
    throw thrown;
  }
}

export async function toBackgroundResult(
  id: number,
  found: BackgroundOutput | undefined,
  options: BackgroundContext,
): Promise<ToolResult> {
  if (found === undefined) {
    const ids = options.background.list().map((listed) => listed.id);
    const known = ids.length === 0 ? 'none was started' : `there is ${ids.join(', ')}`;
    return errorResult(`there is no such command in the background; ${known}`);
  }
  const { ending } = found;
  const captured = joinCaptured(found);
  const output = await shortenOutput(captured, found.omitted, options.storeOutput);
  const state: JsonObject =
    ending === undefined
      ? { running: true }
      : { running: false, ...describeEnding(ending), ...describeRefusal(ending, captured, options.sandbox) };
  return {
    ok: true,
    response: { output, ...state },
    summary: `${ending === undefined ? `running in the background as ${id}` : `${id} has ended`}, ${summarizeOutput(found)}`,
    wholeOutput: output === captured ? undefined : captured,
    exit: ending && { code: ending.exitCode, signal: ending.signal },
  };
}
