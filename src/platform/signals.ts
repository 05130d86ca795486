import { AppError, EXIT_CODES, type Fault } from '../core/error.ts';

const FAULTS = {
  SIGINT: 'interrupted',
  SIGTERM: 'terminated',
  SIGHUP: 'hangup',
} as const satisfies Record<string, Fault>;

/**
 * A signal aborted by SIGINT, SIGTERM or SIGHUP, with an AppError as its reason: the run winds down and ends by itself.
 * The second one ends the process at once.
 */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  for (const [name, fault] of Object.entries(FAULTS)) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(EXIT_CODES[fault]);
      controller.abort(
        new AppError(fault, `Interrupted (${name}).`, {
          hint: 'What had arrived is kept. Run it again for the whole answer.',
        }),
      );
    });
  }
  return controller.signal;
}
