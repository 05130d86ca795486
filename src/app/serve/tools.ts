import type { Agent } from '../../agent/agent.ts';
import type { ResolvedCall } from '../../approval/grants.ts';
import type { Denial } from '../../approval/policy.ts';
import { AppError } from '../../core/error.ts';
import type { TurnEvent } from '../../core/event.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { Effect } from '../../core/tool.ts';
import type { ToolSetup } from '../../engine/tools/setup.ts';
import { findBuiltin, listNamesByEffect } from '../../tools/builtins.ts';
import type { Workspace } from '../../tools/workspace/workspace.ts';

export interface Permissions {
  readonly write: boolean;
  readonly shell: boolean;
}

const FLAGS: Readonly<Partial<Record<Effect, string>>> = { write: '--allow-write', execute: '--allow-shell' };

/** The server's flags decide what is allowed: neither the approval mode nor what the user has allowed for themselves counts. */
export function toServedTools({ write, shell }: Permissions): ToolSetup {
  const own = { approvalMode: write ? 'auto_edit' : 'default', ignoresPermissions: true } as const;
  // A set instead of names, so that no writing tool is offered in a home directory even if it is a root.
  if (!shell) return { ...own, tools: write ? 'edit' : 'read' };
  const execute = listNamesByEffect('execute');
  const named = ['read', ...(write ? listNamesByEffect('write') : []), ...execute];
  return { ...own, tools: named.join(','), allowedTools: execute };
}

export function denyServed({ tool, args, secret, isGuarded }: ResolvedCall): Denial {
  const guarded = isGuarded
    ? `${sanitize(tool.findPath?.(args) ?? 'it')} instructs models or is run by other programs`
    : 'it is not allowed here';
  const advice = secret === undefined ? guarded : `${sanitize(secret)} may hold keys or passwords`;
  const reason = `${tool.name} was not run: ${advice}, and there is nobody to ask. Continue without it.`;
  return { reason, advice };
}

export function reportUnoffered(event: TurnEvent, { tools }: Agent, refused: string[]): void {
  if (event.type !== 'call' || tools.some(({ name }) => name === event.name)) return;
  const flag = FLAGS[findBuiltin(event.name)?.effect ?? 'read'];
  const hint = flag === undefined ? '' : `; whoever runs the server can allow it with ${flag}`;
  refused.push(`${sanitize(event.name.slice(0, 80))}: not offered by this server${hint}`);
}

/** No user sees a refusal here, so each one is reported. */
export function reportRefusals(workspace: Workspace, report: (message: string) => void): Workspace {
  const refuse = (thrown: unknown): never => {
    if (thrown instanceof AppError) report(sanitize(thrown.message));
    throw thrown;
  };
  /** A missing file is not a refusal; only a path that may not be named is reported. */
  const reportUnreadable =
    (path: string) =>
    async (thrown: unknown): Promise<never> => {
      await workspace.place(path, 'read').catch(refuse);
      throw thrown;
    };
  return {
    ...workspace,
    open: (path) => workspace.open(path).catch(reportUnreadable(path)),
    openDirectory: (path) => workspace.openDirectory(path).catch(reportUnreadable(path)),
    current: (path, extent, draft) => workspace.current(path, extent, draft).catch(refuse),
    write: (path, bytes) => workspace.write(path, bytes).catch(refuse),
  };
}
