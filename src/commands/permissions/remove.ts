import { printReport, type WordOptions } from '../../app/report.ts';
import { permissionsFilePath, removePermissions } from '../../config/permissions-file.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { formatPermission } from '../../core/permission.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { type ListOptions, listKept } from './list.ts';

/** Removes permissions by the numbers of `gmn permissions list`, with `--all` of that list. Throws AppError; then none is removed. */
export async function run(options: WordOptions & ListOptions, app: App): Promise<number> {
  const kept = listKept(options, app);
  const removed = options.args.map((word) => {
    const found = /^\d+$/.test(word) ? kept[Number(word) - 1] : undefined;
    if (found !== undefined) return found;
    const command = `gmn permissions list${options.all ? ' --all' : ''}`;
    throw new AppError('usage', `there is no permission ${sanitize(word)}`, {
      hint: `To see their numbers: ${command}`,
    });
  });
  const file = permissionsFilePath(app.homes().gmn);
  await removePermissions(file, removed, app);
  const lines = removed.map(
    ({ permission, project }) => `Asked about again in ${sanitize(project)}: ${formatPermission(permission)}\n`,
  );
  const json = { removed: removed.map(({ permission, ...rest }) => ({ ...rest, ...permission })), file };
  return printReport({ text: lines.join(''), json }, options, app);
}
