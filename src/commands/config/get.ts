import { printReport, type WordOptions } from '../../app/report.ts';
import { explainKey, parseKey } from '../../config/explanation.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { encodeDocument } from '../../render/json-text.ts';
import { readAllLayers, requireKey } from './layers.ts';

/**
 * Prints the value of a key, secrets redacted: a string as is, anything else as JSON. Throws AppError `usage` if it is
 * not set.
 */
export async function run(options: WordOptions, app: App): Promise<number> {
  const path = parseKey(requireKey(options, 'get'));
  const { layers, notices } = await readAllLayers(app);
  const { key, value, layers: found } = explainKey(path, layers);
  if (value === undefined) throw new AppError('usage', `${key} is not set`, { hint: `Run: gmn config explain ${key}` });
  const text = typeof value === 'string' ? `${value}\n` : encodeDocument(value);
  return printReport(
    { text, json: { key, value, source: found[0]?.source ?? '' }, notices, isVerbatim: true },
    options,
    app,
  );
}
