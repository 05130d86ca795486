import { formatTable, type PrintOptions, printReport } from '../../app/report.ts';
import { type KeptPermission, permissionsFilePath, readPermissionsFile } from '../../config/permissions-file.ts';
import { readPolicies } from '../../config/policies.ts';
import type { App } from '../../core/app.ts';
import type { JsonObject } from '../../core/json.ts';
import { formatPermission } from '../../core/permission.ts';
import type { PolicyRule } from '../../core/policy-rule.ts';
import { shortenPath } from '../../core/text/path.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { realPath } from '../../platform/files/path.ts';

export interface ListOptions extends PrintOptions {
  readonly all?: boolean;
}

/** Lists what was kept for this directory, or for all: with the numbers that `remove` takes. Throws AppError `config`. */
export async function run(options: ListOptions, app: App): Promise<number> {
  const file = permissionsFilePath(app.homes().gmn);
  const listed = listKept(options, app).map((kept, index) => ({ number: index + 1, ...kept }));
  const rows = listed.map(({ number, project, permission, time }) => [
    String(number),
    formatPermission(permission),
    time.slice(0, 10),
    ...(options.all ? [sanitize(shortenPath(project, app.env.HOME))] : []),
  ]);
  const others = options.all ? 0 : readPermissionsFile(file).length - listed.length;
  const none = `Nothing is allowed ${options.all ? 'anywhere' : 'in this directory'} without asking.\n`;
  const kept = rows.length === 0 ? none : formatTable(rows);
  const { rules, broken, ignored } = await readPolicies(app);
  const limiting = rules.filter(({ decision }) => decision !== 'allow');
  const limits = limiting.map((rule) => [
    rule.decision === 'deny' ? 'denied' : 'asked',
    sanitize(formatRule(rule)),
    `${sanitize(shortenPath(rule.file, app.env.HOME))}, rule ${rule.number}`,
  ]);
  const text = limits.length === 0 ? kept : `${kept}\nPolicies, which hold in every mode:\n${formatTable(limits)}`;
  const more = others > 0 ? [`${others} more of other directories; to see them all: gmn permissions list --all`] : [];
  const faults = [
    ...broken.map((each) => `the policy ${sanitize(each.file)} cannot be read: ${sanitize(each.why)}`),
    ...ignored.map((each) => sanitize(each)),
  ];
  const json = {
    permissions: listed.map(({ permission, ...others }) => ({ ...others, ...permission })),
    file,
    policies: limiting.map(toPolicyJson),
  };
  return printReport({ text, json, notices: options.json ? faults : [...more, ...faults] }, options, app);
}

/** In the order of their numbers. */
export function listKept({ all = false }: ListOptions, app: App): readonly KeptPermission[] {
  const here = realPath(app.cwd) ?? app.cwd;
  const kept = readPermissionsFile(permissionsFilePath(app.homes().gmn));
  return all ? kept : kept.filter(({ project }) => project === here);
}

/** `run_shell_command: git push · yolo` */
function formatRule(rule: PolicyRule): string {
  const { toolNames, mcpName, commandPrefixes, commandRegex, argsPattern, modes, subagent, interactive } = rule;
  const condition = commandPrefixes?.join(', ') ?? commandRegex ?? argsPattern;
  const tool = mcpName === undefined ? toolNames.join(', ') : `${mcpName}: ${toolNames.join(', ')}`;
  const where = [
    ...(modes ?? []),
    ...(subagent === undefined ? [] : [`sub-agent ${subagent}`]),
    ...(interactive === undefined ? [] : [interactive ? 'interactive' : 'not interactive']),
  ];
  return [condition === undefined ? tool : `${tool}: ${condition}`, ...where].join(' · ');
}

function toPolicyJson({ file, number, decision, priority, message, ...conditions }: PolicyRule): JsonObject {
  const defined = Object.entries(conditions).filter(([, value]) => value !== undefined);
  return { file, rule: number, decision, priority, message, ...Object.fromEntries(defined) };
}
