import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { ListedCommand } from '../../platform/process/background.ts';
import { joinCaptured } from '../../tools/command-output.ts';
import type { Chat } from '../chat.ts';
import { keepEnd } from '../shell.ts';
import type { SlashCommand } from './command.ts';

export const PS: SlashCommand = {
  name: 'ps',
  onlyShows: true,
  help: 'List the commands that the model has started in the background',
  async run(_, { run, view }) {
    const all = run.background?.list() ?? [];
    if (all.length === 0) return view.say('Nothing was started in the background.');
    await view.list(all.map((each) => [`${each.id}  ${describeState(each)}`, sanitize(each.command)]));
    if (all.some(isRunning)) await view.showNotice('To stop one: /stop <number>');
  },
};

export const STOP: SlashCommand = {
  name: 'stop',
  argument: '[n|all]',
  help: 'Stop a command in the background, by its number in /ps, or all of them',
  complete: (chat) => listRunning(chat).map(({ id, command }) => ({ insert: String(id), hint: command })),
  async run(argument, chat) {
    const running = listRunning(chat);
    if (running.length === 0) return chat.view.say('Nothing is running in the background.');
    for (const command of selectCommands(running, argument)) await stopCommand(chat, command);
  },
};

async function stopCommand({ attached, run, view }: Chat, { id, command }: ListedCommand): Promise<void> {
  const output = await run.background?.stop(id);
  await view.say(`Stopped ${id}: ${sanitize(command)}`);
  const printed = output === undefined ? '' : keepEnd(joinCaptured(output)).trimEnd();
  const rest = printed === '' ? '' : `\n\nWhat you have not read of its output:\n\n${printed}`;
  const note = `I stopped the command that you had started in the background as ${id}:\n\n${command}${rest}`;
  attached.notes = [...attached.notes, note];
}

function isRunning({ ending }: ListedCommand): boolean {
  return ending === undefined;
}

function listRunning({ run }: Chat): readonly ListedCommand[] {
  return (run.background?.list() ?? []).filter(isRunning);
}

/** The one of this number, all, or without either the only one there is. Throws AppError `usage`. */
function selectCommands(running: readonly ListedCommand[], argument: string): readonly ListedCommand[] {
  if (argument === 'all' || (argument === '' && running.length === 1)) return running;
  const found = running.filter(({ id }) => String(id) === argument);
  if (found.length > 0) return found;
  const what = argument === '' ? 'say which' : `no command ${sanitize(argument)} is running in the background`;
  const ids = running.map(({ id }) => id).join(', ');
  throw new AppError('usage', what, { hint: `Running: ${ids}. To see what they are: /ps` });
}

function describeState({ ending }: ListedCommand): string {
  if (ending === undefined) return 'running';
  return ending.signal === null ? `ended (${ending.exitCode})` : `ended (${ending.signal})`;
}
