import { formatTable, printReport } from '../../app/report.ts';
import { explainKey, parseKey } from '../../config/explanation.ts';
import type { App } from '../../core/app.ts';
import { type ConfigOptions, readAllLayers, requireKey } from './layers.ts';

/**
 * Prints the value of a key and every layer that sets it, with the winner marked and secrets redacted. Throws AppError
 * `usage`.
 */
export async function run(options: ConfigOptions, app: App): Promise<number> {
  const path = parseKey(requireKey(options, 'explain'));
  const { layers, notices } = await readAllLayers(app);
  const { key, value, layers: found, isCombined, isRead } = explainKey(path, layers);
  const rows = found.map(({ layer, source, value: stated }, index) => [
    index === 0 ? '→' : isCombined ? '+' : ' ',
    layer,
    source,
    JSON.stringify(stated),
  ]);
  const headline = value === undefined ? `${key} is not set` : `${key} = ${JSON.stringify(value)}`;
  const unread = isRead ? '' : 'gmn does not read this key; the official CLI may.\n';
  const text = `${headline}\n${unread}${found.length > 0 ? '\n' : ''}${formatTable(rows)}`;
  const json = {
    key,
    ...(value === undefined ? {} : { value }),
    isCombined,
    isRead,
    layers: found.map((layer, index) => ({ ...layer, wins: index === 0 })),
  };
  await printReport({ text, json, notices }, options, app);
  return 0;
}
