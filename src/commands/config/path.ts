import { formatTable, printReport, type WordOptions } from '../../app/report.ts';
import { listEnvFiles } from '../../config/environment.ts';
import { readLayers } from '../../config/layers.ts';
import { trustedFoldersPath, trustFilePath } from '../../config/trust.ts';
import type { App } from '../../core/app.ts';
import { realPath } from '../../platform/files/path.ts';

/**
 * Prints the settings files in order of precedence, lowest first, and whether they exist and are used. Throws AppError
 * `config` if one is invalid.
 */
export async function run(options: WordOptions, app: App): Promise<number> {
  const { layers, notices } = await readLayers(app);
  const homes = app.homes();
  const settings = layers
    .filter(({ name }) => name !== 'environment')
    .map(({ name, source: path, state, why }) => ({ name: String(name), path, state, why: why || undefined }));
  const others = [
    ...listEnvFiles(homes).map((path) => ({ name: '.env', path })),
    { name: 'trust', path: trustedFoldersPath(app.env, homes) },
    { name: 'trust', path: trustFilePath(homes.gmn) },
  ].map((file) => ({ ...file, state: realPath(file.path) === undefined ? 'absent' : 'used' }));
  const files = [...settings, ...others];
  const rows = files.map((file) => [
    file.name,
    file.state,
    file.path,
    'why' in file && file.why ? `(${file.why})` : '',
  ]);
  return printReport({ text: formatTable(rows), json: { files }, notices, isVerbatim: true }, options, app);
}
