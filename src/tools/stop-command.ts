import { BACKGROUND_INPUT, type BackgroundContext, toBackgroundResult } from './background-command.ts';
import { defineTool } from './define.ts';
import { runShellCommand } from './run-shell-command.ts';

export const stopCommand = defineTool({
  name: 'stop_command',
  claudeNames: ['KillShell', 'KillBash'],
  set: 'all',
  companionOf: runShellCommand.name,
  about: 'ends what runs in the background',
  description: 'Ends a background command and everything it has started, and gives what it printed last.',
  effect: 'read',
  input: BACKGROUND_INPUT,
  handle: (context: BackgroundContext) => ({
    run: async ({ id }) => toBackgroundResult(id, await context.background.stop(id), context),
  }),
});
