import type { Agent } from '../../agent/agent.ts';
import { approvalPolicy } from '../../approval/policy.ts';
import { secretFiles } from '../../approval/targets.ts';
import { AppError } from '../../core/error.ts';
import type { TurnEvent } from '../../core/event.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { Approve } from '../../core/tool.ts';
import type { Workspace } from '../../tools/workspace/workspace.ts';
import type { ToolOptions } from '../toolbox.ts';

export interface Permissions {
  readonly write: boolean;
  readonly shell: boolean;
}

const SHELL = 'run_shell_command';
const FLAGS: Readonly<Record<string, string>> = {
  write_file: '--allow-write',
  edit_file: '--allow-write',
  [SHELL]: '--allow-shell',
};

export function toToolOptions({ write, shell }: Permissions): ToolOptions {
  // The server's flags decide what is allowed, not the approval mode in the user's settings.
  const fixed = { outputFormat: 'json', approvalMode: 'default' } as const;
  if (shell) return { ...fixed, tools: `read${write ? ',write_file,edit_file' : ''},${SHELL}` };
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
    allowedTools: permissions.shell ? [SHELL] : [],
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
  const flag = Object.hasOwn(FLAGS, event.name) ? FLAGS[event.name] : undefined;
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
