import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { wrapText } from '../../core/text/width.ts';
import { type Chat, changeRun } from '../chat.ts';
import type { SlashCommand } from './command.ts';

const OFF = 'Commands are not confined: they may do all that you may.';

export const SANDBOX: SlashCommand = {
  name: 'sandbox',
  argument: '[on|off|hosts]',
  help: 'Show how commands are confined, turn that on or off, or name the hosts that they may reach',
  complete: () => [
    { insert: 'on', hint: 'the workspace writable, home hidden, no network' },
    { insert: 'off', hint: 'commands may do all that you may' },
    { insert: 'all', hint: 'confined, with the network' },
  ],
  async run(argument, chat) {
    if (argument !== '') {
      await changeRun(chat, { tools: toChange(argument) });
      // Servers of the folder run as it was said when they were started.
      const { servers = [] } = await chat.app.settings();
      if (servers.some(({ scope }) => scope === 'workspace')) await chat.run.reloadServers();
    }
    const { sandbox, setup } = chat.run.facts;
    const wanted = setup.tools.sandbox ?? 'off';
    const unused = wanted === 'off' ? OFF : 'No tool can run a command now.';
    await say(chat, sandbox === undefined ? unused : `${sandbox.summary}. ${sandbox.rules}`);
  },
};

function toChange(argument: string) {
  if (argument === 'off') return { sandbox: 'off', sandboxNet: undefined };
  if (argument === 'on') return { sandbox: 'auto', sandboxNet: undefined };
  if (argument !== 'all' && !argument.includes('.')) {
    throw new AppError('usage', `/sandbox: ${sanitize(argument)} is neither on, off nor a host`, {
      hint: 'Examples: /sandbox on, /sandbox packages.example.org,*.example.com, /sandbox off',
    });
  }
  return { sandbox: 'auto', sandboxNet: argument.replaceAll(/\s+/g, ',') };
}

async function say({ view }: Chat, text: string): Promise<void> {
  await view.say(wrapText(sanitize(text), view.columns));
}
