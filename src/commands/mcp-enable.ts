import { readSetting } from '../config/keys.ts';
import { readLayers } from '../config/layers.ts';
import { editSettings } from '../config/settings-edit.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { visible } from '../core/visible.ts';
import { onlyWords } from './mcp-arguments.ts';
import type { McpNameOptions } from './mcp-disable.ts';
import { settingsIn, writablePlaces } from './mcp-places.ts';
import { readRoster } from './mcp-roster.ts';
import { unknownServer } from './mcp-session.ts';
import { printReport } from './report.ts';

/**
 * Takes a server out of `mcp.excluded` of the user's own files. Throws AppError `usage` if nobody knows the name, `config`
 * if a file cannot be changed, or another one still excludes the server.
 */
export async function run(options: McpNameOptions, app: App): Promise<number> {
  const [name = ''] = onlyWords(options.args, 1, 'mcp enable');
  const files: string[] = [];
  for (const { scope, file } of writablePlaces(app)) {
    if (scope !== 'project' && (await enableIn(file, name, app))) files.push(file);
  }
  await checkEnabled(name, app);
  if (files.length === 0) await checkKnown(name, app);
  const shown = visible(name);
  const text = files.length === 0 ? `${shown} was not disabled\n` : `Enabled ${shown} in ${files.join(' and ')}\n`;
  await printReport({ text, json: { name, files, changed: files.length > 0 }, notices: [] }, options, app);
  return 0;
}

async function enableIn(file: string, name: string, app: App): Promise<boolean> {
  if (!(readSetting(await settingsIn(file), 'mcp.excluded') ?? []).includes(name)) return false;
  const outcome = await editSettings(file, app, (document) => {
    const places = (readSetting(document, 'mcp.excluded') ?? []).flatMap((item, index) =>
      item === name ? [index] : [],
    );
    // The last one first, so that the others stay where they are.
    return places.reverse().map((index) => ({ path: ['mcp', 'excluded', index] as const }));
  });
  return outcome === 'written';
}

async function checkEnabled(name: string, app: App): Promise<void> {
  const { layers } = await readLayers(app);
  const still = layers.find(({ document }) => readSetting(document, 'mcp.excluded')?.includes(name));
  const lists = layers.filter(({ document }) => readSetting(document, 'mcp.allowed') !== undefined);
  const isLeftOut = lists.every(({ document }) => !readSetting(document, 'mcp.allowed')?.includes(name));
  if (still === undefined && lists.length > 0 && isLeftOut) {
    throw new AppError('config', `${visible(name)} stays disabled: ${lists.at(-1)?.source} does not allow it`, {
      hint: 'Add it to mcp.allowed there.',
    });
  }
  if (still === undefined) return;
  throw new AppError('config', `${visible(name)} stays disabled: ${still.source} excludes it`, {
    hint: 'Take it out of mcp.excluded there.',
  });
}

async function checkKnown(name: string, app: App): Promise<void> {
  const known = (await readRoster({}, app)).entries.map((entry) => entry.name);
  if (!known.includes(name)) throw unknownServer(visible(name), known);
}
