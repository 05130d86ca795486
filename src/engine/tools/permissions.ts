import { join } from 'node:path';
import type { CommandLimits } from '../../approval/grants.ts';
import type { OfficialRules } from '../../approval/official-rules.ts';
import { readSetting } from '../../config/keys.ts';
import { systemDirectory } from '../../config/layers.ts';
import {
  addPermission,
  type KeptPermission,
  permissionsFilePath,
  readPermissionsFile,
  removePermissions,
} from '../../config/permissions-file.ts';
import type { App, Settings } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { Permission } from '../../core/permission.ts';
import { isRelativeProgram } from '../../core/text/command-line.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { pathExists, realPath } from '../../platform/files/path.ts';
import { findToolName } from '../../tools/builtins.ts';
import { listCommandRules, parseRule, toPermission } from '../../tools/rules.ts';

export interface SettingsPermissions {
  readonly allowed: readonly Permission[];
  /** Those of `tools.allowed` that may be about tools of MCP servers. */
  readonly patterns: readonly string[];
  readonly notices: readonly string[];
}

/** `tools.allowed`, of the user and the machine only: a folder may not set it. */
export function readAllowedSetting({ document = {} }: Pick<Settings, 'document'>): SettingsPermissions {
  const entries = (readSetting(document, 'tools.allowed') ?? []).map((entry) => entry.trim());
  const rules = entries.map((entry) => ({ entry, rule: parseRule(entry) }));
  const unclear = rules.filter(({ rule }) => rule.command !== undefined && toPermission(rule) === undefined);
  return {
    allowed: rules.flatMap(({ rule }) => toPermission(rule) ?? []),
    patterns: rules
      .filter(({ rule }) => rule.command === undefined && findToolName(rule.name) === undefined)
      .map(({ entry }) => entry),
    notices: unclear.map(
      ({ entry }) =>
        `tools.allowed: ${sanitize(entry)} allows nothing: it takes run_shell_command with the first words of a command, like run_shell_command(git status)`,
    ),
  };
}

export function readCommandLimits({ document = {} }: Pick<Settings, 'document'>): CommandLimits {
  const core = listCommandRules(readSetting(document, 'tools.core') ?? []);
  const exclude = listCommandRules(readSetting(document, 'tools.exclude') ?? []);
  const isLimited = core.length > 0 && core.every(({ command }) => command !== undefined);
  return {
    core: isLimited ? core.flatMap(({ words }) => (words === undefined ? [] : [words])) : undefined,
    exclude: exclude.flatMap(({ words }) => (words === undefined ? [] : [words])),
  };
}

/**
 * The policies of the official CLI, of the machine and of the user; undefined if there are none, as for most people. A broken one
 * is reported in every run.
 */
export async function openOfficialRules(
  app: Pick<App, 'env' | 'homes' | 'settings'>,
  isInteractive: boolean,
): Promise<{ readonly rules: OfficialRules; readonly notices: readonly string[] } | undefined> {
  const { document = {} } = await app.settings();
  const named = [readSetting(document, 'policyPaths'), readSetting(document, 'adminPolicyPaths')];
  const places = [systemDirectory(), app.homes().gemini].map((directory) => join(directory, 'policies'));
  if (named.every((paths) => paths === undefined) && !places.some(pathExists)) return undefined;
  const [{ readPolicies }, { createOfficialRules }] = await Promise.all([
    import('../../config/policies.ts'),
    import('../../approval/official-rules.ts'),
  ]);
  const read = await readPolicies(app);
  const broken = read.broken.map(
    ({ file, why }) =>
      `the policy ${sanitize(file)} cannot be read: ${sanitize(why)}. Until it can, every call that does more than read is asked about`,
  );
  return {
    rules: createOfficialRules(read, { isInteractive, findToolName }),
    notices: [...read.ignored.map((text) => sanitize(text)), ...broken],
  };
}

/** What was kept for the project of a run: its working directory, by its real path. */
export interface ProjectPermissions {
  /** Read anew each time. Throws AppError `config` if the file is damaged. */
  list(): readonly KeptPermission[];
  keep(permission: Permission): Promise<void>;
  remove(kept: readonly KeptPermission[]): Promise<void>;
}

export function openProjectPermissions(
  app: Pick<App, 'cwd' | 'homes' | 'clock' | 'signal'>,
  roots: readonly string[] = [app.cwd],
): ProjectPermissions {
  const file = permissionsFilePath(app.homes().gmn);
  const project = realPath(app.cwd) ?? app.cwd;
  const listIn = (places?: readonly string[]): readonly KeptPermission[] =>
    readPermissionsFile(file, places).filter((kept) => kept.project === project);
  return {
    // Where a file in the project would grant nothing, there is nothing to refuse: in the home directory it is the user's own.
    list: () => (listIn().length === 0 ? [] : listIn(roots)),
    async keep(permission) {
      readPermissionsFile(file, roots);
      await addPermission(file, { project, permission, time: new Date(app.clock.now()).toISOString() }, app);
    },
    remove: (kept) => removePermissions(file, kept, app),
  };
}

/** Of one program that is named by a path from a directory: elsewhere it is another one. */
export function holdIn(directory: string, permissions: readonly Permission[]): readonly Permission[] {
  return permissions.map((permission) =>
    permission.kind === 'prefix' && isRelativeProgram(permission.words[0] as string)
      ? { ...permission, directory }
      : permission,
  );
}

/** None if the file is damaged; a notice says so. Words that were kept without a directory hold in that of the project. */
export function tryListPermissions(permissions: ProjectPermissions): {
  readonly kept: readonly Permission[];
  readonly notices: readonly string[];
} {
  try {
    const kept = permissions
      .list()
      .map(({ project, permission }) =>
        permission.kind === 'prefix' ? { directory: project, ...permission } : permission,
      );
    return { kept, notices: [] };
  } catch (thrown) {
    const { message, hint } = AppError.from(thrown);
    return { kept: [], notices: [`${message}. ${hint ?? ''}`.trimEnd()] };
  }
}
