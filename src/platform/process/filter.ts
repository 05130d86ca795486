import { killProcessTree, stopProcessTree } from './group.ts';
import { collectOutput, type ShellCommand, startShell, waitForExit } from './shell.ts';

interface FilterRun extends ShellCommand {
  readonly input: string;
  readonly timeoutMs: number;
  /** Of stdout and of stderr each; what is beyond it is read, and dropped. */
  readonly maxChars: number;
}

export interface FilterResult {
  readonly stdout: string;
  readonly stderr: string;
  /** There was more on stdout. */
  readonly isCut: boolean;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly hasTimedOut: boolean;
}

/**
 * A command that reads its input and prints an answer, in a process group of its own. When it has ended, however that was, nothing
 * that it started is left. Throws AppError `usage` if it cannot be started, and the signal's reason.
 */
export async function runFilter(run: FilterRun, signal: AbortSignal): Promise<FilterResult> {
  signal.throwIfAborted();
  const { child, tree, watchdog } = await startShell(run);
  const atExit = (): void => killProcessTree(tree);
  process.on('exit', atExit);
  try {
    const { maxChars } = run;
    const out = collectOutput(child, { maxChars: 2 * maxChars, streams: [child.stdout] });
    const err = collectOutput(child, { maxChars: 2 * maxChars, streams: [child.stderr] });
    const ending = await waitForExit(child, run.timeoutMs, signal);
    const mayHaveStrays = ending === 'exit' && !(await out.closesSoon());
    await stopProcessTree(tree, mayHaveStrays);
    await Promise.all([out.waitUntilSettled(signal), err.waitUntilSettled(signal)]);
    signal.throwIfAborted();
    const [printed, said] = [out.take(), err.take()];
    return {
      stdout: printed.head,
      stderr: said.head,
      isCut: printed.omitted > 0 || printed.tail !== '',
      exitCode: child.exitCode,
      signal: child.signalCode,
      hasTimedOut: ending === 'timeout',
    };
  } finally {
    process.off('exit', atExit);
    watchdog.release();
    child.stdin?.destroy();
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}
