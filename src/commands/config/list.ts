import { printReport, table } from '../../app/report.ts';
import { explain, leafPaths } from '../../config/explanation.ts';
import { mergeDocuments } from '../../config/layer.ts';
import { withoutSecrets } from '../../config/secrets.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { isObject } from '../../core/json.ts';
import { widthOf } from '../../core/text/width.ts';
import { allLayers, type ConfigOptions } from './layers.ts';

/** Prints every key that is set, with its value and source; secrets redacted. Throws AppError `config`. */
export async function run(options: ConfigOptions, app: App): Promise<number> {
  if (options.args.length > 0) {
    throw new AppError('usage', 'config list takes no key', { hint: `Run: gmn config get ${options.args[0]}` });
  }
  const { layers, notices } = await allLayers(app);
  const document = mergeDocuments(layers.map((layer) => layer.document));
  const found = leafPaths(document).map((path) => explain(path, layers));
  const settings = withoutSecrets(document);
  const rows = found.map(
    ({ key, value, layers: [top] }): Row => [`${key} = ${JSON.stringify(value)}`, `# ${top?.source ?? ''}`],
  );
  const report = {
    text: table(rows),
    narrow: (columns: number) => rows.map((row) => narrowRow(row, columns)).join(''),
    json: {
      settings: isObject(settings) ? settings : {},
      sources: Object.fromEntries(found.map(({ key, layers: [top] }) => [key, top?.source ?? ''])),
    },
    notices,
  };
  await printReport(report, options, app);
  return 0;
}

type Row = readonly [setting: string, source: string];

/** Puts the source below its setting if both do not fit on one line. */
function narrowRow([setting, source]: Row, columns: number): string {
  const line = `${setting}  ${source}\n`;
  return widthOf(line) <= columns ? line : `${setting}\n    ${source}\n`;
}
