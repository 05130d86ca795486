import { AppError } from '../../core/error.ts';
import { formatPermission, isSamePermission } from '../../core/permission.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { RunFacts } from '../../engine/run.ts';
import { openProjectPermissions } from '../../engine/tools/permissions.ts';
import { findMode } from '../approval-modes.ts';
import { type Chat, changeRun } from '../chat.ts';
import type { SlashCommand } from './command.ts';

type Grant = RunFacts['granted'][number];

interface Listed {
  readonly grant: Grant;
  readonly isKept: boolean;
}

export const PERMISSIONS: SlashCommand = {
  name: 'permissions',
  argument: '[remove n]',
  help: 'List what runs without asking, in this project and in this chat; remove n withdraws it',
  complete: (chat) =>
    listPermissions(chat).map(({ grant }, index) => ({ insert: `remove ${index + 1}`, hint: formatGrant(grant) })),
  async run(argument, chat) {
    const listed = listPermissions(chat);
    if (argument !== '') return removePermission(chat, requireListed(listed, argument));
    if (listed.length === 0)
      await chat.view.say('Nothing was allowed for later. At a question, ? explains the keys that do that.');
    const rows = listed.map(({ grant, isKept }, index) => {
      return [`${index + 1}  ${isKept ? 'kept for this project' : 'in this chat'}`, formatGrant(grant)] as const;
    });
    if (rows.length === 0) return;
    await chat.view.list(rows);
    await chat.view.showNotice('To remove one: /permissions remove <number>');
  },
};

/** Throws AppError `config` if the file is damaged. */
function listPermissions({ app, run }: Chat): readonly Listed[] {
  const kept = openProjectPermissions(app)
    .list()
    .map(({ permission }) => permission);
  const others = run.facts.granted.filter((grant) => !kept.some((permission) => isSamePermission(permission, grant)));
  return [...kept.map((grant) => ({ grant, isKept: true })), ...others.map((grant) => ({ grant, isKept: false }))];
}

function requireListed(listed: readonly Listed[], argument: string): Grant {
  const number = /^remove\s+(\d+)$/.exec(argument)?.[1];
  const found = number === undefined ? undefined : listed[Number(number) - 1];
  if (found !== undefined) return found.grant;
  throw new AppError('usage', `there is no permission "${sanitize(argument)}"`, {
    hint: 'To see them with their numbers: /permissions. To remove the first: /permissions remove 1',
  });
}

async function removePermission(chat: Chat, removed: Grant): Promise<void> {
  const { app, run, view } = chat;
  const project = openProjectPermissions(app);
  await project.remove(project.list().filter(({ permission }) => isSamePermission(permission, removed)));
  const { granted } = run.facts;
  granted.splice(0, granted.length, ...granted.filter((grant) => !isSamePermission(grant, removed)));
  const isMode = removed.kind === 'edits' && findMode(run) === 'auto_edit';
  await changeRun(chat, isMode ? { tools: { approvalMode: 'default' } } : {});
  await view.say(`Asked about again: ${formatGrant(removed)}`);
}

function formatGrant(grant: Grant): string {
  if (grant.kind === 'file') return `changes to ${sanitize(grant.path)}`;
  return grant.kind === 'secret' ? `reading ${sanitize(grant.path)}` : formatPermission(grant);
}
