import { AppError, EXIT_CODES, type Fault } from '../core/error.ts';

const FAULTS = {
  SIGINT: 'interrupted',
  SIGTERM: 'terminated',
  SIGHUP: 'hangup',
} as const satisfies Record<string, Fault>;

/**
 * A signal aborted by SIGINT, SIGTERM or SIGHUP, with an AppError as its reason: the run winds down and ends by itself.
 * The second one ends the process at once; not so a hangup, which a shell and the system may both send.
 */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
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
