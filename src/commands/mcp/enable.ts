import { printReport } from '../../app/report.ts';
import { requireArguments } from '../../app/servers/arguments.ts';
import type { Edit } from '../../config/jsonc-edit.ts';
import { readSetting } from '../../config/keys.ts';
import { readLayers } from '../../config/layers.ts';
import { readServerEnablement, toEnablementKey } from '../../config/server-enablement.ts';
import { editSettings } from '../../config/settings-edit.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { isObject, type JsonObject } from '../../core/json.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { listWritableFiles, readRoster, readSettingsFile, requireEntry } from '../../engine/tools/servers/roster.ts';
import { isDisabledEntry } from '../../mcp/client/servers.ts';
import type { McpNameOptions } from './disable.ts';

/** Removes what disables a server from the user's own files and the official CLI's list. Throws if another file still does. */
export async function run(options: McpNameOptions, app: App): Promise<number> {
  const [name = ''] = requireArguments(options.args, 1, 'mcp enable');
  const files: string[] = [];
  for (const { scope, file } of listWritableFiles(app)) {
    if (scope !== 'project' && (await enableIn(file, name, app))) files.push(file);
  }
  const enablement = readServerEnablement(app.homes().gemini);
  if (enablement.isDisabled(name)) {
    await editSettings(enablement.file, app, () => [{ path: [toEnablementKey(name)] }]);
    files.push(enablement.file);
  }
  await checkEnabled(name, app);
  if (files.length === 0) requireEntry(await readRoster({}, app), name);
  const safeName = sanitize(name);
  const text =
    files.length === 0 ? `${safeName} was not disabled\n` : `Enabled ${safeName} in ${files.join(' and ')}\n`;
  await printReport({ text, json: { name, files, changed: files.length > 0 }, notices: [] }, options, app);
  return 0;
}

async function enableIn(file: string, name: string, app: App): Promise<boolean> {
  const edits = (document: JsonObject): readonly Edit[] => {
    const indexes = (readSetting(document, 'mcp.excluded') ?? []).flatMap((item, index) =>
      item === name ? [index] : [],
    );
    const entry = readSetting(document, 'mcpServers')?.[name];
    const keys = isDisabledEntry(entry) ? ['disabled', 'enabled'] : [];
    return [
      // Last first, so that the other indexes stay valid.
      ...indexes.reverse().map((index) => ({ path: ['mcp', 'excluded', index] as const })),
      ...keys
        .filter((key) => isObject(entry) && Object.hasOwn(entry, key))
        .map((key) => ({ path: ['mcpServers', name, key] as const })),
    ];
  };
  if (edits(await readSettingsFile(file)).length === 0) return false;
  return (await editSettings(file, app, edits)) === 'written';
}

async function checkEnabled(name: string, app: App): Promise<void> {
  const { layers } = await readLayers(app);
  const excluding = layers.find(({ document }) => readSetting(document, 'mcp.excluded')?.includes(name));
  const lists = layers.filter(({ document }) => readSetting(document, 'mcp.allowed') !== undefined);
  const isOmitted = lists.every(({ document }) => !readSetting(document, 'mcp.allowed')?.includes(name));
  if (excluding === undefined && lists.length > 0 && isOmitted) {
    throw new AppError('config', `${sanitize(name)} stays disabled: ${lists.at(-1)?.source} does not allow it`, {
      hint: 'Add it to mcp.allowed there.',
    });
  }
  const entry = (await readRoster({}, app)).entries.find((known) => known.name === name);
  if (excluding === undefined && isDisabledEntry(entry?.written)) {
    throw new AppError('config', `${sanitize(name)} stays disabled: its entry in ${entry?.file} says so`, {
      hint: 'Remove "disabled" from that entry.',
    });
  }
  if (excluding === undefined) return;
  throw new AppError('config', `${sanitize(name)} stays disabled: ${excluding.source} excludes it`, {
    hint: 'Remove it from mcp.excluded there.',
  });
}
