import { type PrintOptions, printReport } from '../../app/report.ts';
import { requireArguments } from '../../app/servers/arguments.ts';
import { readSetting } from '../../config/keys.ts';
import { editSettings } from '../../config/settings-edit.ts';
import type { App } from '../../core/app.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { readRoster, requireEntry, requireWritableFile } from '../../engine/tools/servers/roster.ts';

export interface McpNameOptions extends PrintOptions {
  readonly args: readonly string[];
}

/** Writes `mcp.excluded` of the user's own file, which the official CLI reads too. */
export async function run(options: McpNameOptions, app: App): Promise<number> {
  const [name = ''] = requireArguments(options.args, 1, 'mcp disable');
  requireEntry(await readRoster({}, app), name);
  const { file } = requireWritableFile('user', app);
  const outcome = await editSettings(file, app, (document) => {
    const excluded = readSetting(document, 'mcp.excluded') ?? [];
    return excluded.includes(name) ? [] : [{ path: ['mcp', 'excluded', excluded.length], value: name }];
  });
  const isNew = outcome === 'written';
  const text = isNew ? `Disabled ${sanitize(name)} in ${file}\n` : `${sanitize(name)} was disabled already\n`;
  await printReport({ text, json: { name, file, disabled: true, changed: isNew }, notices: [] }, options, app);
  return 0;
}
