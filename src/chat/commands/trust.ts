import { join } from 'node:path';
import { createTrustCheck } from '../../config/context.ts';
import { type FolderReview, formatApproved, rememberTrust, reviewFolder } from '../../config/folder-trust.ts';
import type { TrustDecision } from '../../config/trust.ts';
import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { pathExists } from '../../platform/files/path.ts';
import { type Chat, changeRun } from '../chat.ts';
import type { SlashCommand } from './command.ts';

export const TRUST: SlashCommand = {
  name: 'trust',
  argument: '[yes]',
  help: 'Show whether this folder is trusted and what it brings; yes trusts it',
  complete: () => [{ insert: 'yes', hint: 'trust this folder' }],
  async run(argument, chat) {
    if (argument === 'yes') return trustHere(chat, await reviewFolder(chat.app.cwd, chat.app));
    if (argument !== '') {
      throw new AppError('usage', `/trust takes yes, not "${sanitize(argument)}"`, {
        hint: 'To take it back, in a shell: gmn trust --remove',
      });
    }
    const { app, lines, view } = chat;
    const { isTrusted, why } = await decideFolderTrust(chat);
    const review = await reviewFolder(app.cwd, app);
    const { lines: brought, items, notices } = review;
    await view.say(
      [
        `Is ${sanitize(app.cwd)} trusted? ${isTrusted ? 'Yes' : 'No'}: ${sanitize(why)}.`,
        brought.length === 0 ? 'It brings nothing that would need trust.' : 'It brings:',
        ...[...brought, ...notices].map((line) => `  ${sanitize(line)}`),
      ].join('\n'),
    );
    if (brought.length === 0 || (isTrusted && items.every(({ status }) => status === 'unchanged'))) return;
    if (lines.pick === undefined) return view.say('To trust it: /trust yes');
    const taken = await lines.pick({
      title: 'trust this folder',
      candidates: [
        { insert: 'no', hint: 'what it brings stays unused' },
        { insert: 'yes', hint: 'its instructions, MCP servers, hooks, skills and agents are used' },
      ],
    });
    if (taken?.insert === 'yes') await trustHere(chat, review, { isShown: true });
  },
};

/** As it is on disk now. */
async function decideFolderTrust({ app: { env, cwd, homes, settings } }: Chat): Promise<TrustDecision> {
  return createTrustCheck({ env, cwd, homes: homes(), settings: await settings() })(cwd);
}

/** Call after the folder's own context file has changed. Returns whether it warned. */
export async function warnIfUntrusted(chat: Chat): Promise<boolean> {
  const { isTrusted } = await decideFolderTrust(chat);
  if (!isTrusted) await chat.view.showNotice('It is not used until you trust this folder: /trust');
  return !isTrusted;
}

/** `isShown`: the user has seen what the folder brings. */
async function trustHere(chat: Chat, review: FolderReview, { isShown = false } = {}): Promise<void> {
  const { app, run, view } = chat;
  const { folder, items, notices } = review;
  await rememberTrust([review], app);
  const { isTrusted, why } = await decideFolderTrust(chat);
  await view.say(`Trusted: ${sanitize(folder)}`);
  if (!isShown) {
    await view.say(formatApproved(review));
    for (const notice of notices) await view.showNotice(sanitize(notice));
  }
  await view.showNotice('To undo this, in a shell: gmn trust --remove');
  if (!isTrusted) await view.showNotice(`It counts as untrusted all the same: ${sanitize(why)}.`);
  if (items.some(({ item }) => item.kind === 'servers')) await run.reloadServers();
  // Its context files are in force with the next prompt.
  await changeRun(chat, {});
  if (pathExists(join(folder, '.gemini', 'settings.json'))) {
    await view.showNotice('Other settings of the folder count from the next chat on.');
  }
}
