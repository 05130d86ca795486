import { explain, leafPaths } from '../config/explanation.ts';
import { mergeDocuments } from '../config/merge.ts';
import { withoutSecrets } from '../config/secrets.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { isObject } from '../core/json.ts';
import { allLayers, type ConfigOptions } from './config-layers.ts';
import { printReport, table } from './report.ts';

/** Every key that is set, with its value and where it comes from; secrets hidden. Throws AppError `config`. */
export async function run(options: ConfigOptions, app: App): Promise<number> {
  if (options.args.length > 0) {
    throw new AppError('usage', 'config list takes no key', { hint: `Run: gmn config get ${options.args[0]}` });
  }
  const { layers, notices } = await allLayers(app);
  const document = mergeDocuments(layers.map((layer) => layer.document));
  const found = leafPaths(document).map((path) => explain(path, layers));
  const settings = withoutSecrets(document);
  const report = {
    text: table(
      found.map(({ key, value, layers: [top] }) => [`${key} = ${JSON.stringify(value)}`, `# ${top?.source ?? ''}`]),
    ),
    json: {
      settings: isObject(settings) ? settings : {},
      sources: Object.fromEntries(found.map(({ key, layers: [top] }) => [key, top?.source ?? ''])),
    },
    notices,
  };
  await printReport(report, options, app);
  return 0;
}
