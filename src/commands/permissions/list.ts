import { formatTable, type PrintOptions, printReport } from '../../app/report.ts';
import { type KeptPermission, permissionsFilePath, readPermissionsFile } from '../../config/permissions-file.ts';
import type { App } from '../../core/app.ts';
import { formatPermission } from '../../core/permission.ts';
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
  const text = rows.length === 0 ? none : formatTable(rows);
  const notices =
    others > 0 ? [`${others} more of other directories; to see them all: gmn permissions list --all`] : [];
  const json = { permissions: listed.map(({ permission, ...kept }) => ({ ...kept, ...permission })), file };
  return printReport({ text, json, notices: options.json ? [] : notices }, options, app);
}

/** In the order of their numbers. */
export function listKept({ all = false }: ListOptions, app: App): readonly KeptPermission[] {
  const here = realPath(app.cwd) ?? app.cwd;
  const kept = readPermissionsFile(permissionsFilePath(app.homes().gmn));
  return all ? kept : kept.filter(({ project }) => project === here);
}
