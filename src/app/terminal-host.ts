import type { RunPaused, WithPerson } from '../approval/person.ts';
import type { App } from '../core/app.ts';
import { loadOnce } from '../core/async.ts';
import type { Elicit } from '../core/elicitation.ts';
import type { Notify } from '../core/event.ts';
import type { Host } from '../engine/host.ts';
import { addOutput, noteProgress, withoutSpinner } from '../render/spinner.ts';

interface TerminalHostOptions {
  readonly notify: Notify;
  /** In other formats nobody is asked. */
  readonly isText: boolean;
  /** Runs a question while the terminal belongs to the person. Default: it does anyway. */
  readonly runPaused?: RunPaused;
}

/** The host of a run for the person at this terminal. What asks is loaded when there is something to ask. */
export function createTerminalHost({ io, env }: App, options: TerminalHostOptions): Host {
  const { err } = io;
  const { notify, isText, runPaused = (work) => work() } = options;
  const canAsk = isText && err.isTerminal;
  const meet = loadOnce(async (): Promise<WithPerson> => {
    const { createTerminalPerson } = await import('../approval/person.ts');
    return createTerminalPerson({ err, env, runPaused });
  });
  const loadElicit = loadOnce(async (): Promise<Elicit | undefined> => {
    const { createTerminalElicit } = await import('../approval/elicitation.ts');
    return createTerminalElicit(err, (work) => runPaused(() => withoutSpinner(err, work)));
  });
  return {
    notify,
    withPerson: canAsk ? async (work) => (await meet())(work) : undefined,
    explainDenial: async ({ tool }, scope) =>
      (await import('../approval/policy.ts')).nonInteractiveDenial(tool, scope, isText),
    elicit: canAsk ? async (...question) => (await loadElicit())?.(...question) ?? { action: 'cancel' } : undefined,
    showsChanges: isText,
    showOutput: (text) => addOutput(err, text),
    showProgress: (text) => noteProgress(err, text),
  };
}
