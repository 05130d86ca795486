import { approvalPolicy, type Policy } from '../../approval/policy.ts';
import type { App } from '../../core/app.ts';
import { listStateDirectories } from '../../core/text/secrets.ts';
import { errorResult, type Tool } from '../../core/tool.ts';
import { realPath } from '../../platform/files/path.ts';
import { findUserHomes } from '../../platform/host.ts';
import { findProgram } from '../../platform/process/program-path.ts';
import { isPosixShell, type Shell } from '../../platform/process/shell-choice.ts';
import { parseRule, splitRules, toPermission } from '../../tools/rules.ts';
import { runShellCommand } from '../../tools/run-shell-command.ts';
import {
  holdIn,
  openOfficialRules,
  openProjectPermissions,
  readAllowedSetting,
  readCommandLimits,
  tryListPermissions,
} from './permissions.ts';
import type { ToolSetup } from './setup.ts';
import { chooseMode } from './toolbox.ts';

/** Decides about a command that is no tool call, such as one of a template, as about one of the shell tool; only in plan mode it may be asked about. */
export async function checkCommand(
  command: string,
  shell: Shell,
  options: Pick<ToolSetup, 'allowedTools' | 'approvalMode' | 'yolo'> & { readonly isInteractive?: boolean },
  app: App,
): Promise<ReturnType<Policy['rule']>> {
  const settings = await app.settings();
  const { kept } = tryListPermissions(openProjectPermissions(app));
  const { mode } = chooseMode(options, settings);
  const flags = splitRules(options.allowedTools ?? []).flatMap((entry) => toPermission(parseRule(entry)) ?? []);
  const policy = approvalPolicy({
    mode: mode === 'plan' ? 'default' : mode,
    allowed: [...holdIn(realPath(app.cwd) ?? app.cwd, [...flags, ...readAllowedSetting(settings).allowed]), ...kept],
    isTrusted: () => false,
    limits: readCommandLimits(settings),
    rules: (await openOfficialRules(app, options.isInteractive ?? false))?.rules,
  });
  const found = { command, isBackground: false, isPosix: isPosixShell(shell) };
  const tool: Tool = {
    ...{ name: runShellCommand.name, description: '', effect: 'execute', input: {} },
    findCommand: () => found,
    invoke: async () => errorResult('only decided about'),
  };
  const [{ resolveParts }, { createFence }, { createHarmCheck }] = await Promise.all([
    import('../../approval/command-parts.ts'),
    import('../../tools/workspace/fence.ts'),
    import('./sandbox/harm-check.ts'),
  ]);
  const directory = realPath(app.cwd) ?? app.cwd;
  const fence = await createFence({
    roots: [directory],
    denied: listStateDirectories(app.homes(), findUserHomes(app.env)),
  });
  const isProgram = (word: string): boolean => findProgram(word, app.env, directory) !== undefined;
  const parts = isPosixShell(shell) ? await resolveParts(command, directory, { fence, isProgram }) : undefined;
  const decision = policy.rule({ tool, args: {}, directory, parts, harm: createHarmCheck(app)(found) });
  const isRefused = decision.kind === 'ask' && decision.harm !== undefined && decision.denial !== undefined;
  return isRefused ? { kind: 'deny', ...decision.denial } : decision;
}
