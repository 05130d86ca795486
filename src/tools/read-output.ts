import { BACKGROUND_INPUT, type BackgroundContext, toBackgroundResult } from './background-command.ts';
import { defineTool } from './define.ts';
import { runShellCommand } from './run-shell-command.ts';

const WAIT_MS = 10_000;

export const readOutput = defineTool({
  name: 'read_output',
  claudeNames: ['BashOutput'],
  set: 'all',
  companionOf: runShellCommand.name,
  about: 'reads what runs in the background',
  description:
    'Gives what a background command has printed since you last looked, and whether it still runs. Waits up to ' +
    `${WAIT_MS / 1000} seconds for something new.`,
  effect: 'read',
  input: BACKGROUND_INPUT,
  handle: (context: BackgroundContext) => {
    let reads = 0;
    return {
      // Reading again is not a loop: there may be more output by then.
      distinguish: () => ({ reads }),
      run: async ({ id }, signal) => {
        reads += 1;
        return toBackgroundResult(id, await context.background.read(id, WAIT_MS, signal), context);
      },
    };
  },
});
