import { dirname, join } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { findDistrust, readSmallFile } from '../platform/files/small-file.ts';
import { systemPlatform } from '../platform/runtime/system.ts';
import { expandDocument, findServerNotices, parseSettingsText } from './document.ts';
import { readEnvironment } from './environment.ts';
import { NO_HOME_NOTICE } from './home.ts';
import { defaultSetting, type PlainKey, ROWS, readSetting, type SettingValue } from './keys.ts';
import { absentLayer, ignoredLayer, type Layer, type LayerName, mergeDocuments, nestValue } from './layer.ts';

export interface Layers {
  readonly layers: readonly Layer[];
  readonly env: Env;
  readonly notices: readonly string[];
}

/** Throws AppError `config`, with `file:line:column`; a broken file of the workspace is skipped with a notice. */
export async function readLayers(app: Pick<App, 'env' | 'cwd' | 'homes'>): Promise<Layers> {
  const homes = app.homes();
  const { env, notices } = await readEnvironment(app.env, homes);
  const defaults = await readSystemLayer('system-defaults', findSystemDefaults(app.env), env);
  const user = await readLayer('user', join(homes.gemini, 'settings.json'), env);
  const gmn = await readLayer('gmn', join(homes.gmn, 'config.json'), env);
  const system = await readSystemLayer('system', findSystemFile(app.env), env);
  const isTrustEnabled = (): boolean =>
    readTopmost([defaults, user, gmn, system], 'security.folderTrust.enabled') ??
    defaultSetting('security.folderTrust.enabled');
  const workspace = await readWorkspaceFile({ ...app, env, realEnv: app.env, isTrustEnabled });
  return {
    layers: [defaults, user, gmn, workspace.layer, system, environmentLayer(env)],
    env,
    notices: [
      ...(homes.isMissing ? [NO_HOME_NOTICE] : []),
      ...notices,
      ...[defaults, system].flatMap(formatIgnored),
      ...[defaults, user, gmn, system].flatMap((layer) => layer.notices ?? []),
      ...workspace.notices,
    ],
  };
}

export function readTopmost<Key extends PlainKey>(layers: readonly Layer[], key: Key): SettingValue<Key> | undefined {
  for (const { document } of layers.toReversed()) {
    const value = readSetting(document, key);
    if (value !== undefined) return value;
  }
  return undefined;
}

async function readLayer(name: LayerName, file: string, env: Env): Promise<Layer> {
  const text = readSmallFile(file);
  if (text === undefined) return absentLayer(name, file);
  const document = await expandDocument(await parseSettingsText({ file, text }), text, env);
  const notices = await findServerNotices({ file, text });
  return { name, source: file, state: 'used', document, notices };
}

interface SystemFile {
  readonly file: string;
  /** A file named by the user may be their own; the default one must belong to root. */
  readonly owners: 'root' | 'root or me';
}

function findSystemFile({ GEMINI_CLI_SYSTEM_SETTINGS_PATH: named }: Env): SystemFile {
  if (named) return { file: named, owners: 'root or me' };
  return { file: join(systemSettingsDirectory(), 'settings.json'), owners: 'root' };
}

function findSystemDefaults(env: Env): SystemFile {
  if (env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH) return { file: env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH, owners: 'root or me' };
  const { file, owners } = findSystemFile(env);
  return { file: join(dirname(file), 'system-defaults.json'), owners };
}

async function readSystemLayer(name: LayerName, { file, owners }: SystemFile, env: Env): Promise<Layer> {
  if (readSmallFile(file) === undefined) return absentLayer(name, file);
  const distrust = await findSystemDistrust({ file, owners });
  return distrust === undefined ? readLayer(name, file, env) : ignoredLayer(name, file, distrust);
}

async function findSystemDistrust({ file, owners }: SystemFile): Promise<string | undefined> {
  if (systemPlatform() !== 'win32') return findDistrust(file, owners);
  // One that the user's environment names is the user's choice.
  if (owners !== 'root') return undefined;
  const { findWindowsDistrust } = await import('../platform/files/windows-owner.ts');
  return findWindowsDistrust(file);
}

function formatIgnored({ source, state, why }: Layer): readonly string[] {
  return state === 'ignored' ? [`${source} is not used: ${why}`] : [];
}

async function readWorkspaceFile({
  cwd,
  homes,
  ...rest
}: Pick<App, 'cwd' | 'homes'> & { readonly env: Env; readonly realEnv: Env; readonly isTrustEnabled: () => boolean }) {
  const file = join(cwd, '.gemini', 'settings.json');
  if (join(cwd, '.gemini') === homes().gemini) return { layer: absentLayer('workspace', file), notices: [] };
  try {
    const text = readSmallFile(file);
    if (text === undefined) return { layer: absentLayer('workspace', file), notices: [] };
    // Most runs need nothing of folder trust, so it is loaded here.
    const { readWorkspace } = await import('./workspace.ts');
    return await readWorkspace({ file, text, cwd, homes: homes(), ...rest });
  } catch (thrown) {
    const { message } = AppError.from(thrown);
    return { layer: ignoredLayer('workspace', file, message), notices: [`${file} is not used: ${message}`] };
  }
}

function environmentLayer(env: Env): Layer {
  const found = ROWS.flatMap(([key, { variables = [] }]) => {
    const variable = variables.find((name) => env[name]);
    return variable === undefined ? [] : [{ key, variable, value: env[variable] ?? '' }];
  });
  return {
    name: 'environment',
    source: found.map(({ variable }) => variable).join(', '),
    state: found.length === 0 ? 'absent' : 'used',
    document: mergeDocuments(found.map(({ key, value }) => nestValue(key.split('.'), value))),
  };
}

function systemSettingsDirectory(): string {
  const platform = systemPlatform();
  if (platform === 'win32') return 'C:\\ProgramData\\gemini-cli';
  if (platform === 'darwin') return '/Library/Application Support/GeminiCli';
  return '/etc/gemini-cli';
}
