import { AppError, FAULTS, type Fault } from '../../core/error.ts';
import { createAbortable } from './abort.ts';

const FAULT_BY_SIGNAL: Readonly<Record<string, Fault>> = {
  SIGINT: 'interrupted',
  SIGTERM: 'terminated',
  SIGHUP: 'hangup',
  // Ctrl+Break, on Windows only; elsewhere it is never sent.
  SIGBREAK: 'interrupted',
};

/**
 * How long a run may still wind down after a second signal. The second one may be the same Ctrl+C: the terminal sends it to
 * all processes, and npm and other wrappers pass it on. The last line of the output must still be written then.
 */
const GRACE_MS = 100;

const WIND_DOWN_MS = 2000;

/**
 * A signal that aborts on SIGINT, SIGTERM, SIGHUP or an uncaught exception, with an AppError as its reason, so that the
 * run winds down by itself. A second one exits soon, except SIGHUP, which both a shell and the system may send.
 */
export function createInterruptSignal(): AbortSignal {
  const controller = createAbortable();
  abortOnCrash(controller);
  for (const [name, fault] of Object.entries(FAULT_BY_SIGNAL)) {
    process.on(name, () => {
      if (fault === 'hangup') closeLostTerminal();
      if (controller.signal.aborted) {
        if (fault !== 'hangup') setTimeout(() => process.exit(FAULTS[fault].exitCode), GRACE_MS).unref();
        return;
      }
      if (fault === 'interrupted') process.once('exit', skipLookups);
      controller.abort(new AppError(fault, `Interrupted (${name}).`));
    });
  }
  return controller.signal;
}

/**
 * If a host name is being looked up, ends the process with SIGINT, which shells report like the exit code. Any other exit of
 * Node waits for the lookup, which takes half a minute if no name server answers, and ignores a second Ctrl+C.
 */
function skipLookups(exitCode: number): void {
  if (exitCode !== FAULTS.interrupted.exitCode || process.platform === 'win32') return;
  if (!process.getActiveResourcesInfo().includes('GetAddrInfoReqWrap')) return;
  process.removeAllListeners('SIGINT');
  process.kill(process.pid, 'SIGINT');
}

function abortOnCrash(controller: AbortController): void {
  const [boot] = process.listeners('uncaughtException');
  const crash = (thrown: Error): void => {
    boot?.(thrown, 'uncaughtException');
    process.exit(FAULTS.internal.exitCode);
  };
  if (boot !== undefined) process.off('uncaughtException', boot);
  process.on('uncaughtException', (thrown) => {
    if (controller.signal.aborted) return crash(thrown);
    const error = AppError.from(thrown);
    controller.abort(error);
    // A server may take longer to stop than the run, which has reported the error by then.
    const end = (): void => (error.isReported ? process.exit(error.exitCode) : crash(thrown));
    setTimeout(end, WIND_DOWN_MS).unref();
  });
}

/** At exit, Node crashes if the terminal is gone. Closes the descriptors that have lost it: Node skips these. */
export function closeLostTerminal(): void {
  process.once('exit', () => {
    const { closeSync, fstatSync } = process.getBuiltinModule('node:fs');
    const { isatty } = process.getBuiltinModule('node:tty');
    for (const descriptor of [0, 1, 2]) {
      try {
        if (fstatSync(descriptor).isCharacterDevice() && !isatty(descriptor)) closeSync(descriptor);
      } catch {}
    }
  });
}
