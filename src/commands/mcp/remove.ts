import { type PrintOptions, printReport } from '../../app/report.ts';
import { requireArguments } from '../../app/servers/arguments.ts';
import { editSettings } from '../../config/settings-edit.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';
import {
  definesServer,
  listWritableFiles,
  readRoster,
  readSettingsFile,
  requireEntry,
  requireWritableFile,
  resolveSettingsFile,
  type SettingsFile,
  type WritableScope,
} from '../../engine/tools/servers/roster.ts';

interface McpRemoveOptions extends PrintOptions {
  readonly args: readonly string[];
  readonly scope?: WritableScope;
}

/** Without `--scope`, one file only may define the server. */
export async function run(options: McpRemoveOptions, app: App): Promise<number> {
  const [name = ''] = requireArguments(options.args, 1, 'mcp remove');
  const place = await requireDefiningFile(name, options.scope, app);
  const { scope, file } = place;
  await editSettings(resolveSettingsFile(place, app), app, () => [{ path: ['mcpServers', name] }]);
  const text = `Removed ${sanitize(name)} from ${file}\n`;
  await printReport({ text, json: { name, scope, file, removed: true }, notices: [] }, options, app);
  return 0;
}

async function requireDefiningFile(name: string, scope: WritableScope | undefined, app: App): Promise<SettingsFile> {
  const candidates = scope === undefined ? listWritableFiles(app) : [requireWritableFile(scope, app)];
  const found: SettingsFile[] = [];
  for (const place of candidates) if (definesServer(await readSettingsFile(place.file), name)) found.push(place);
  const [first, ...others] = found;
  if (first === undefined) throw await notDefinedError(name, app);
  if (others.length === 0) return first;
  throw new AppError('usage', `${sanitize(name)} is defined in ${found.map(({ file }) => file).join(' and ')}`, {
    hint: `Say which with -s ${found.map((place) => place.scope).join(' or -s ')}`,
  });
}

async function notDefinedError(name: string, app: App): Promise<AppError> {
  const { file } = requireEntry(await readRoster({}, app), name);
  return new AppError('usage', `${sanitize(name)} is not defined there, but in ${file}`, {
    hint: `Remove it there by hand, or keep gmn from using it: gmn mcp disable ${sanitize(name)}`,
  });
}
