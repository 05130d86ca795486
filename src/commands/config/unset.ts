import { printReport, type WordOptions } from '../../app/report.ts';
import { findOldKey } from '../../config/document.ts';
import { explainKey, parseKey } from '../../config/explanation.ts';
import { findValue, formatKeyPath } from '../../config/keys.ts';
import { requireKind } from '../../config/setting-text.ts';
import { editSettings } from '../../config/settings-edit.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { ownSettingsFile, readAllLayers, requireKey, toEditPath } from './layers.ts';

/**
 * Removes a key from gmn's own settings file and says what it is from now on. Throws AppError `usage` if that file does
 * not set it, `config` if a settings file is invalid; the file is then untouched.
 */
export async function run(options: WordOptions, app: App): Promise<number> {
  const path = parseKey(requireKey(options, 'unset'));
  const key = formatKeyPath(path);
  const before = (await readAllLayers(app)).layers.find(({ name }) => name === 'gmn')?.document ?? {};
  const file = ownSettingsFile(app);
  if (findValue(before, path) === undefined) {
    requireKind(path);
    throw new AppError('usage', `${file} does not set ${key}`, {
      hint: `To see what does: gmn config explain ${key}`,
    });
  }
  await editSettings(file, app, () => [{ path: toEditPath(path) }]);
  // A value that is still there comes from the old name of the key, which is read as this one.
  await editSettings(file, app, (document) => {
    const old = findValue(document, path) === undefined ? undefined : findOldKey(path);
    return old === undefined ? [] : [{ path: [old] }];
  });
  const { layers } = await readAllLayers(app);
  const isSet = layers.some(({ document }) => findValue(document, path) !== undefined);
  const { value, layers: [top] = [] } = isSet ? explainKey(path, layers) : {};
  const now = value === undefined ? 'nothing sets it now' : `it is ${JSON.stringify(value)} now, from ${top?.source}`;
  const json = { key, file, value, source: top?.source };
  await printReport({ text: `${key} removed from ${file}; ${now}\n`, json }, options, app);
  return 0;
}
