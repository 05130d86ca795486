import { formatTable, printReport, type WordOptions } from '../../app/report.ts';
import { explainKey, listLeafPaths } from '../../config/explanation.ts';
import { findSettingRow, ROWS } from '../../config/keys.ts';
import { mergeDocuments } from '../../config/layer.ts';
import { hideSecrets } from '../../config/secrets.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { isObject } from '../../core/json.ts';
import { measureWidth } from '../../core/text/width.ts';
import { readAllLayers } from './layers.ts';

interface ListOptions extends WordOptions {
  readonly all?: boolean;
}

/** What is set; with `all` every key that gmn reads, and its default. Secrets are redacted. Throws AppError `config`. */
export async function run(options: ListOptions, app: App): Promise<number> {
  if (options.args.length > 0) {
    throw new AppError('usage', 'config list takes no key', { hint: `Run: gmn config get ${options.args[0]}` });
  }
  const { layers, notices } = await readAllLayers(app);
  const document = mergeDocuments(layers.map((layer) => layer.document));
  const found = listLeafPaths(document).map((path) => explainKey(path, layers));
  const isSet = (key: string): boolean => found.some((other) => other.key === key || other.key.startsWith(`${key}.`));
  const settings = hideSecrets(document);
  const unset = options.all ? ROWS.filter(([key]) => !isSet(key)) : [];
  const rows = [
    ...found.map(({ key, value, layers: [top] }): Row => {
      const fallback = options.all && top?.layer !== 'built-in' ? findSettingRow(key)?.fallback : undefined;
      const note = fallback === undefined ? '' : `; default ${JSON.stringify(fallback)}`;
      return [`${key} = ${JSON.stringify(value)}`, `# ${top?.source ?? ''}${note}`];
    }),
    ...unset.map(
      ([key, { fallback }]): Row =>
        fallback === undefined ? [key, '# not set'] : [`${key} = ${JSON.stringify(fallback)}`, '# default'],
    ),
  ];
  const narrow = (columns: number): string => rows.map((row) => formatNarrowRow(row, columns)).join('');
  const json = {
    settings: isObject(settings) ? settings : {},
    sources: Object.fromEntries(found.map(({ key, layers: [top] }) => [key, top?.source ?? ''])),
    defaults: options.all ? Object.fromEntries(ROWS.map(([key, { fallback = null }]) => [key, fallback])) : undefined,
  };
  return printReport({ text: formatTable(rows), narrow, json, notices }, options, app);
}

type Row = readonly [setting: string, source: string];

function formatNarrowRow([setting, source]: Row, columns: number): string {
  const line = `${setting}  ${source}\n`;
  return measureWidth(line) <= columns ? line : `${setting}\n    ${source}\n`;
}
