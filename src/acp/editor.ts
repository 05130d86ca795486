import { isSecretKey } from '../config/secrets.ts';
import { raceWithAbort } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import { type Clock, settlesWithin } from '../core/io.ts';
import { shellEnvironment } from '../platform/process/environment.ts';
import { type RunShell, runShell, type ShellRun } from '../platform/process/shell.ts';
import { listShellArguments } from '../platform/process/shell-choice.ts';
import { createBuffers } from '../tools/workspace/buffers.ts';
import type { Client } from './client.ts';
import type { TerminalHandle } from './sdk.ts';

interface AccessContext {
  readonly client: Client;
  readonly clock: Clock;
  /** Of the turn that runs: an editor may take its time to answer. */
  readonly findSignal: () => AbortSignal | undefined;
  /** The command that is about to run is in this terminal. */
  readonly onTerminal: (terminalId: string) => Promise<void>;
}

/** What the editor does for gmn, where it offers to: its files, with what is not saved yet, and its terminals. */
export function createEditorAccess(context: AccessContext) {
  const { client, findSignal } = context;
  const { sessionId, capabilities } = client;
  const waiting = () => ({ cancellationSignal: findSignal(), stopWaitingOnCancel: true });
  const read = async (path: string): Promise<string | undefined> => {
    try {
      return (await client.request('fs/read_text_file', { sessionId, path }, waiting())).content;
    } catch {
      findSignal()?.throwIfAborted();
      // It is no text, or not one of the editor's files.
      return undefined;
    }
  };
  const write = async (path: string, content: string): Promise<void> => {
    try {
      await client.request('fs/write_text_file', { sessionId, path, content }, waiting());
    } catch (thrown) {
      findSignal()?.throwIfAborted();
      throw editorError('did not write it', thrown);
    }
  };
  const { readTextFile, writeTextFile } = capabilities.fs ?? {};
  return {
    buffers: createBuffers({ read: readTextFile ? read : undefined, write: writeTextFile ? write : undefined }),
    runShell: capabilities.terminal ? createTerminalShell(context) : undefined,
  };
}

function editorError(what: string, thrown: unknown): AppError {
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return new AppError('usage', `the editor ${what}: ${why.slice(0, 300)}`, { cause: thrown });
}

/** Runs commands in terminals of the editor. What runs on there after the command is the editor's to stop. */
function createTerminalShell({ client, clock, onTerminal }: AccessContext): RunShell {
  return async (run, signal) => {
    signal.throwIfAborted();
    const { shell, command, cwd, timeoutMs, maxChars: outputByteLimit } = run;
    // The editor would quote it again.
    if (shell.isVerbatim) return runShell(run, signal);
    const started = client.createTerminal({
      ...{ sessionId: client.sessionId, command: shell.path, args: listShellArguments(shell, command) },
      ...{ cwd, env: listVariables(run), outputByteLimit },
    });
    const terminal = await raceWithAbort(started, signal).catch((thrown) => {
      if (!signal.aborted) throw editorError('opened no terminal', thrown);
      void started.then(endTerminal, () => {});
      throw thrown;
    });
    const over = new AbortController();
    try {
      await onTerminal(terminal.id);
      let exit: Awaited<ReturnType<typeof terminal.waitForExit>> | undefined;
      const ended = terminal.waitForExit().then((status) => {
        exit = status;
      });
      const hasTimedOut = !(await settlesWithin(raceWithAbort(ended, signal), timeoutMs, clock, over.signal));
      if (hasTimedOut) await raceWithAbort(terminal.kill(), signal);
      const { output, truncated, exitStatus } = await raceWithAbort(terminal.currentOutput(), signal);
      const status = exit ?? exitStatus;
      return {
        ...{ head: truncated ? `[… the beginning was not kept …]\n${output}` : output, tail: '', omitted: 0 },
        ...{ exitCode: status?.exitCode ?? null, signal: status?.signal ?? null, strays: [], survivors: [] },
        ...{ hasTimedOut, silentMs: 0 },
      };
    } catch (thrown) {
      signal.throwIfAborted();
      throw thrown instanceof AppError ? thrown : editorError('lost the terminal', thrown);
    } finally {
      over.abort();
      endTerminal(terminal, !signal.aborted);
    }
  };
}

/** Does not wait: an editor may take its time, or never answer. */
function endTerminal(terminal: TerminalHandle, hasEnded = false): void {
  if (!hasEnded) terminal.kill().catch(() => {});
  terminal.release().catch(() => {});
}

/** As for gmn's own children. An editor adds them to its own variables, so that keys and tokens among those are emptied. */
function listVariables({ env, shell }: ShellRun): { name: string; value: string }[] {
  const passed = shellEnvironment(env, shell);
  const hidden = Object.keys(env).filter((name) => !Object.hasOwn(passed, name) && isSecretKey(name));
  return [...Object.entries(passed), ...hidden.map((name) => [name, ''] as const)].map(([name, value]) => ({
    name,
    value,
  }));
}
