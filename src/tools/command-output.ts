import type { Confine } from '../core/confine.ts';
import type { JsonObject } from '../core/json.ts';
import { plural } from '../core/text/format.ts';
import { READ_TOOL } from '../core/tool.ts';
import type { CapturedText, ShellEnding } from '../platform/process/shell.ts';

/** Writes a long output to the output store and returns the path for `read_file`; undefined if it cannot be stored. */
export type StoreOutput = (text: string) => Promise<string | undefined>;

export interface CommandSandbox {
  readonly confine: Confine;
  /** What commands may do, in one sentence for the model. */
  readonly rules: string;
  /** Why something was refused to a command that failed, in one sentence for the model. */
  explain(output: string): string | undefined;
}

const MAX_OUTPUT_CHARS = 40_000;
/** The start gets the smaller share, because errors come last. */
const HEAD_SHARE = 0.2;

export function describeEnding({ exitCode, signal, strays, survivors }: ShellEnding): JsonObject {
  const notes = [
    ...(strays.length > 0 ? [`Stopped what it had left running: ${formatProcesses(strays)}`] : []),
    ...(survivors.length > 0 ? [`Could not be stopped: ${formatProcesses(survivors)}`] : []),
  ];
  return {
    exit_code: exitCode,
    signal: signal ?? undefined,
    note: notes.join('\n') || undefined,
  };
}

/** What the sandbox may have had to do with a failure. */
export function describeRefusal({ exitCode }: ShellEnding, output: string, sandbox?: CommandSandbox): JsonObject {
  const why = exitCode === 0 ? undefined : sandbox?.explain(output);
  return why === undefined ? {} : { sandbox: why };
}

function formatProcesses(processes: ShellEnding['strays']): string {
  return processes.map(({ pid, command }) => `${pid} (${command.slice(0, 100)})`).join(', ');
}

export function summarizeOutput({ head, tail, omitted }: CapturedText): string {
  if (omitted > 0) return `${Math.round((head.length + omitted + tail.length) / 1_000_000)} million characters`;
  const lines = head.split('\n').length - (head.endsWith('\n') ? 1 : 0);
  return head === '' ? 'no output' : plural(lines, 'line');
}

export function joinCaptured({ head, tail, omitted }: CapturedText): string {
  return omitted === 0 ? head : `${head}\n[… ${omitted} characters were not kept …]\n${tail}`;
}

export async function shortenOutput(captured: string, omitted: number, storeOutput: StoreOutput): Promise<string> {
  if (captured.length <= MAX_OUTPUT_CHARS) return captured;
  const start = captured.slice(0, MAX_OUTPUT_CHARS * HEAD_SHARE).toWellFormed();
  const end = captured.slice(-MAX_OUTPUT_CHARS * (1 - HEAD_SHARE)).toWellFormed();
  const kept = captured.length - start.length - end.length;
  const missing = kept + omitted;
  const path = await storeOutput(captured);
  const way =
    path === undefined
      ? 'they are lost, and a command that changes things must not be run again for them'
      : `${READ_TOOL} ${path} shows ${omitted === 0 ? 'them' : `${kept} of them, the others were not kept`}`;
  return `${start}\n[… ${missing} characters are left out here; ${way} …]\n${end}`;
}
