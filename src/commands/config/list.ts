import { formatTable, printReport, type WordOptions } from '../../app/report.ts';
import { explainKey, listLeafPaths } from '../../config/explanation.ts';
import { mergeDocuments } from '../../config/layer.ts';
import { hideSecrets } from '../../config/secrets.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { isObject } from '../../core/json.ts';
import { measureWidth } from '../../core/text/width.ts';
import { readAllLayers } from './layers.ts';

/** Secrets are redacted. Throws AppError `config`. */
export async function run(options: WordOptions, app: App): Promise<number> {
  if (options.args.length > 0) {
    throw new AppError('usage', 'config list takes no key', { hint: `Run: gmn config get ${options.args[0]}` });
  }
  const { layers, notices } = await readAllLayers(app);
  const document = mergeDocuments(layers.map((layer) => layer.document));
  const found = listLeafPaths(document).map((path) => explainKey(path, layers));
  const settings = hideSecrets(document);
  const rows = found.map(
    ({ key, value, layers: [top] }): Row => [`${key} = ${JSON.stringify(value)}`, `# ${top?.source ?? ''}`],
  );
  const narrow = (columns: number): string => rows.map((row) => formatNarrowRow(row, columns)).join('');
  const json = {
    settings: isObject(settings) ? settings : {},
    sources: Object.fromEntries(found.map(({ key, layers: [top] }) => [key, top?.source ?? ''])),
  };
  return printReport({ text: formatTable(rows), narrow, json, notices }, options, app);
}

type Row = readonly [setting: string, source: string];

function formatNarrowRow([setting, source]: Row, columns: number): string {
  const line = `${setting}  ${source}\n`;
  return measureWidth(line) <= columns ? line : `${setting}\n    ${source}\n`;
}
