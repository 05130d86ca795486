import type { Agent } from '../../agent/agent.ts';
import { approvalPolicy } from '../../approval/policy.ts';
import { secretFiles } from '../../approval/targets.ts';
import { AppError } from '../../core/error.ts';
import type { TurnEvent } from '../../core/event.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { Approve, Effect } from '../../core/tool.ts';
import { findBuiltin, listNamesByEffect } from '../../tools/builtins.ts';
import type { Workspace } from '../../tools/workspace/workspace.ts';
import type { ToolOptions } from '../toolbox.ts';

export interface Permissions {
  readonly write: boolean;
  readonly shell: boolean;
}

const FLAGS: Readonly<Partial<Record<Effect, string>>> = { write: '--allow-write', execute: '--allow-shell' };

export function toToolOptions({ write, shell }: Permissions): ToolOptions {
  // The server's flags decide what is allowed, not the approval mode in the user's settings.
  const fixed = { outputFormat: 'json', approvalMode: 'default' } as const;
  const named = ['read', ...(write ? listNamesByEffect('write') : []), ...listNamesByEffect('execute')];
  if (shell) return { ...fixed, tools: named.join(',') };
  // A set instead of names, so that no writing tool is offered in a home directory even if it is a root.
  return { ...fixed, tools: write ? 'edit' : 'read' };
}

/** Nobody can be asked, so what is not allowed is denied at once, and added to `refused`. */
export function denyQuestions<Kind extends Agent>(
  agent: Kind,
  { permissions, workspace, refused }: { permissions: Permissions; workspace: Workspace; refused: string[] },
): Kind {
  const { findSecret } = secretFiles(workspace);
  const policy = approvalPolicy({
    mode: permissions.write ? 'auto_edit' : 'default',
    allowedTools: permissions.shell ? listNamesByEffect('execute') : [],
    isTrusted: () => false,
  });
  const approve: Approve = async (tool, call) => {
    const secret = await findSecret(tool, call.args);
    if (policy.rule({ tool, args: call.args, secret }).kind === 'run') return { kind: 'run' };
    const why = secret === undefined ? 'it is not allowed here' : `${sanitize(secret)} may hold keys or passwords`;
    refused.push(`${tool.name}: ${why}`);
    return {
      kind: 'deny',
      reason: `${tool.name} was not run: ${why}, and there is nobody to ask. Continue without it.`,
    };
  };
  return { ...agent, approve };
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
