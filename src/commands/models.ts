import { aliasRows, knownModels, type ModelLine, modelRows, modelsDocument } from '../config/model-list.ts';
import type { App } from '../core/app.ts';
import { DEFAULT_MODEL } from '../core/models.ts';
import { type PrintOptions, printReport, type Report, table } from './report.ts';

/** The flags of `gmn models`. */
export interface ModelsOptions extends PrintOptions {
  readonly args: readonly string[];
}

/** The models gmn knows, what they can do and what their short names mean. Nothing is asked over the network. */
export async function run(options: ModelsOptions, app: App): Promise<number> {
  await printReport(modelsReport(knownModels()), options, app);
  return 0;
}

/** The same for any list of models. */
export function modelsReport(lines: readonly ModelLine[]): Report {
  const text = `${table(modelRows(lines))}\n${table(aliasRows())}\nDefault: ${DEFAULT_MODEL}\n`;
  return { text, json: modelsDocument(lines), notices: [] };
}
