import { AppError, EXIT_CODES, type Fault } from '../../core/error.ts';
import { type Abortable, abortable } from './abort.ts';

const FAULTS = {
  SIGINT: 'interrupted',
  SIGTERM: 'terminated',
  SIGHUP: 'hangup',
} as const satisfies Record<string, Fault>;

/** How long a run may wind down after a failure nobody foresaw: who knows what it has left undone. */
const LAST_WORDS_MS = 2000;

/**
 * A signal aborted by SIGINT, SIGTERM or SIGHUP, or by a failure nobody foresaw, with an AppError as its reason: the run
 * winds down and ends by itself. The second one ends the process at once; not so a hangup, which a shell and the system
 * may both send.
 */
export function interruptSignal(): AbortSignal {
  const controller = abortable();
  abortOnCrash(controller);
  for (const [name, fault] of Object.entries(FAULTS)) {
    process.on(name, () => {
      if (fault === 'hangup') closeLostTerminal();
      if (controller.signal.aborted && fault === 'hangup') return;
      if (controller.signal.aborted) process.exit(EXIT_CODES[fault]);
      controller.abort(new AppError(fault, `Interrupted (${name}).`));
    });
  }
  return controller.signal;
}

/** What came until then is kept, and the failure is told in the format of the run. */
function abortOnCrash(controller: Abortable): void {
  const [boot] = process.listeners('uncaughtException');
  const crash = (thrown: Error): void => {
    boot?.(thrown, 'uncaughtException');
    process.exit(EXIT_CODES.internal);
  };
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (thrown) => {
    if (controller.signal.aborted) return crash(thrown);
    const error = AppError.from(thrown);
    controller.abort(error);
    // A server that does not want to end may take longer than the run, which has told of it by then.
    const end = (): void => (error.isTold ? process.exit(error.exitCode) : crash(thrown));
    setTimeout(end, LAST_WORDS_MS).unref();
  });
}

/**
 * Node puts the terminal's modes back when it ends, and aborts if the terminal is gone. To be called when it may be: at the
 * end, descriptors that have lost theirs are closed, which Node respects.
 */
export function closeLostTerminal(): void {
  process.once('exit', () => {
    const { closeSync, fstatSync } = process.getBuiltinModule('node:fs');
    const { isatty } = process.getBuiltinModule('node:tty');
    for (const descriptor of [0, 1, 2]) {
      try {
        if (fstatSync(descriptor).isCharacterDevice() && !isatty(descriptor)) closeSync(descriptor);
      } catch {
        // It is closed already.
      }
    }
  });
}
