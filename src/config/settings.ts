import type { App, Settings } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { isObject } from '../core/json.ts';
import { readStateFile } from '../platform/state-file.ts';

/**
 * The user's settings: the official CLI's file, then gmn's own over it. Keys gmn does not know are left alone.
 * Throws AppError `config`, naming file and position or key, if one of them is broken.
 */
export async function loadSettings({ env, homes }: Pick<App, 'env' | 'homes'>): Promise<Settings> {
  let settings: Settings = { env, notices: [] };
  const { gemini, gmn } = homes();
  for (const file of [`${gemini}/settings.json`, `${gmn}/config.json`]) {
    const text = readStateFile(file);
    if (text !== undefined)
      settings = {
        ...settings,
        ...parseSettings(await parseDocument(text, file), file),
      };
  }
  return settings;
}

/** Plain JSON is read by the engine; only a file with comments, or a broken one, needs the tolerant parser. */
async function parseDocument(text: string, file: string): Promise<unknown> {
  const json = text.startsWith('\uFEFF') ? text.slice(1) : text;
  if (json.trim() === '') return {};
  try {
    return JSON.parse(json);
  } catch {
    const { parseJsonc } = await import('./jsonc.ts');
    return parseJsonc(json, file);
  }
}

function parseSettings(document: unknown, file: string): Partial<Settings> {
  if (!isObject(document)) throw wrongType(file, 'the whole file', 'an object');
  const model = stringAt(document, ['model', 'name'], file);
  const authType = stringAt(document, ['security', 'auth', 'selectedType'], file);
  return {
    ...(model === undefined ? {} : { model }),
    ...(authType === undefined ? {} : { authType }),
  };
}

function stringAt(
  document: Readonly<Record<string, unknown>>,
  path: readonly string[],
  file: string,
): string | undefined {
  let value: unknown = document;
  for (const [depth, key] of path.entries()) {
    if (value === undefined) return undefined;
    if (!isObject(value)) throw wrongType(file, path.slice(0, depth).join('.'), 'an object');
    value = Object.hasOwn(value, key) ? value[key] : undefined;
  }
  if (value === undefined || typeof value === 'string') return value;
  throw wrongType(file, path.join('.'), 'a string');
}

function wrongType(file: string, key: string, wanted: string): AppError {
  return new AppError('config', `${file}: ${key} must be ${wanted}`, {
    hint: 'Mend that key, or remove it.',
  });
}
